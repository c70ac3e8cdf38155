;; Edits a file as a user would, and prints what the language server answers.
(require 'flymake)
(require 'json)

(defun wait-for (condition)
  "Wait until CONDITION returns something, and return it."
  (let ((end (+ (float-time) 90)) (found nil))
    (while (not (setq found (funcall condition)))
      (when (> (float-time) end) (error "No answer in 90 seconds"))
      (accept-process-output nil 0.05))
    found))

(defun messages ()
  "Return each diagnostic after its line."
  (mapcar (lambda (one) (format "%d: %s" (line-number-at-pos (flymake-diagnostic-beg one)) (flymake-diagnostic-text one)))
          (flymake-diagnostics)))

(defun hover ()
  "Return what is shown for the expression at point."
  (plist-get
   (plist-get (jsonrpc-request (eglot-current-server) :textDocument/hover (eglot--TextDocumentPositionParams)) :contents)
   :value))

(setq eglot-sync-connect t)
(find-file "program.py")
(apply #'eglot (eglot--guess-contact))
(wait-for #'flymake-diagnostics)
(let ((opened (messages)))
  (search-forward "encoder(pixels")
  (goto-char (match-beginning 0))
  (let ((shown (wait-for #'hover)))
    (goto-char (point-min))
    (search-forward "Linear(30")
    (replace-match "Linear(32")
    (eglot--signal-textDocument/didChange)
    (wait-for (lambda () (null (flymake-diagnostics))))
    (princ (json-encode `((opened . ,(vconcat opened)) (hover . ,shown))))))
(set-buffer-modified-p nil)
(eglot-shutdown (eglot-current-server))
(kill-emacs 0)
