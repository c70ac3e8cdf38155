// Answer queries as the search box of the built site does: node site_search.js WORKER INDEX < queries, one a line.
"use strict";
const fs = require("fs");
const vm = require("vm");

const [worker, index] = process.argv.slice(2);
let listener = null;
let answered = null;
const page = {
  console,
  URL,
  RegExp,
  addEventListener: (_, listens) => (listener = listens),
  postMessage: (message) => answered(message),
};
page.self = page;
vm.runInNewContext(fs.readFileSync(worker, "utf8"), page);

const ask = (message) =>
  new Promise((resolve) => {
    answered = resolve;
    listener({ data: message });
  });

(async () => {
  const { config, docs } = JSON.parse(fs.readFileSync(index, "utf8"));
  await ask({ type: 0, data: { config, docs, options: { suggest: true } } });
  for (const query of fs.readFileSync(0, "utf8").trim().split("\n")) {
    const { items } = (await ask({ type: 2, data: query })).data;
    console.log(JSON.stringify(items.map((found) => found[0].location.split("#")[0])));
  }
})();
