"""The release command, and the versions in deprecation warnings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from docs.release import dated, git, notes, release

ROOT = Path(__file__).parent.parent
CHANGELOG = "# Changes\n\n## Unreleased\n\n- Two ops.\n\n## 0.1.0 (2026-12-01)\n\n- One op.\n"


def test_the_unreleased_changes_become_those_of_the_version() -> None:
    changelog = dated(CHANGELOG, "0.2.0", "2027-01-31")

    assert changelog == CHANGELOG.replace("Unreleased", "Unreleased\n\n## 0.2.0 (2027-01-31)")
    assert notes(changelog, "Unreleased") == ""
    assert notes(changelog, "0.2.0") == "- Two ops."
    assert notes(changelog, "0.1.0") == "- One op."


@pytest.mark.parametrize(
    ("version", "message"),
    [
        ("0.2", r"^0\.2 is not a version: three numbers are expected, such as 0\.2\.0$"),
        ("0.1.0", r"^0\.1\.0 is not newer than 0\.1\.0, which is in CHANGELOG\.md$"),
    ],
)
def test_a_version_that_does_not_come_next_is_rejected(version: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dated(CHANGELOG, version, "2027-01-31")


def test_a_release_without_changes_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"^CHANGELOG\.md lists no change under Unreleased$"):
        dated(CHANGELOG.replace("- Two ops.\n", ""), "0.2.0", "2027-01-31")


def test_changes_after_a_release_go_into_the_next_one() -> None:
    released = dated(CHANGELOG, "0.2.0", "2027-01-31")
    with pytest.raises(ValueError, match=r"^CHANGELOG\.md lists no change under Unreleased$"):
        dated(released, "0.3.0", "2027-03-31")

    changed = released.replace("## Unreleased\n", "## Unreleased\n\n- Three ops.\n")

    assert notes(dated(changed, "0.3.0", "2027-03-31"), "0.3.0") == "- Three ops."


def test_a_release_commits_the_changelog_and_tags_it(tmp_path: Path) -> None:
    for command in (["init"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"]):
        git(tmp_path, *command)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    with pytest.raises(ValueError, match=r"^the checkout has changes that are not committed$"):
        release(tmp_path, "0.2.0")
    (tmp_path / "tapegrad").mkdir()
    message = "old is called new since 0.1.0, and its old name is removed in 0.3.0"
    (tmp_path / "tapegrad" / "old.py").write_text(f'message = "{message}"\n', "utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    with pytest.raises(ValueError, match=f"^these names have to be removed first:\n{message}$"):
        release(tmp_path, "0.3.0")

    assert release(tmp_path, "0.2.0") == "- Two ops."
    assert git(tmp_path, "describe") == "v0.2.0\n"
    assert git(tmp_path, "status", "--porcelain") == ""


def test_a_release_that_git_rejects_changes_nothing(tmp_path: Path) -> None:
    for command in (["init"], ["config", "user.name", "Ada"], ["config", "user.email", "ada@example.org"]):
        git(tmp_path, *command)
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG, "utf-8")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "Begin")
    before = git(tmp_path, "rev-parse", "HEAD")

    git(tmp_path, "tag", "v0.2.0")
    with pytest.raises(ValueError, match=r"^the tag v0\.2\.0 exists already$"):
        release(tmp_path, "0.2.0")
    git(tmp_path, "config", "tag.gpgSign", "true")
    git(tmp_path, "config", "gpg.program", "false")
    with pytest.raises(ValueError, match=r"^git tag has failed$"):
        release(tmp_path, "0.2.1")

    assert git(tmp_path, "rev-parse", "HEAD") == before
    assert git(tmp_path, "status", "--porcelain") == ""
    assert git(tmp_path, "tag") == "v0.2.0\n"


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("vendor.github-workflows", ".github/workflows/*.yml"),
        ("vendor.github-issue-forms", ".github/ISSUE_TEMPLATE/wrong_*.yml"),
        ("vendor.dependabot", ".github/dependabot.yml"),
        ("vendor.citation-file-format", "CITATION.cff"),
    ],
)
def test_files_of_the_repository_fit_their_schema(
    schema: str, pattern: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Not at the top: it takes 2.5 s of CPU time, in each worker of pytest. It has no annotations.
    from check_jsonschema import main  # type: ignore[import-untyped]

    files = [str(path) for path in sorted(ROOT.glob(pattern))]

    status = main(["--builtin-schema", schema, *files], standalone_mode=False)

    assert files
    assert status == 0, capsys.readouterr().out


def test_workflows_pass_the_security_linter() -> None:
    zizmor = str(Path(sys.executable).with_name("zizmor"))

    done = subprocess.run([zizmor, "--offline", ".github"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert "No findings to report" in done.stdout


def test_each_deprecation_warning_has_both_versions() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")
    titles = re.findall(r"^## (\d+)\.(\d+)\.\d+ \(", changelog, re.MULTILINE)
    released = [(int(major), int(minor)) for major, minor in titles]
    source = "".join(path.read_text("utf-8") for path in sorted((ROOT / "tapegrad").rglob("*.py")))

    messages = re.findall(r'"([^"\n]+ is called [^"\n]+ since [^"\n]+)"', source)

    assert len(messages) == source.count("DeprecationWarning, stacklevel")
    for message in messages:
        until = re.search(r"since \d+\.\d+\.0, and its old name is removed in (\d+)\.(\d+)\.0$", message)
        assert until, message
        assert (int(until[1]), int(until[2])) > max(released, default=(0, 0)), f"remove it: {message}"
