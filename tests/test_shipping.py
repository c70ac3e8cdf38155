"""The wheel: built without a network, installed elsewhere, and used there by Python, mypy and pyright."""

from __future__ import annotations

import email
import email.message
import json
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PROGRAM = """\
import tapegrad as tg
from tapegrad import nn, optim

x = tg.normal((32, 5), rng=0)
y = x.sum(axis=1, keepdims=True)
model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 1))
opt = optim.Adam(model, lr=0.02)
first = tg.mse(model(x), y).item()
for _ in range(100):
    loss = tg.mse(model(x.trace()), y)
    opt.step(loss.backward(wrt=model))
assert loss.item() < first / 10
"""
WRONG = "\nmodel(tg.zeros((32, 4)))\n"
MESSAGE = "model[0] Linear(5, 7): x is (32, 4) but (..., 5) is expected: axis -1 is 4, not 5"
REPOSITORY = "https://forge.example.org/ada/tapegrad"
SETTINGS = '[tool.mypy]\nstrict = true\nplugins = ["tapegrad.mypy"]\nallow_redefinition = true\n'


class Place(NamedTuple):
    """A folder outside the tree, with an environment that has the wheel and, of the tree's, its third parties alone."""

    folder: Path
    wheel: Path
    sdist: Path
    python: str
    package: Path

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(self.folder, self.python, *arguments)


def run(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH")}
    return subprocess.run(command, cwd=folder, env=outside | environment, capture_output=True, text=True, check=False)


def build(source: Path, target: Path) -> tuple[Path, Path]:
    """Build in this environment, whose back end is the locked one; a front end would fetch its own."""
    command = (sys.executable, "-m", "hatchling", "build", "--directory", str(target))
    built = run(source, *command, REPOSITORY_URL=REPOSITORY)

    assert built.returncode == 0, built.stderr
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("outside")
    wheel, sdist = build(ROOT, folder / "dist")
    venv.create(folder / "venv", symlinks=os.name != "nt")
    python = next(str(path) for path in (folder / "venv").glob("*/python*") if path.stem == "python")
    completed = run(folder, python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
    packages = Path(completed.stdout.strip())
    # Python reads no .pth file in a folder that a .pth file names: the editable install in there stays unseen.
    (packages / "third_parties.pth").write_text(sysconfig.get_path("purelib"), "utf-8")

    before = run(folder, python, "-c", "import numpy, mypy, tapegrad")
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index", str(wheel))
    installed = run(folder, *pip)

    assert before.stderr.splitlines()[-1] == "ModuleNotFoundError: No module named 'tapegrad'"
    assert installed.returncode == 0, installed.stderr
    (folder / "pyproject.toml").write_text(SETTINGS, "utf-8")
    (folder / "right.py").write_text(PROGRAM, "utf-8")
    (folder / "wrong.py").write_text(PROGRAM + WRONG, "utf-8")
    return Place(folder, wheel, sdist, python, packages / "tapegrad")


def test_the_wheel_contains_only_the_package(place: Place) -> None:
    files = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "tapegrad").rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    }
    files |= {"tapegrad/py.typed", "tapegrad/notebook/mypy.ini", "tapegrad/project/mypy.ini"}

    names = set(zipfile.ZipFile(place.wheel).namelist())

    assert {name for name in names if ".dist-info/" not in name} == files
    assert {"tapegrad/__init__.pyi", "tapegrad/mypy/__init__.py"} < names
    assert {name.partition(".dist-info/")[2] for name in names - files} == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "licenses/LICENSE",
    }


def test_packages_have_the_addresses_of_the_repository_that_builds_them(place: Place, tmp_path: Path) -> None:
    built = run(ROOT, sys.executable, "-m", "hatchling", "build", "-t", "wheel", "--directory", str(tmp_path))
    (of_no_repository,) = tmp_path.glob("*.whl")

    assert built.returncode == 0, built.stderr
    assert addresses(place.wheel) == [
        f"Documentation, {REPOSITORY}#readme",
        f"Source, {REPOSITORY}",
        f"Changelog, {REPOSITORY}/blob/main/CHANGELOG.md",
        f"Issues, {REPOSITORY}/issues",
    ]
    assert addresses(of_no_repository) == []


def addresses(wheel: Path) -> list[str]:
    return metadata_of_wheel(wheel).get_all("Project-URL", [])


def metadata_of_wheel(wheel: Path) -> email.message.Message:
    archive = zipfile.ZipFile(wheel)
    (metadata,) = (name for name in archive.namelist() if name.endswith("METADATA"))
    return email.message_from_bytes(archive.read(metadata))


def test_the_metadata_have_a_version_that_the_uploading_action_accepts(place: Place) -> None:
    with tarfile.open(place.sdist) as archive:
        (name,) = (name for name in archive.getnames() if name.count("/") == 1 and name.endswith("PKG-INFO"))
        content = archive.extractfile(name)
        assert content is not None
        of_source_archive = email.message_from_bytes(content.read())

    assert metadata_of_wheel(place.wheel)["Metadata-Version"] == of_source_archive["Metadata-Version"] == "2.4"


def test_the_doctor_finds_the_plugin_of_the_wheel(place: Place, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS, "utf-8")

    completed = run(tmp_path, place.python, "-m", "tapegrad", "doctor")

    assert completed.returncode == 0, completed.stdout + completed.stderr
    assert f"Python {sys.version.split()[0]} is {place.python}" in completed.stdout


def test_the_wheel_of_the_sdist_equals_that_of_the_tree(place: Place, tmp_path: Path) -> None:
    with tarfile.open(place.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()

    wheel, _ = build(source, tmp_path / "dist")

    assert zipfile.ZipFile(wheel).namelist() == zipfile.ZipFile(place.wheel).namelist()
    assert wheel.read_bytes() == place.wheel.read_bytes()


def test_the_version_is_that_of_the_tag(place: Place, tmp_path: Path) -> None:
    with tarfile.open(place.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    (source / "PKG-INFO").unlink()  # in which the version of the source archive stands

    of_no_clone, _ = build(source, tmp_path / "of_no_clone")
    author = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Begin"], ["tag", "v1.2.3"]):
        assert run(source, "git", *author, *command).returncode == 0
    tagged, _ = build(source, tmp_path / "tagged")

    assert of_no_clone.name == "tapegrad-0.1.0.dev0-py3-none-any.whl"
    assert tagged.name == "tapegrad-1.2.3-py3-none-any.whl"


def test_each_version_is_in_the_changelog() -> None:
    titles = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    days = [match[1] for title in titles if (match := re.fullmatch(r"[\d.]+ \((\d{4}-\d\d-\d\d)\)", title))]
    tags = run(ROOT, "git", "tag", "--list", "v*").stdout.split() if (ROOT / ".git").exists() else []

    assert len(days) == len(titles) - titles.count("Unreleased")
    assert days == sorted(days, reverse=True)
    assert {tag.removeprefix("v") for tag in tags} <= {title.split()[0] for title in titles}


def test_the_sdist_contains_the_files_of_its_tests(place: Place) -> None:
    with tarfile.open(place.sdist) as archive:
        folders = {name.split("/")[1] for name in archive.getnames()}

    assert {"tapegrad", "tests", "typecheck", "stubs", "examples", "requirements", "Makefile", "LICENSE"} < folders


def test_twine_and_check_wheel_contents_pass(place: Place) -> None:
    upload = run(place.folder, sys.executable, "-m", "twine", "check", "--strict", str(place.wheel), str(place.sdist))
    contents = run(place.folder, sys.executable, "-m", "check_wheel_contents", str(place.wheel))

    assert upload.stdout.count("PASSED") == 2, upload.stdout
    assert contents.stdout == f"{place.wheel}: OK\n"


def test_python_trains_with_the_installed_package(place: Place) -> None:
    trained = place.run("-c", f"{PROGRAM}print(tg.__file__)")
    rejected = place.run("wrong.py")

    assert trained.stderr == ""
    assert Path(trained.stdout.strip()) == place.package / "__init__.py"
    assert f"tapegrad.errors.ShapeError: {MESSAGE}" in rejected.stderr.splitlines()  # above the diagram of the shapes


def test_mypy_checks_with_the_installed_package(place: Place) -> None:
    said = place.run("-m", "mypy", "--verbose", "--no-error-summary", "right.py", "wrong.py")

    line = PROGRAM.count("\n") + 2
    assert said.stdout.splitlines() == [f"wrong.py:{line}: error: {MESSAGE}  [tapegrad-shape]"]
    assert f"Parsing {place.package / '__init__.pyi'} (tapegrad)" in said.stderr
    assert str(ROOT / "tapegrad") not in said.stderr


def test_mypy_reads_a_dependent_package(place: Place, tmp_path: Path) -> None:
    package = place.package.parent / "my_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "py.typed").touch()
    (package / "ops.py").write_text(tutorial("## 7. ", "folded(tg.ones((2, 12)), 4)"), "utf-8")
    (package / "layers.py").write_text(tutorial("## 3. ", "head = Head(12, 4)"), "utf-8")
    (tmp_path / "pyproject.toml").write_text(f'{SETTINGS}\n[tool.tapegrad-mypy]\nrules = ["my_package.ops"]\n', "utf-8")
    lines = (
        "import tapegrad as tg",
        "from my_package.layers import Head",
        "from my_package.ops import folded",
        "Head(12, 4)(tg.ones((7, 11)))",
        "folded(tg.ones((2, 13)), 4)",
        "tg.reveal_shape(folded(Head(12, 4)(tg.ones((7, 12))), 2))",
    )
    (tmp_path / "use.py").write_text("\n".join(lines) + "\n", "utf-8")

    said = run(tmp_path, place.python, "-m", "mypy", "--no-error-summary", "use.py")

    assert said.stdout.splitlines() == [
        "use.py:4: error: Head: x is (7, 11) but (N, 12) is expected: axis 1 is 11, not 12  [tapegrad-shape]",
        "use.py:5: error: folded: the last axis of x (2, 13) is no multiple of 4  [tapegrad-shape]",
        "use.py:6: note: Revealed shape is (7, 2, 2) float32, no tape",
    ]


def tutorial(title: str, end: str) -> str:
    """Return the first program under a title of the tutorial, down to where it begins to be used."""
    page = (ROOT / "docs" / "guide" / "tutorial.md").read_text("utf-8")
    program = re.search(r"```python\n(.*?)```", page.partition(title)[2], re.DOTALL)
    assert program, title
    assert end in program[1]
    return program[1].partition(end)[0].removesuffix("print(")


def test_pyright_reads_the_installed_types(place: Place) -> None:
    (place.folder / "known.py").write_text("import tapegrad as tg\n\nreveal_type(tg.zeros((3, 5)).ndim)\n", "utf-8")

    said = json.loads(place.run("-m", "pyright", "--outputjson", "--pythonpath", place.python, "known.py").stdout)

    (report,) = said["generalDiagnostics"]
    assert (report["severity"], report["message"]) == ("information", 'Type of "tg.zeros((3, 5)).ndim" is "int"')


def test_the_metadata_is_complete(place: Place) -> None:
    (info,) = place.package.parent.glob("tapegrad-*.dist-info")

    metadata = PathDistribution(info).metadata

    assert (metadata["License-Expression"], metadata["Requires-Python"]) == ("MIT", ">=3.11")
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier", [])
    assert not any(" @ " in requirement for requirement in metadata.get_all("Requires-Dist", []))
