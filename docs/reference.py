"""Write the pages under docs/api: one for each module whose names are public, in the order of its source.

A name is looked up where it is defined, through the public packages that re-export it. Nothing is imported, so every
public name is on a page, and a public name without a docstring is an error here.
"""

from __future__ import annotations

import ast
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from docs import layers

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
API = Path(__file__).parent / "api"
PACKAGE = "tapegrad"
OUTSIDE_THE_PACKAGE = ("tapegrad.autodiff", "tapegrad.engines")  # public modules that `import tapegrad` does not export

MEANS_WHAT_NUMPY_MEANS = ("tapegrad.engines.interface",)

Definition: TypeAlias = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.Assign | ast.ImportFrom


class Name(NamedTuple):
    """A public name: what users call it, the module that defines it, and the definition."""

    public: str
    module: str
    definition: Definition

    @property
    def short(self) -> str:
        return self.public.rpartition(".")[2]

    @property
    def path(self) -> str:
        return f"{self.module}.{self.short}"

    @property
    def page(self) -> str:
        """The page of the name, that of its module; names of a private module are on the page of its package."""
        *_, last = parts = self.module.removeprefix(f"{PACKAGE}.").split(".")
        return "/".join(parts[:-1] if last.startswith("_") else parts) + ".md"

    @property
    def is_plain_alias(self) -> bool:
        """Whether it is a type under another name, whose definition says it all."""
        return not isinstance(self.definition, ast.FunctionDef | ast.ClassDef) and not docstring_of(self)


def source(module: str) -> ast.Module:
    """Return the syntax tree of a module: of the stub, where there is one."""
    path = ROOT.joinpath(*module.split("."))
    choices = (path / "__init__.pyi", path / "__init__.py", path.with_suffix(".py"))
    return parsed(next(choice for choice in choices if choice.exists()))


@cache
def parsed(file: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(file.read_text("utf-8"))


def packages() -> list[str]:
    """Return the packages whose names are public."""
    shown = [one.name for node in imports(PACKAGE) if node.module == PACKAGE for one in node.names]
    return [PACKAGE, *(f"{PACKAGE}.{name}" for name in shown), *OUTSIDE_THE_PACKAGE]


def imports(module: str) -> list[ast.ImportFrom]:
    """Return the imports at the top of a module."""
    return [with_names(node) for node in source(module).body if isinstance(node, ast.ImportFrom)]


def with_names(node: ast.ImportFrom) -> ast.ImportFrom:
    """Return an import of `*` as the import of each public name of that module."""
    if node.names[0].name != "*" or node.module is None:
        return node
    names = [one for other in imports(node.module) for one in other.names if one.asname == one.name]
    return ast.ImportFrom(node.module, [ast.alias(one.name, one.name) for one in names], node.level)


def names() -> list[Name]:
    """Return every public name once, under the first package that exports it."""
    found: dict[str, Name] = {}
    for package in packages():
        for name in public(package):
            found.setdefault(name.path, name)
    return list(found.values())


def public(package: str) -> list[Name]:
    """Return the names that one package exports: those it imports as `X as X`, and those it defines."""
    handed_on = [
        one.name for node in imports(package) if node.module != PACKAGE for one in node.names if one.asname == one.name
    ]
    defined = [
        node.name
        for node in source(package).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]
    return [Name(f"{package}.{name}", *home(package, name)) for name in (*handed_on, *dict.fromkeys(defined))]


def statements(module: str) -> Iterator[ast.stmt]:
    """Return the statements of a module, with those under `if TYPE_CHECKING:`."""
    for node in source(module).body:
        yield with_names(node) if isinstance(node, ast.ImportFrom) else node
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            yield from node.body


def home(module: str, name: str) -> tuple[str, Definition]:
    """Return the module that defines a name, and the definition."""
    for node in statements(module):
        if isinstance(node, ast.ImportFrom) and node.module and any(one.asname == name for one in node.names):
            return home(node.module, name) if node.module.startswith(PACKAGE) else (module, node)
        if isinstance(node, Definition) and name in defined_by(node):
            return module, node
    message = f"{module} exports {name}, which it does not define"
    raise LookupError(message)


def defined_by(node: Definition) -> list[str]:
    """Return the names that a statement defines."""
    match node:
        case ast.FunctionDef() | ast.ClassDef():
            return [node.name]
        case ast.AnnAssign(target=ast.Name(name)):
            return [name]
        case ast.Assign():
            return [target.id for target in node.targets if isinstance(target, ast.Name)]
        case _:
            return []


def docstring_of(name: Name) -> str | None:
    """Return the docstring of a name; that of an assignment is the string under it."""
    if isinstance(name.definition, ast.FunctionDef):
        return next(filter(None, map(ast.get_docstring, overloads(name))), None)
    if isinstance(name.definition, ast.ClassDef):
        return ast.get_docstring(name.definition)
    body = source(name.module).body
    below = body.index(name.definition) + 1
    match body[below : below + 1]:
        case [ast.Expr(ast.Constant(str(text)))]:
            return text
        case _:
            return None


def overloads(name: Name) -> list[ast.FunctionDef]:
    """Return all definitions of a function: the last of several has the docstring."""
    return [node for node in source(name.module).body if isinstance(node, ast.FunctionDef) and node.name == name.short]


def pages() -> dict[str, str]:
    """Return the text of each page by its path under docs/api."""
    by_page: dict[str, list[Name]] = {}
    for name in sorted(names(), key=lambda name: name.definition.lineno):
        by_page.setdefault(name.page, []).append(name)
    return {page: text(page, on_it) for page, on_it in by_page.items()}


def text(page: str, on_it: list[Name]) -> str:
    """Return one page: the docstring of the module, its names, and its aliases in a table."""
    module = page.removesuffix(".md").replace("/", ".")
    aliases = [name for name in on_it if name.is_plain_alias]
    rows = [f"| `{name.public}` | `{meaning(name)}` |" for name in aliases]
    table = ["## Aliases", "", "| alias | stands for |", "| --- | --- |", *rows, ""] if rows else []
    entries = [entry(name) for name in on_it if name not in aliases]
    return "\n".join([f"# {module}", "", ast.get_docstring(source(f"{PACKAGE}.{module}")) or "", "", *entries, *table])


def index(on_pages: list[Name]) -> str:
    """Return the page of all public names in alphabetical order; the search leaves it out, as it finds the names."""
    head = ["---", "search:", "  exclude: true", "---", "", "# All names, A to Z", ""]
    lines = [
        *head,
        "Every public name with the first line of its docstring, in the order of the last part of the name.",
        "",
    ]
    letter = ""
    for name in sorted(on_pages, key=lambda name: (name.short.lower(), name.public)):
        if name.short[0].upper() != letter:
            letter = name.short[0].upper()
            lines += ["", f"## {letter}", "", "| name | what it is |", "| --- | --- |"]
        anchor = "aliases" if name.is_plain_alias else name.path
        said = f"`{meaning(name)}`" if name.is_plain_alias else (docstring_of(name) or "").partition("\n")[0]
        lines.append(f"| [`{name.public}`]({name.page}#{anchor}) | {said.replace('|', chr(92) + '|')} |")
    return "\n".join([*lines, ""])


def meaning(name: Name) -> str:
    """Return what an alias stands for, as its source has it."""
    match name.definition:
        case ast.AnnAssign(value=ast.expr() as value) | ast.Assign(value=value):
            return ast.unparse(value).strip("'")
        case ast.ImportFrom(module=module, names=imported):
            original = next(one.name for one in imported if one.asname == name.short)
            return original if module == "builtins" else f"{module}.{original}"
    message = f"{name.public} is no alias"
    raise TypeError(message)


def entry(name: Name) -> str:
    """Return the lines that mkdocstrings puts the docstring in the place of."""
    if not docstring_of(name):
        message = f"{name.public} has no docstring in {name.module}, so the API pages cannot describe it"
        raise LookupError(message)
    if silent := methods_without_docstring(name):
        message = f"{name.public}.{silent[0]} has no docstring in {name.module}, so its page would leave it out"
        raise LookupError(message)
    options = {"heading": name.public, "toc_label": name.short}
    if not isinstance(name.definition, ast.FunctionDef | ast.ClassDef):
        options |= {"separate_signature": "false", "show_labels": "false"}  # how an alias is made says nothing
    return "\n".join([f"::: {name.path}", "    options:", *(f"      {key}: {options[key]}" for key in options), ""])


def methods_without_docstring(name: Name) -> list[str]:
    """Return the public methods of a class that say nothing; one that overrides another means what that says."""
    if not isinstance(name.definition, ast.ClassDef) or name.module in MEANS_WHAT_NUMPY_MEANS:
        return []
    methods = [node for node in name.definition.body if isinstance(node, ast.FunctionDef)]
    said = {node.name for node in methods if ast.get_docstring(node) or "override" in decorators(node)}
    return [node.name for node in methods if not node.name.startswith("_") and node.name not in said]


def decorators(node: ast.FunctionDef) -> list[str]:
    """Return what a function is decorated with."""
    return [ast.unparse(one) for one in node.decorator_list]


def main() -> None:
    """Write all pages again."""
    try:
        written = pages()
    except LookupError as error:
        sys.exit(f"docs: {error}")
    written["index.md"] = index(names())
    written["architecture.md"] = layers.page()
    written["changes.md"] = (ROOT / "CHANGELOG.md").read_text("utf-8")
    shutil.rmtree(API, ignore_errors=True)
    for page, content in written.items():
        path = API / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")


def on_config(config: Any) -> None:
    """Put each page that the nav does not name behind the others of its folder; mkdocs calls this."""
    named = set(named_pages(config.nav))
    for path in sorted(API.rglob("*.md")):
        page = path.relative_to(API.parent).as_posix()
        if page not in named:
            folder = page.rpartition("/")[0]
            (section_of(config.nav, folder) or section_of(config.nav, API.name) or config.nav).append(page)


def named_pages(nav: list[Any]) -> Iterator[str]:
    """Yield the pages of a nav, those of its sections as well."""
    for item in nav:
        for below in [item] if isinstance(item, str) else item.values():
            yield from [below] if isinstance(below, str) else named_pages(below)


def section_of(nav: list[Any], folder: str) -> list[Any] | None:
    """Return the first section that has a page of a folder."""
    sections = [below for item in nav if isinstance(item, dict) for below in item.values()]
    here = [page for page in [*nav, *sections] if isinstance(page, str)]
    if any(page.rpartition("/")[0] == folder for page in here):
        return nav
    found = (section_of(below, folder) for below in sections if isinstance(below, list))
    return next(filter(None, found), None)


if __name__ == "__main__":
    main()
