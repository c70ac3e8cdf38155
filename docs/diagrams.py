"""Draw the diagrams of the guide, and the card that other sites show beside a link.

    python -m docs.diagrams         # writes docs/images/*.svg
    python -m docs.diagrams --card  # draws docs/images/card.png as well; needs Chromium

A page shows them as images. `docs/site.py` puts them into the page itself, where they take the colours of the page.
"""

from __future__ import annotations

import subprocess
import sys
from html import escape
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

IMAGES: Final = Path(__file__).parent / "images"
TEXT: Final = "var(--md-typeset-color, #222)"
PAPER: Final = "var(--md-default-bg-color, #fff)"
BOX: Final = "var(--md-code-bg-color, #f5f5f5)"
LINE: Final = "var(--md-default-fg-color--light, #666)"
GOOD: Final = "var(--diagram-good, #1b6e3a)"
BAD: Final = "var(--diagram-bad, #b3261e)"
CODE: Final = "ui-monospace, DejaVu Sans Mono, monospace"
ROW: Final = 19  # pixels from a line of text to the next

Point: TypeAlias = tuple[float, float]


class Drawing:
    """Boxes, arrows and texts, which are placed by their pixels."""

    def __init__(self, width: int, height: int, title: str) -> None:
        size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        font = 'font-family="system-ui, sans-serif" font-size="14"'
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} role="img"><title>{escape(title)}</title>',
            f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        ]

    def box(self, left: float, top: float, width: float, lines: Sequence[str], colour: str = LINE) -> None:
        """Draw a box with its lines of text."""
        height = ROW * len(lines) + 12
        self.parts.append(
            f'<rect x="{left}" y="{top}" width="{width}" height="{height}" rx="5" fill="{BOX}" stroke="{colour}"/>'
        )
        for number, line in enumerate(lines):
            self.text(left + width / 2, top + 20 + ROW * number, line, colour=TEXT if colour == LINE else colour)

    def text(self, x: float, y: float, line: str, anchor: str = "middle", colour: str = TEXT, size: int = 14) -> None:
        """Write a line, with code between backquotes."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" fill="{colour}" font-size="{size}">')
        for number, part in enumerate(line.split("`")):
            font = f' font-family="{CODE}" font-size="{size - 1}"' if number % 2 else ""
            self.parts[-1] += f"<tspan{font}>{escape(part)}</tspan>" if part else ""
        self.parts[-1] += "</text>"

    def arrow(self, *points: Point, colour: str = LINE, dashed: bool = False) -> None:
        """Draw a line with a head at its last point."""
        path = " ".join(f"{x:g},{y:g}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
        (x0, y0), (x, y) = points[-2:]
        dx, dy = (x > x0) - (x < x0), (y > y0) - (y < y0)
        left, right = (x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx), (x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx)
        head = " ".join(f"{a:g},{b:g}" for a, b in ((x, y), left, right))
        self.parts.append(f'<polygon points="{head}" fill="{colour}"/>')

    def svg(self) -> str:
        """Return the whole drawing."""
        return "\n".join([*self.parts, "</svg>", ""])


def life_of_a_tape() -> str:
    """Draw a tape from `trace` to `backward`."""
    drawing = Drawing(700, 332, "The life of a tape")
    drawing.box(10, 20, 150, ["`x`", "no tape", "`NoneTape`"])
    drawing.arrow((160, 54), (270, 54))
    drawing.text(215, 45, "`trace()`")
    drawing.box(270, 20, 160, ["`x.trace()`", "an empty tape", "`OwnedTape`"])
    drawing.arrow((430, 54), (520, 54))
    drawing.text(475, 45, "ops")
    drawing.box(520, 20, 170, ["`loss`", "each op is recorded,", "with what it saves"])
    drawing.arrow((605, 89), (605, 150), colour=GOOD)
    drawing.text(597, 124, "`loss.backward()`", "end", GOOD)
    drawing.box(510, 150, 180, ["gradients,", "by tensor or parameter"], GOOD)
    drawing.arrow((605, 200), (605, 250))
    drawing.text(597, 230, "the tape is consumed", "end")
    drawing.box(520, 250, 170, ["`loss` and the traced `x`", "cannot be used again"], BAD)
    drawing.box(
        10, 250, 430, ["`loss.backward()` once more, or an op on a traced `x`:", "an error of mypy, and of Python"], BAD
    )
    drawing.arrow((520, 275), (440, 275), colour=BAD, dashed=True)
    drawing.box(10, 150, 330, ["`backward(retain_tape=True)`", "computes the same, and keeps the tape"])
    drawing.arrow((340, 175), (470, 175), (470, 75), (520, 75), dashed=True)
    drawing.text(
        10, 322, "A loss that is deleted without backward frees its tape and all that the tape saved.", "start"
    )
    return drawing.svg()


def plugin() -> str:
    """Draw the way from a line of a program to the message of mypy."""
    drawing = Drawing(700, 360, "How the plugin answers mypy")
    drawing.text(165, 24, "when mypy checks", size=15)
    drawing.text(535, 24, "when Python runs", size=15)
    drawing.box(35, 40, 260, ["`y = x @ w`", "mypy infers the types of x and w"])
    drawing.box(405, 40, 260, ["`y = x @ w`", "x and w hold arrays"])
    drawing.arrow((165, 90), (165, 120))
    drawing.arrow((535, 90), (535, 120))
    drawing.box(35, 120, 260, ["the plugin reads the sizes:", "`(B, 3)` and `(4, 5)`"])
    drawing.box(405, 120, 260, ["the op reads the sizes:", "`(32, 3)` and `(4, 5)`"])
    drawing.arrow((165, 170), (165, 205), (240, 205), (240, 222))
    drawing.arrow((535, 170), (535, 205), (460, 205), (460, 222))
    drawing.box(190, 222, 320, ["one shape rule, the same function for both", "`matmul_shape(x, y)`"])
    drawing.arrow((240, 272), (240, 302), colour=BAD)
    drawing.arrow((460, 272), (460, 302), colour=BAD)
    drawing.box(20, 302, 310, ["mypy reports the ShapeError at the line", "`x (B, 3) has 3 columns but y …`"], BAD)
    drawing.box(370, 302, 310, ["Python raises the ShapeError", "`x (32, 3) has 3 columns but y …`"], BAD)
    return drawing.svg()


def broadcasting() -> str:
    """Draw three shapes aligned at their last axes, and two that do not broadcast."""
    drawing = Drawing(700, 236, "Broadcasting")
    columns = (150, 230, 310)
    for row, (name, sizes) in enumerate({"x": ("B", "1", "5"), "y": ("", "3", "5"), "x + y": ("B", "3", "5")}.items()):
        top = 40 + 52 * row + (20 if row == 2 else 0)
        drawing.text(120, top + 20, f"`{name}`", "end")
        for left, size in zip(columns, sizes, strict=True):
            if size:
                drawing.box(left, top, 60, [f"`{size}`"], GOOD if row == 2 else LINE)
            else:
                drawing.text(left + 30, top + 20, "missing")
    for left, axis in zip(columns, ("axis -3", "axis -2", "axis -1"), strict=True):
        drawing.text(left + 30, 24, axis)
    drawing.parts.append(f'<path d="M 80 150 H 372" stroke="{LINE}"/>')
    drawing.text(
        20, 226, "Shapes are aligned at the last axis. A size of 1, or a missing one, takes the other size.", "start"
    )
    drawing.text(560, 24, "does not broadcast")
    for row, (name, sizes) in enumerate({"x": ("2", "3"), "y": ("2", "4")}.items()):
        drawing.text(470, 60 + 52 * row, f"`{name}`", "end")
        for left, size in zip((500, 580), sizes, strict=True):
            drawing.box(left, 40 + 52 * row, 60, [f"`{size}`"], BAD if left == 580 else LINE)
    drawing.text(560, 150, "`axis -1 is 3 in x but 4 in y`", colour=BAD)
    return drawing.svg()


def static_and_run_time() -> str:
    """Draw what is checked by mypy, and what when the program runs."""
    drawing = Drawing(700, 300, "What is checked by mypy, and what at run time")
    drawing.text(180, 24, "mypy, before the program runs", size=15)
    drawing.text(520, 24, "Python, while it runs", size=15)
    rows = [
        (["sizes, tapes and dtypes of", "literals and annotations"], GOOD, ["the same, by each op"], LINE),
        (
            ["named sizes, for all their values", "and in branches that never run"],
            GOOD,
            ["the values of this run"],
            LINE,
        ),
        (
            ["files, lists, untyped code:", "unknown, and accepted"],
            BAD,
            ["each op checks its operands,", "`@guarded` arguments and results"],
            GOOD,
        ),
        (
            ["a parameter assigned between", "forward and backward: not seen"],
            BAD,
            ["the tape compares", "versions in backward"],
            GOOD,
        ),
    ]
    for number, (left, left_colour, right, right_colour) in enumerate(rows):
        top = 40 + 64 * number
        drawing.box(20, top, 320, left, left_colour)
        drawing.box(360, top, 320, right if len(right) == 2 else [*right, "with the same message"], right_colour)
    return drawing.svg()


def training_step() -> str:
    """Draw the values of one step of training, with their shapes."""
    drawing = Drawing(700, 280, "The data flow of one training step")
    drawing.box(10, 30, 120, ["`images`", "`(32, 64)`", "no tape"])
    drawing.arrow((130, 64), (190, 64))
    drawing.text(160, 55, "`trace`")
    drawing.box(190, 30, 130, ["`model(…)`", "records", "its layers"])
    drawing.arrow((320, 64), (395, 64))
    drawing.text(357, 55, "`(32, 10)`")
    drawing.box(395, 30, 150, ["`cross_entropy`", "compares with", "`labels (32,)`"])
    drawing.arrow((545, 64), (590, 64))
    drawing.box(590, 30, 100, ["`loss`", "`()`", "owned tape"])
    drawing.arrow((640, 99), (640, 180))
    drawing.text(632, 144, "`loss.backward(wrt=model)`", "end")
    drawing.box(540, 180, 150, ["`grads`", "one gradient for", "each parameter"])
    drawing.arrow((540, 214), (430, 214))
    drawing.box(280, 180, 150, ["`opt.step(grads)`", "writes the new", "parameters"])
    drawing.arrow((280, 214), (255, 214), (255, 99))
    drawing.text(247, 150, "the next batch", "end")
    drawing.text(
        10, 270, "The tape begins at trace and ends at backward; nothing else keeps a value of the step.", "start"
    )
    return drawing.svg()


DIAGRAMS: Final = {
    "life-of-a-tape": life_of_a_tape,
    "plugin": plugin,
    "broadcasting": broadcasting,
    "static-and-run-time": static_and_run_time,
    "training-step": training_step,
}

CARD: Final = """\
<body style="margin: 0; width: 1200px; height: 630px; background: #23283a; color: #fff; font: 30px sans-serif">
<div style="padding: 56px 64px">
<b style="font-size: 64px">tapegrad</b>
<p style="margin: 12px 0 36px">Tensors whose shapes, gradient tapes and dtypes are types, checked by mypy.</p>
<pre style="font: 28px DejaVu Sans Mono, monospace; background: #2e3448; padding: 28px; margin: 0; line-height: 1.5">\
model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(),
                      nn.Linear(48, 10))
model(tg.uniform((32, 63)))</pre>
<pre style="font: 26px DejaVu Sans Mono, monospace; border-left: 8px solid #ff8a80; padding: 20px 24px; \
margin: 28px 0 0; line-height: 1.5; color: #ffb4ab">error: model[0] Linear(64, 48): x is (32, 63) but (..., 64)
is expected: axis -1 is 63, not 64  [tapegrad-shape]</pre>
</div>
"""


def draw_card() -> None:
    """Draw the card, in the size that other sites expect."""
    chromium = which("chromium")
    if chromium is None:
        sys.exit("docs: the card needs Chromium, which is not on the path")
    with TemporaryDirectory() as folder:
        page = Path(folder, "card.html")
        page.write_text(CARD, "utf-8")
        options = ("--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1200,630")
        shot = f"--screenshot={IMAGES / 'card.png'}"
        subprocess.run([chromium, *options, shot, page.as_uri()], check=True, capture_output=True)  # noqa: S603  # our own page


def main() -> None:
    """Write all diagrams again."""
    for name, draw in DIAGRAMS.items():
        (IMAGES / f"{name}.svg").write_text(draw(), "utf-8")
    if "--card" in sys.argv:
        draw_card()


if __name__ == "__main__":
    main()
