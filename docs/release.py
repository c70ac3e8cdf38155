"""Cut a release: date its section of the changelog, commit it, and tag the commit.

    python -m docs.release 0.2.0

The version is the tag, so nothing else changes. `make dist` then builds what is uploaded.
"""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
UNRELEASED = "## Unreleased\n"


def dated(changelog: str, version: str, day: str) -> str:
    """Return the changelog in which the unreleased changes are those of a version, and none is unreleased.

    Raises:
        ValueError: The version is no number of three parts or is not the next one, or nothing has changed since.
    """
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        raise ValueError(f"{version} is not a version: three numbers are expected, such as 0.2.0")
    released = re.findall(r"^## (\d+)\.(\d+)\.(\d+) \(", changelog, re.MULTILINE)
    newest = max((tuple(map(int, numbers)) for numbers in released), default=(0, 0, 0))
    if parts(version) <= newest:
        raise ValueError(f"{version} is not newer than {'.'.join(map(str, newest))}, which is in CHANGELOG.md")
    if not notes(changelog, "Unreleased"):
        raise ValueError("CHANGELOG.md lists no change under Unreleased")
    return changelog.replace(UNRELEASED, f"{UNRELEASED}\n## {version} ({day})\n", 1)


def notes(changelog: str, version: str) -> str:
    """Return what the changelog says of a version, which is what a release page shows."""
    found = re.search(
        rf"^## {re.escape(version)}(?: \([^)\n]*\))?\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return found[1].strip() if found else ""


def release(root: Path, version: str) -> str:
    """Commit and tag a version in a clean checkout, and return its notes.

    Raises:
        ValueError: The checkout has changes that are not committed, the version has a tag already or does not fit the
            changelog, an old name was to be removed by now, or git has failed; the checkout is then as before.
    """
    if git(root, "status", "--porcelain"):
        raise ValueError("the checkout has changes that are not committed")
    if git(root, "tag", "--list", f"v{version}"):
        raise ValueError(f"the tag v{version} exists already")
    file = root / "CHANGELOG.md"
    changelog = dated(file.read_text("utf-8"), version, datetime.now(UTC).date().isoformat())
    if found := overdue(root, version):
        raise ValueError("\n".join(["these names have to be removed first:", *found]))
    before = git(root, "rev-parse", "HEAD").strip()
    file.write_text(changelog, "utf-8")
    try:
        git(root, "commit", "--quiet", "--message", f"Release {version}", "CHANGELOG.md")
        git(root, "tag", "--annotate", f"v{version}", "--message", f"tapegrad {version}")
    except subprocess.CalledProcessError as error:  # such as a hook, or a key to sign with
        git(root, "reset", "--quiet", "--hard", before)
        raise ValueError(f"git {error.cmd[1]} has failed") from error
    return notes(changelog, version)


def overdue(root: Path, version: str) -> list[str]:
    """Return what the package says of its old names that a version should no longer have."""
    text = "".join(path.read_text("utf-8") for path in sorted((root / "tapegrad").rglob("*.py")))
    said = re.findall(r'"([^"\n]+ is removed in ([\d.]+))"', text)
    return [message for message, until in said if parts(until) <= parts(version)]


def parts(version: str) -> tuple[int, ...]:
    """Return the numbers of a version."""
    return tuple(map(int, version.split(".")))


def git(root: Path, *arguments: str) -> str:
    """Run git, and return what it prints; its own error ends the program."""
    return subprocess.run(["git", *arguments], cwd=root, check=True, text=True, stdout=subprocess.PIPE).stdout  # noqa: S603, S607  # the caller's own git


def main() -> None:
    """Release the version of the command line."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m docs.release VERSION")
    try:
        sys.stdout.write(release(ROOT, sys.argv[1]) + "\n")
    except ValueError as error:
        sys.exit(f"nothing was released: {error}")


if __name__ == "__main__":
    main()
