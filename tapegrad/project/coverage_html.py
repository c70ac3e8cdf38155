"""The pages of `tapegrad coverage --html`: an index, and each file with its expressions coloured by what is known."""

from __future__ import annotations

from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Final

from tapegrad.mypy.coverage.levels import Level

if TYPE_CHECKING:
    from pathlib import Path

    from tapegrad.mypy.coverage.findings import Loss, Seen, Span
    from tapegrad.project.coverage import Page, Row

# The background of each class under light and dark text; the text on them has a contrast of 4.5 or more.
COLORS: Final = {
    "exact": ("#d3f0d8", "#123d1f"),
    "named": ("#d6e6fb", "#14345c"),
    "partly": ("#fdebb8", "#4d3a05"),
    "unknown": ("#fbd3d3", "#5c1a1a"),
    "accepted": ("#e6e6e6", "#3a3a3a"),
}
TEXT: Final = ("#1b1b1b", "#ececec")
PAGE: Final = ("#ffffff", "#16181b")
FAINT: Final = ("#5f6368", "#9aa0a6")
LINK: Final = ("#0b57d0", "#8ab4f8")

_MEANINGS: Final = {
    "exact": "all sizes are numbers",
    "named": "all sizes are numbers or names",
    "partly": "a size, the tape or the dtype is unknown",
    "unknown": "the rank is unknown",
    "accepted": "left out: a comment accepts it, or mypy reports it",
}


def write_pages(folder: Path, pages: list[Page], total: Row) -> None:
    """Write the index and a page for each file with a tensor expression.

    Args:
        folder: Where to write; it is made if it does not exist, and other files in it are left alone.
        pages: The files.
        total: The counts of all of them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    shown = [page for page in pages if page.analysis.seen or page.analysis.mistakes]
    (folder / "index.html").write_text(_index(shown, total), "utf-8")
    for page in shown:
        (folder / file_name(page.path)).write_text(_file(page), "utf-8")


def file_name(path: str) -> str:
    """Return the name of the page of a file; two files never share one."""
    return f"{path.replace('_', '__').replace('/', '_-').replace(chr(92), '_.')}.html"


def _index(pages: list[Page], total: Row) -> str:
    rows = []
    for page in pages:
        name = file_name(page.path)
        rows.append(_row(f'<a href="{escape(name)}">{escape(page.path)}</a>', page.row, kind="file"))
        rows += [
            _row(f'<a href="{escape(name)}#L{line}">{escape(function)}</a>', row, kind="function")
            for function, line, row in page.functions
        ]
    rows.append(_row("all", total, kind="file"))
    head = "".join(f"<th>{escape(column)}</th>" for column in ("", *_HEADS))
    return _page("What mypy knows", f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>")


_HEADS: Final = ("exact", "named", "partly", "unknown", "no tape", "no dtype", "accepted", "at calls", "known")


def _row(name: str, row: Row, kind: str) -> str:
    counts = (row.exact, row.named, row.partly, row.unknown, row.no_tape, row.no_dtype, row.accepted, row.at_calls)
    cells = "".join(f"<td>{count or '-'}</td>" for count in counts)
    return f'<tr class="{kind}"><th scope="row">{name}</th>{cells}<td>{row.share}</td></tr>'


def _file(page: Page) -> str:
    lines = page.source.splitlines()
    classes: list[list[str]] = [[""] * len(line) for line in lines]
    for seen in sorted(page.analysis.seen, key=lambda one: _extent(one.span), reverse=True):  # the inner ones come last
        _paint(classes, seen)
    losses: dict[int, list[Loss]] = {}
    for loss in page.analysis.losses:
        losses.setdefault(loss.span.end_line, []).append(loss)
    shown = [
        _line(number, text, kinds, losses.get(number, []))
        for number, (text, kinds) in enumerate(zip(lines, classes, strict=True), start=1)
    ]
    back = '<p><a href="index.html">all files</a></p>'
    return _page(page.path, f'{back}{_legend()}<div class="code">{"".join(shown)}</div>')


def _extent(span: Span) -> tuple[int, int]:
    return span.end_line - span.line, span.end_column - span.column


def _paint(classes: list[list[str]], seen: Seen) -> None:
    span = seen.span
    for number in range(span.line, span.end_line + 1):
        if number > len(classes):
            return
        row = classes[number - 1]
        first = span.column if number == span.line else 0
        last = span.end_column if number == span.end_line else len(row)
        row[first:last] = [_class_of(seen)] * len(row[first:last])


def _class_of(seen: Seen) -> str:
    if seen.left_out:
        return "accepted"
    if seen.knowledge.level is Level.UNKNOWN:
        return "unknown"
    if not seen.is_known:
        return "partly"
    return "exact" if seen.knowledge.level is Level.EXACT else "named"


def _line(number: int, text: str, kinds: list[str], losses: list[Loss]) -> str:
    indent = len(text) - len(text.lstrip())
    kinds = ["" if position < indent else kind for position, kind in enumerate(kinds)]
    parts = []
    for kind, places in groupby(range(len(text)), key=lambda position: kinds[position]):
        piece = escape("".join(text[place] for place in places))
        parts.append(f'<span class="{kind}">{piece}</span>' if kind else piece)
    notes = "".join(_note(loss) for loss in losses)
    return f'<div id="L{number}"><a href="#L{number}">{number}</a><code>{"".join(parts)}</code>{notes}</div>\n'


def _note(loss: Loss) -> str:
    accepted = f" (accepted: {loss.accepted})" if loss.accepted else ""
    return f'<p class="{"note faint" if loss.accepted else "note"}">{escape(loss.message + accepted)}</p>'


def _legend() -> str:
    items = "".join(f'<li><span class="{name}">{name}</span> {words}</li>' for name, words in _MEANINGS.items())
    return f'<ul class="legend">{items}</ul>'


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_style()}</style>\n</head>\n"
        f"<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _style() -> str:
    names = {"text": TEXT, "page": PAGE, "faint": FAINT, "link": LINK, **COLORS}
    light, dark = ("".join(f"--{name}:{pair[scheme]};" for name, pair in names.items()) for scheme in (0, 1))
    classes = "".join(f".{name}{{background:var(--{name})}}" for name in COLORS)
    return f""":root{{color-scheme:light dark;{light}}}
@media (prefers-color-scheme:dark){{:root{{{dark}}}}}
body{{margin:1.5rem auto;max-width:80rem;padding:0 1rem;color:var(--text);background:var(--page)}}
body,.note{{font:1rem/1.5 system-ui,sans-serif}}
h1{{font-size:1.4rem;overflow-wrap:anywhere}} a{{color:var(--link)}}
table{{border-collapse:collapse}} th,td{{padding:.15rem .7rem;text-align:right;font-variant-numeric:tabular-nums}}
thead th{{border-bottom:1px solid var(--faint);font-weight:normal;color:var(--faint)}}
tbody th{{text-align:left;font-weight:normal}} .function th{{padding-left:2rem}}
.file th,.file td{{padding-top:.6rem;font-weight:bold}}
.code{{font:.85rem/1.55 ui-monospace,monospace;overflow-x:auto}} .code code{{font:inherit;white-space:pre}}
.code>div>a{{display:inline-block;width:3.5rem;padding-right:1rem;text-align:right;user-select:none}}
.code>div>a{{color:var(--faint);text-decoration:none}}
.code>div:target{{box-shadow:0 0 0 1px var(--link)}}
.note{{margin:0 0 .4rem 4.5rem;font-size:.85rem}} .note::before{{content:"↑ "}} .faint{{color:var(--faint)}}
.legend{{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1.5rem;font-size:.85rem}}
.legend span{{padding:0 .3rem}}
{classes}.partly{{text-decoration:underline dashed}} .unknown{{text-decoration:underline}}
"""
