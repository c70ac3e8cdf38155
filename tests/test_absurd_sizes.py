"""Options with absurd sizes: a clear error, or a result that needs no more memory than it holds.

All calls run in one process with a limit on its memory, which fails if an op allocates more than its result.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
import time
from typing import Any

import pytest

import tapegrad as tg
from tapegrad.autograd.registry import OPS
from tapegrad.errors import TapegradError

resource: Any = pytest.importorskip("resource", reason="limits memory as POSIX does")

OPTIONS = {"kernel", "stride", "padding", "output_padding", "dilation", "groups", "size", "shape", "n", "m", "k", "num"}
OPTIONS |= {"start", "stop", "step", "scale", "reps", "repeats", "pad_width", "chunks", "sections", "sizes", "shift"}
OPTIONS |= {"offset", "heads"}
SIZES = (2**33, 2**40, 2**62, 2**63 - 1, 2**63, 10**30, -1, -(10**30))
MEMORY_LIMIT = 3 << 30  # bytes of address space, most of which the libraries take
GROWTH = 1 << 28  # bytes that all calls together may hold at once
LONGEST = 20  # seconds that a call may take on a machine that has other work

# Each op with a size among its options, as a program in `h`, that option by option is an absurd number.
LINE, IMAGE, BLOCK = "tg.ones((1, 2, 7))", "tg.ones((1, 2, 5, 6))", "tg.ones((1, 2, 5, 6, 4))"
CONV = {"1d": (LINE, "tg.ones((3, 2, 3))"), "2d": (IMAGE, "tg.ones((3, 2, 2, 3))")}
CONV["3d"] = (BLOCK, "tg.ones((3, 2, 2, 3, 2))")
TURNED = {"1d": "tg.ones((2, 3, 3))", "2d": "tg.ones((2, 3, 2, 3))", "3d": "tg.ones((2, 3, 2, 3, 2))"}
CALLS: dict[str, list[str]] = {
    "arange": ["h", "0, h", "0, h, 3", "h, 0, -3", "h, h + 3", "0, 5, h"],
    "bernoulli": ["(h,), rng=0"],
    "broadcast_to": ["x, shape=(h, 3, 1)"],
    "chunk": ["x, chunks=h", "tg.zeros((0,)), min(h, 2**26)"],
    "diag": ["tg.ones((3,)), k=h"],
    "diagonal": ["tg.ones((3, 4)), offset=h"],
    "diff": ["tg.ones((3,)), n=h"],
    "empty": ["(h,)"],
    "eye": ["h", "3, h", "0, h"],
    "full": ["(h,), 1.0"],
    "group_norm": ["tg.ones((2, 4, 3)), tg.ones((4,)), tg.ones((4,)), groups=h"],
    "linspace": ["0.0, 1.0, num=h"],
    "multi_head_attention": ["q, q, q, heads=h"],
    "normal": ["(h,), rng=0"],
    "one_hot": ["tg.tensor([1, 0]), size=h"],
    "ones": ["(h,)", "(h, h)"],
    "pad": ["x, pad_width=h", "x, ((h, 0), (0, 0))"],
    "repeat": ["x, repeats=h, axis=0"],
    "reshape": ["x, shape=(h,)", "tg.zeros((0,)), shape=(h, 0)"],
    "roll": ["x, shift=h"],
    "rotary_embedding": ["tg.ones((2, 3, 4)), offset=h"],
    "scatter_add": ["tg.tensor([0]), tg.ones((1,)), shape=(h,)"],
    "select": ["x, index=h"],
    "split": ["x, sections=h", "tg.zeros((0,)), h", "tg.zeros((0,)), min(h, 2**26)"],
    "tile": ["x, reps=h", "tg.zeros((0,)), h"],
    "topk": ["x, k=h, axis=0"],
    "tri": ["h", "3, h", "3, k=h"],
    "tril": ["tg.ones((3, 4)), k=h"],
    "triu": ["tg.ones((3, 4)), k=h"],
    "unflatten": ["x, 0, sizes=(h, 3)"],
    "unfold": ["x, axis=0, size=h", "x, axis=0, size=1, step=h"],
    "uniform": ["(h,), rng=0"],
    "upsample2d": [f"{IMAGE}, scale={s}{m}" for s in ("h", "(2**24, h)") for m in ("", ", mode='bilinear'")],
    "interpolate": [f"{IMAGE}, size={s}{m}" for s in ("h", "(2**24, h)") for m in ("", ", mode='cubic'")],
    "unstack": ["tg.zeros((min(h, 2**26), 0))"],
    "zeros": ["(h,)", "(0, h)"],
    "adaptive_avg_pool1d": [f"{LINE}, size=h"],
    "adaptive_avg_pool2d": [f"{IMAGE}, size=h", f"{IMAGE}, size=(h, 1)"],
}
for rank, (x, w) in CONV.items():
    options = ("stride", "padding", "dilation", "groups")
    CALLS[f"conv{rank}"] = [f"{x}, {w}, {o}=h" for o in (*options, "stride=h, padding", "dilation=h, padding")]
    options = ("stride", "padding", "output_padding", "dilation", "groups")
    CALLS[f"conv_transpose{rank}"] = [f"{x}, {TURNED[rank]}, {o}=h" for o in (*options, "stride=h, padding")]
CALLS["conv_transpose"] = CALLS["conv_transpose2d"]
for kind in ("avg", "max", "min", "smooth_max"):
    for rank in ("1d", "2d"):
        pooled = [f"{CONV[rank][0]}, 2, {o}=h" for o in ("stride", "padding")]
        CALLS[f"{kind}_pool{rank}"] = [*pooled, f"{CONV[rank][0]}, kernel=h", f"{CONV[rank][0]}, h, padding=h // 2"]
        CALLS[f"{kind}_pool{rank}"] += [f"{CONV[rank][0]}, h, stride={s}, padding=h // 2" for s in ("h // 3", "2 * h")]
        CALLS[f"{kind}_pool{rank}"] += [
            f"{CONV[rank][0]}, h, ceil_mode=True",
            f"{CONV[rank][0]}, 2, stride=h, ceil_mode=True",
        ]
        CALLS[f"{kind}_pool{rank}"] += [] if kind == "avg" else [f"{CONV[rank][0]}, 2, dilation=h"]


def test_every_op_with_a_size_among_its_options_is_tried() -> None:
    options = {name: OPTIONS & {*inspect.signature(entry.function).parameters} for name, entry in OPS.items()}

    found = {name for name, sizes in options.items() if sizes and is_ours(name)}
    assert found - {"scaled_dot_product_attention"} <= {*CALLS}  # its scale is no size


def is_ours(name: str) -> bool:
    return OPS[name].function.__module__.startswith("tapegrad.ops.")


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory as Linux does")
def test_absurd_sizes_are_rejected_or_need_only_the_memory_of_the_result() -> None:
    done = subprocess.run([sys.executable, __file__], capture_output=True, text=True, check=False, timeout=500)

    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{sum(map(len, CALLS.values())) * len(SIZES)} calls\n"


def wrong(name: str, written: str, size: int, program: Any) -> str:
    """Return what is wrong with what a call says."""
    names = {"tg": tg, "h": size, "x": tg.ones((3, 1)), "q": tg.ones((1, 2, 4))}
    began, before = time.perf_counter(), peak()
    try:
        result = eval(program, names)  # noqa: S307  # written above
    except (TapegradError, MemoryError):
        held = 0
    except (IndexError, ValueError) as error:  # of an index, and of an option that is no size
        held = 0
        if not str(error).startswith(f"{name}: "):
            return f"{written} of {size}: {error!r}"
    except BaseException as error:  # noqa: BLE001  # it is reported
        return f"{written} of {size}: {error!r}"
    else:
        held = sum(part.nbytes for part in (result if isinstance(result, tuple | list) else [result]))
    if time.perf_counter() - began > LONGEST:
        return f"{written} of {size}: {time.perf_counter() - began:.0f} s"
    if peak() - before > GROWTH + 8 * held:
        return f"{written} of {size}: {(peak() - before) >> 20} MiB for a result of {held >> 20}"
    return ""


def peak() -> int:
    """Return the most memory that this process has held, in bytes."""
    return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) << 10


def main() -> None:
    """Try all calls."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    said = []
    for name, calls in CALLS.items():
        for arguments in calls:
            written = f"tg.{name}({arguments})"
            program = compile(written, name, "eval")
            said += [wrong(name, written, size, program) for size in SIZES]
    if any(said):
        sys.exit("\n".join(filter(None, said)))
    sys.stdout.write(f"{len(said)} calls\n")


if __name__ == "__main__":
    main()
