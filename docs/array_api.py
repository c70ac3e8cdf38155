"""Writes how many functions of the array API standard exist, and what replaces the others, to the page on arrays.

`python -m docs.array_api` compares the names with those of array-api-strict, and writes the section again.
"""

from __future__ import annotations

import re
from inspect import Parameter, signature, unwrap
from pathlib import Path
from types import ModuleType

import array_api_strict

import tapegrad

PAGE = Path(__file__).parent / "guide" / "arrays.md"
PART = re.compile(r"(<!-- array API -->\n\n).*?(\n<!-- end of array API -->)", re.DOTALL)

REASONS = {
    "asarray": "`tg.tensor` copies, because tensors do not change",
    "broadcast_arrays": "`tg.broadcast_to`",
    "broadcast_shapes": "`np.broadcast_shapes` of the shapes",
    "can_cast": "`np.can_cast` of the dtypes; tapegrad converts none silently",
    "clip": "`tg.clamp`",
    "conj": "there are no complex dtypes",
    "cumulative_prod": "`tg.cumprod`",
    "cumulative_sum": "`tg.cumsum`",
    "divide": "`tg.div`",
    "finfo": "`np.finfo(x.dtype)`",
    "iinfo": "`np.iinfo(x.dtype)`",
    "imag": "there are no complex dtypes",
    "isdtype": "`np.isdtype(x.dtype, kind)`",
    "multiply": "`tg.mul`",
    "negative": "`tg.neg`",
    "permute_dims": "`tg.transpose`",
    "real": "there are no complex dtypes",
    "result_type": "`np.result_type` of the dtypes; operands must have equal dtypes",
    "subtract": "`tg.sub`",
    "take_along_axis": "`tg.gather`",
    "unique_all": "`np.unique_all` of an array; `tg.unique` returns the values alone",
    "unique_counts": "`np.unique_counts` of an array",
    "unique_inverse": "`np.unique_inverse` of an array",
    "unique_values": "`tg.unique`",
}


OPTIONS = {
    "append": "join `x` and the other elements with `tg.concat` first",
    "axis": "the last axis; `tg.moveaxis` makes another one the last",
    "copy": "tensors do not change, so a result may share the memory of `x`",
    "device": "arrays are in memory; `tg.jit` moves them to the devices of JAX",
    "dtype": "the result has that of `x`, of Python ints or of floats; `astype` converts it",
    "endpoint": "always True; `tg.linspace(start, stop, num + 1)[:-1]` leaves the end out",
    "k": "`tg.diag(tg.ones((n,)), k=k)`",
    "prepend": "join the other elements and `x` with `tg.concat` first",
    "sorter": "`tg.take(x, order)` first",
    "stable": "always stable",
}
"""What to do without an option of the standard, by its name."""


def functions() -> list[str]:
    """Return the functions of the standard's namespace, without its extensions and without the flags of the package."""
    found = {name: getattr(array_api_strict, name) for name in array_api_strict.__all__}
    return sorted(
        name
        for name, one in found.items()
        if callable(one)
        and not isinstance(one, type | ModuleType)
        and not name.startswith("_")
        and "array_api_strict_flags" not in name
    )


def missing() -> list[str]:
    """Return the functions of the standard whose name tapegrad does not have."""
    return [name for name in functions() if not hasattr(tapegrad, name)]


def lacking() -> dict[str, list[str]]:
    """Return the functions that lack an option of the standard, by the option."""
    found: dict[str, list[str]] = {}
    for name in functions():
        ours = getattr(tapegrad, name, None)
        if ours is not None:
            known = signature(unwrap(ours)).parameters
            for option in signature(getattr(array_api_strict, name)).parameters.values():
                if option.kind is Parameter.KEYWORD_ONLY and option.name not in known:
                    found.setdefault(option.name, []).append(name)
    return dict(sorted(found.items()))


def section() -> str:
    """Return the text between the marks of the page."""
    absent = missing()
    unexplained = [name for name in absent if name not in REASONS]
    if unexplained:
        message = f"no reason in {Path(__file__).name}: {', '.join(unexplained)}"
        raise LookupError(message)
    known = len(functions()) - len(absent)
    rows = [f"| `{name}` | {REASONS[name]} |" for name in absent]
    version = array_api_strict.__array_api_version__
    head = f"Of the {len(functions())} functions of version {version}, {known} exist under the same name."
    options = [
        f"| `{option}` | {', '.join(f'`{name}`' for name in names)} | {OPTIONS[option]} |"
        for option, names in lacking().items()
    ]
    compared = (
        "Operands are `x` and `y` where the standard has `x1` and `x2`. A test compares values with array-api-strict's."
    )
    return "\n".join(
        [
            *[head, "", "| function | instead |", "| --- | --- |", *rows, ""],
            *["The functions that exist lack these options.", compared, ""],
            *["| option | of | instead |", "| --- | --- | --- |", *options, ""],
        ]
    )


def written(page: str) -> str:
    """Return the page with the section of today."""
    return PART.sub(lambda match: f"{match[1]}{section()}{match[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
