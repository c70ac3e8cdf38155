"""Writes how much of the array API standard `tapegrad.array_api` has, and what replaces the rest, to a page.

`python -m docs.array_api` compares the namespace with that of array-api-strict, and writes the section again.
"""

from __future__ import annotations

import re
from inspect import Parameter, signature, unwrap
from pathlib import Path
from types import ModuleType

import array_api_strict

from tapegrad import Tensor, array_api

PAGE = Path(__file__).parent / "guide" / "arrays.md"
PART = re.compile(r"(<!-- array API -->\n\n).*?(\n<!-- end of array API -->)", re.DOTALL)

REASONS = {
    "complex128": "there are no complex dtypes",
    "complex64": "there are no complex dtypes",
    "conj": "there are no complex dtypes",
    "fft": "see [Fourier transforms](differences.md#fourier-transforms)",
    "imag": "there are no complex dtypes",
    "linalg": "`tg.cholesky`, `tg.solve`, `tg.svd` and others",
    "real": "there are no complex dtypes",
}
"""What to do without a name of the standard."""

OPTIONS = {
    "append": "join `x` and the other elements with `concat` first",
    "axis": "the last axis; `moveaxis` makes another one the last",
    "copy": "always a copy",
    "device": "the CPU",
    "dtype": "that of `x`; `astype` converts it before or after",
    "endpoint": "always True; `linspace(start, stop, num + 1)[:-1]` leaves the end out",
    "include_initial": "join zeros or ones and the result with `concat`",
    "k": "`tg.diag(tg.ones(n), k)`",
    "prepend": "join the other elements and `x` with `concat` first",
    "sorter": "`take(x, order)` first",
}
"""What to do without an option of the standard, by its name."""

METHODS = {
    "__buffer__": "`memoryview(np.asarray(x))`",
    "__complex__": "there are no complex dtypes",
    "__index__": "`x.item()`",
    "device": "the CPU: `x.__dlpack_device__()`",
    "to_device": "there is one device; `tg.jit` moves tensors to the devices of JAX",
}
"""What to do without a method or a property of the standard's arrays."""


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


def names() -> list[str]:
    """Return the names of the standard's namespace, without the flags of the package."""
    return sorted(name for name in array_api_strict.__all__ if "strict" not in name.lower() and name != "__version__")


def missing() -> list[str]:
    """Return the names of the standard that the namespace does not have."""
    return [name for name in names() if not hasattr(array_api, name)]


def methods() -> list[str]:
    """Return the methods and properties of the standard's arrays that tensors do not have."""
    theirs = [
        name
        for name, one in vars(array_api_strict.asarray([0.0]).__class__).items()
        if (callable(one) or isinstance(one, property)) and (name.startswith("__") or not name.startswith("_"))
    ]
    assigning = [name for name in theirs if name.startswith("__i") and f"__{name[3:]}" in theirs]
    return sorted(name for name in theirs if name not in assigning and not hasattr(Tensor, name))


def lacking() -> dict[str, list[str]]:
    """Return the functions that lack an option of the standard, by the option."""
    found: dict[str, list[str]] = {}
    for name in functions():
        ours = getattr(array_api, name, None)
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
    known = [name for name in functions() if name not in absent]
    version = array_api_strict.__array_api_version__
    return "\n".join(
        [
            f"Of the {len(functions())} functions of version {version}, {len(known)} exist; these names do not:",
            "",
            *["| name | instead |", "| --- | --- |"],
            *(f"| `{name}` | {REASONS[name]} |" for name in absent),
            "",
            "The functions that exist lack these options.",
            "",
            *["| option | of | instead |", "| --- | --- | --- |"],
            *(
                f"| `{option}` | {', '.join(f'`{name}`' for name in found)} | {OPTIONS[option]} |"
                for option, found in lacking().items()
            ),
            "",
            "A tensor lacks these methods and properties of the standard's arrays.",
            "",
            *["| method | instead |", "| --- | --- |"],
            *(f"| `{name}` | {METHODS[name]} |" for name in methods()),
            "",
        ]
    )


def written(page: str) -> str:
    """Return the page with the section of today."""
    return PART.sub(lambda match: f"{match[1]}{section()}{match[2]}", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
