"""Write the pages under docs/errors: one for each error message, with a program of typecheck/ that causes it.

`errors.toml` lists the messages and explains them. The tests of typecheck/ compare what mypy and Python report; here
the program is cut out of its file, formatted for a page, and run once more for Python's own message.
"""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import re
import shutil
import subprocess
import sys
import tomllib
import traceback
import warnings
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parent.parent
PROGRAMS: Final = ROOT / "typecheck"
TEXTS: Final = ROOT / "docs" / "errors.toml"
PAGES: Final = ROOT / "docs" / "errors"
MARK: Final = re.compile(r"#\s*E(?:\((?P<alone>mypy|Python)\))?: (?P<text>.*?)(?:\s+\[(?P<code>[a-z-]+)\])?$")
HERE: Final = "# noqa: HERE"  # ruff breaks no line for the length of such a comment
SUBJECT: Final = re.compile(r"(?:[\w.\[\]'-]+ )?(?P<name>[\w.]+)(?:\([^:]*\))?: (?P<rest>.*)")
STANDS_FOR: Final = {
    "x": r"[\w.\[\]]+",
    "words": r"[\w.\[\] ]+",
    "size": r"[^:]+?",
    "shape": r"\([^:]*?\)",
    "dtype": r"(?:bool|u?int\d*|b?float\d+|floating|integer|number|integer or bool|floating or bool|number or bool)",
    "a": r"an? \w+",
    "any": r".+?",
}
HEAD: Final = """\
# All error messages

Each message has a page with a program that is rejected, the message, and the same program fixed.
The tests check the programs with mypy and run them with Python, and the address of a page does not change.
To find a page, type the words of a message into the search field, without its numbers.
Or choose a topic from the first table, or the function or layer that reports the message from the second.
[Error messages](../guide/errors.md) explains how the messages are built.

"""


class RejectedProgram(NamedTuple):
    """A line of typecheck/ that is rejected: its file, its function, and the message."""

    path: Path
    line: int
    function: ast.FunctionDef
    text: str
    code: str | None
    is_of_python_alone: bool

    @property
    def message(self) -> str:
        """The message, without the name of the function that reports it."""
        match = SUBJECT.fullmatch(self.text)
        return match["rest"] if match else self.text

    @property
    def subject(self) -> str:
        """Who says it: an op, a method or the class of a layer."""
        match = SUBJECT.fullmatch(self.text)
        return match["name"] if match else ""

    @property
    def place(self) -> str:
        return f"{self.path.relative_to(PROGRAMS).as_posix()}:{self.function.name}"


class Text(NamedTuple):
    """An error text: the name of its page, what `errors.toml` says of it, and the lines it is said of."""

    name: str
    topic: str
    says: re.Pattern[str]
    means: str
    wrong: str
    fixed: tuple[str, str]
    rejections: list[RejectedProgram]

    @property
    def title(self) -> str:
        return self.name.replace("-", " ").capitalize()

    @property
    def code(self) -> str:
        """The code that mypy gives it; empty if Python alone reports it."""
        if all(one.is_of_python_alone for one in self.rejections):
            return ""
        codes = {one.code for one in self.rejections} - {None}
        if len(codes) != 1:
            message = f"{self.name} has the codes {sorted(map(str, codes))}"
            raise LookupError(message)
        return str(codes.pop())


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text("utf-8"))


def functions(path: Path, prefix: str) -> list[ast.FunctionDef]:
    """Return the functions of a file whose names begin so."""
    return [node for node in tree(path).body if isinstance(node, ast.FunctionDef) and node.name.startswith(prefix)]


def rejections() -> Iterator[RejectedProgram]:
    """Yield each line that tapegrad rejects; what mypy says by itself is left to its own pages."""
    for path in sorted(path for path in PROGRAMS.rglob("*.py") if "pyright" not in path.parts):
        lines = path.read_text("utf-8").splitlines()
        for function in functions(path, "reject"):
            for number in range(function.lineno, (function.end_lineno or 0) + 1):
                mark = MARK.search(lines[number - 1])
                if mark and (mark["code"] or "tapegrad-").startswith("tapegrad-"):
                    yield RejectedProgram(path, number, function, mark["text"], mark["code"], mark["alone"] == "Python")


@cache
def texts() -> list[Text]:
    """Return every text with the lines it is said of; one that no page is for is an error."""
    found = [
        Text(name, one["topic"], pattern(one["says"]), one["means"], one["wrong"], tuple(one["fixed"]), [])
        for name, one in tomllib.loads(TEXTS.read_text("utf-8")).items()
    ]
    for rejection in rejections():
        fitting = next((text for text in found if text.says.fullmatch(rejection.message)), None)
        if fitting is None:
            message = f"{rejection.place}: errors.toml has no table for: {rejection.message}"
            raise LookupError(message)
        fitting.rejections.append(rejection)
    for text in found:
        if not text.rejections:
            message = f"errors.toml has a table for {text.name}, which no program of typecheck/ is answered with"
            raise LookupError(message)
    return found


def pattern(says: list[str]) -> re.Pattern[str]:
    """Return the pattern of a message, in which names in braces are placeholders."""
    alternatives = [
        "".join(STANDS_FOR[part[1:-1]] if part.startswith("{") else re.escape(part) for part in split(one))
        for one in says
    ]
    return re.compile("|".join(f"(?:{one})" for one in alternatives))


def split(message: str) -> list[str]:
    """Split a message at its braces."""
    return [part for part in re.split(r"(\{\w+\})", message) if part]


def cut(rejection: RejectedProgram) -> str:
    """Return the body of a rejected function as a program of its own, with what it needs of its file above it."""
    path, function = rejection.path, rejection.function
    lines = path.read_text("utf-8").splitlines()
    lines[rejection.line - 1] = MARK.sub(HERE, lines[rejection.line - 1])
    body = [line.removeprefix("    ") for line in lines[first(function.body[0]) - 1 : function.end_lineno]]
    needed = names_in(function)
    sources: list[str] = []
    for statement in reversed(tree(path).body[: tree(path).body.index(function)]):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            imported = narrowed(statement, needed)
            sources += [ast.unparse(imported)] if imported.names else []
        elif bound_by(statement) & needed:
            needed |= names_in(statement)
            sources.append("\n".join(lines[first(statement) - 1 : statement.end_lineno]))
    return "\n".join([*reversed(sources), "", *body, ""])


def first(statement: ast.stmt) -> int:
    """Return the first line of a statement, which is that of its first decorator."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])


def narrowed(statement: ast.Import | ast.ImportFrom, needed: set[str]) -> ast.Import | ast.ImportFrom:
    """Return an import of the names that are needed."""
    names = [one for one in statement.names if (one.asname or one.name.partition(".")[0]) in needed]
    if isinstance(statement, ast.Import):
        return ast.Import(names)
    return ast.ImportFrom(statement.module, names, statement.level)


def names_in(node: ast.AST) -> set[str]:
    """Return the names that a statement mentions."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def bound_by(statement: ast.stmt) -> set[str]:
    """Return the names that a statement at the top of a file binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}


def formatted(programs: list[str]) -> list[str]:
    """Return programs as ruff formats them."""
    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.py") for number in range(len(programs))]
        for file, program in zip(files, programs, strict=True):
            file.write_text(program, "utf-8")
        settings = str(ROOT / "docs" / "guide" / "ruff.toml")
        for command in (("check", "--select=I", "--fix-only"), ("format",)):
            whole = (sys.executable, "-m", "ruff", *command, "--quiet", "--config", settings, folder)
            subprocess.run(whole, check=True)  # noqa: S603  # our own formatter
        return [file.read_text("utf-8") for file in files]


def wrong_program(text: Text) -> RejectedProgram:
    """Return the line that shows a text."""
    found = next((one for one in text.rejections if one.place == text.wrong), None)
    if found is None:
        message = f"{text.name}: {text.wrong} is not rejected with this text"
        raise LookupError(message)
    return found


def fixed(text: Text, program: str) -> str:
    """Return a rejected program as it is right, with what that takes instead of the mistake."""
    mistake, instead = text.fixed
    if program.count(mistake) != 1:
        message = f"{text.name}: the program has {mistake!r} {program.count(mistake)} times, not once:\n{program}"
        raise LookupError(message)
    right = program.replace(mistake, instead)
    return f"import numpy as np\n{right}" if "np." in instead else right


def marked(program: str) -> tuple[str, int, int]:
    """Return a program without its mark, the line that mypy names, and the line of the mark."""
    place = next(number for number, line in enumerate(program.splitlines(), start=1) if line.endswith(HERE))
    around = [
        node
        for node in ast.walk(ast.parse(program))
        if isinstance(node, ast.stmt) and node.lineno <= place <= last(node)
    ]
    return program.replace(f"  {HERE}", ""), max(node.lineno for node in around), place


def last(node: ast.stmt) -> int:
    """Return the last line of a statement."""
    return node.end_lineno or node.lineno


def quoted(text: Text, rejection: RejectedProgram, program: str) -> str:
    """Return a rejected program and the messages of mypy and Python about it."""
    program, line, place = marked(program)
    message = re.sub(r"\{([-+]\d+)\}", lambda away: str(place + int(away[1])), rejection.text)
    file = f"{text.name.replace('-', '_')}.py"
    said = f"{file}:{line}: error: {message}  [{text.code}]"
    raised = raised_by(program, file)
    if rejection.is_of_python_alone and raised is not None:
        return fenced("python", program) + fenced("text", traceback.format_exception_only(raised)[0], "Python")
    if raised is not None and str(raised) == message:
        return fenced("python", program) + fenced("text", said, "mypy and Python")
    quote = fenced("python", program) + fenced("text", said, "mypy")
    if raised is not None:
        quote += fenced("text", traceback.format_exception_only(raised)[0].rstrip(), "Python")
    return quote


def raised_by(program: str, file: str) -> Exception | None:
    """Run a program and return what it raises."""
    module = ModuleType(file.removesuffix(".py"))
    linecache.cache[file] = (len(program), None, program.splitlines(keepends=True), file)
    sys.modules[module.__name__] = module
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(action="ignore"):
            exec(compile(program, file, "exec", dont_inherit=True), vars(module))  # noqa: S102  # our own
    except Exception as error:  # noqa: BLE001  # the page quotes any error
        return error
    finally:
        del sys.modules[module.__name__]
    return None


def checked(text: Text, program: str) -> str:
    """Return a program that is right, once it has run."""
    raised = raised_by(program, f"{text.name}.py")
    if raised is not None:
        message = f"{text.name}: the fixed program is rejected: {raised}\n{program}"
        raise LookupError(message)
    return program


def fenced(language: str, text: str, title: str = "") -> str:
    """Return a block of Markdown, with an empty line under it."""
    said_by = f' title="{title}"' if title else ""
    return f"```{language}{said_by}\n{text.rstrip()}\n```\n\n"


@cache
def pages() -> dict[str, str]:
    """Return the text of each page by its path under docs/errors."""
    chosen = [(text, wrong_program(text)) for text in texts()]
    programs = formatted([cut(wrong) for _, wrong in chosen])
    right = formatted([fixed(text, marked(one)[0]) for (text, _), one in zip(chosen, programs, strict=True)])
    written = {
        f"{text.name}.md": page(text, quoted(text, wrong, rejected), checked(text, accepted))
        for (text, wrong), rejected, accepted in zip(chosen, programs, right, strict=True)
    }
    return {"index.md": index()} | written


def page(text: Text, rejected: str, accepted: str) -> str:
    """Return the page of one text."""
    rows = [f"| `{subject}` | `{escaped(said)}` |" for subject, said in examples(text).items()]
    return "\n".join(
        [
            f"# {text.title}",
            "",
            f"{shown_code(text)} · [All error messages](index.md#{anchor(text.topic)})",
            "",
            text.means,
            "",
            "## Wrong",
            "",
            rejected,
            "## Right",
            "",
            fenced("python", accepted),
            "## Said by",
            "",
            "| reported by | for example |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


def shown_code(text: Text) -> str:
    """Return the code that mypy gives a text, for a page."""
    return f"`{text.code}`" if text.code else "Python only"


def examples(text: Text) -> dict[str, str]:
    """Return one whole message for each function that reports a text; those of the programs only if no other does."""
    found: dict[str, str] = {}
    for rejection in sorted(text.rejections, key=lambda one: one.subject.lower()):
        found.setdefault(rejection.subject or "Tensor", line_numbered(rejection.text))
    return {name: said for name, said in found.items() if is_public(name)} or found


def line_numbered(said: str) -> str:
    """Return a message with a number for the placeholder of a line of the program."""
    return re.sub(r"\{[-+]?\d+\}", "9", said)


def is_public(subject: str) -> bool:
    """Whether tapegrad itself says something, and no function of a program."""
    return subject.partition(".")[0] in public()


@cache
def public() -> set[str]:
    """Return the names that may say something: ops, layers, and methods by their class."""
    import tapegrad

    modules = [tapegrad, *(value for name in dir(tapegrad) if isinstance(value := getattr(tapegrad, name), ModuleType))]
    return {name for module in modules for name in dir(module)} | set(dir(tapegrad.Tensor))


def escaped(said: str) -> str:
    """Return text for the cell of a table."""
    return said.replace("|", r"\|")


def anchor(title: str) -> str:
    """Return the anchor of a heading, as Markdown makes it."""
    return title.lower().replace(" ", "-")


def index() -> str:
    """Return the first page: the messages by topic, then by the function that reports them."""
    lines = [HEAD]
    for topic in dict.fromkeys(text.topic for text in texts()):
        lines += [f"## {topic}", "", "| text | mypy's code | for example |", "| --- | --- | --- |"]
        for text in texts():
            if text.topic == topic:
                shown = line_numbered(wrong_program(text).text)
                lines.append(f"| [{text.title}]({text.name}.md) | {shown_code(text)} | `{escaped(shown)}` |")
        lines.append("")
    lines += ["## By function", "", "| reported by | messages |", "| --- | --- |"]
    by_subject: dict[str, dict[str, None]] = {}
    for text in texts():
        for rejection in text.rejections:
            if is_public(rejection.subject):
                by_subject.setdefault(rejection.subject, {})[f"[{text.title}]({text.name}.md)"] = None
    lines += [f"| `{name}` | {', '.join(links)} |" for name, links in sorted(by_subject.items(), key=folded)]
    return "\n".join([*lines, ""])


def folded(entry: tuple[str, dict[str, None]]) -> str:
    """Return what a list of names is sorted by."""
    return entry[0].lower()


def main() -> None:
    """Write all pages again."""
    try:
        written = pages()
    except LookupError as error:
        sys.exit(f"docs: {error}")
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    for name, content in written.items():
        (PAGES / name).write_text(content, "utf-8")


if __name__ == "__main__":
    main()
