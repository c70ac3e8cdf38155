-- Edits the open file as a user would, and prints what the language server answers.
local said = {}

local function wait(condition)
  assert(vim.wait(90000, condition, 50), "no answer in 90 seconds")
end

local function messages()
  return vim.tbl_map(function(one)
    return one.lnum + 1 .. ": " .. one.message
  end, vim.diagnostic.get(0))
end

local function ask(method, extra)
  local params = vim.tbl_extend("force", vim.lsp.util.make_position_params(0, "utf-16"), extra or {})
  return vim.tbl_values(vim.lsp.buf_request_sync(0, method, params, 20000))[1].result
end

wait(function() return #vim.diagnostic.get(0) > 0 end)
said.opened = messages()
wait(function() return #vim.lsp.inlay_hint.get({ bufnr = 0 }) > 0 end)
said.hints = vim.tbl_map(function(one) return one.inlay_hint.label end, vim.lsp.inlay_hint.get({ bufnr = 0 }))
vim.fn.search("encoder(pixels")
said.hover = ask("textDocument/hover").contents.value
local line = vim.lsp.util.make_range_params(0, "utf-16").range
local actions = ask("textDocument/codeAction", { range = line, context = { diagnostics = {} } })
said.actions = vim.tbl_map(function(one) return one.title end, actions)
vim.cmd("%s/Linear(30/Linear(32/")
wait(function() return #vim.diagnostic.get(0) == 0 end)
io.stdout:write(vim.json.encode(said) .. "\n")
vim.cmd("qall!")
