"""Write tapegrad/tensors/methods.py, the methods of tensors that call ops: `python -m docs.tensor_methods`.

An op becomes a method if its first parameter is a tensor `x`, and if its other tensors are a second operand, indices, a
mask or a value. Layers, losses and operators are not methods.
"""

from __future__ import annotations

import re
import subprocess
import sys
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Final

import tapegrad.ops  # registers the ops
from tapegrad.autograd.registry import OPS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tapegrad.autograd.registry import Op

FILE: Final = Path(tapegrad.ops.__file__).parent.parent / "tensors" / "methods.py"
OPERANDS: Final = frozenset({"x", "y", "indices", "mask", "updates", "value"})
NOT_METHODS: Final = frozenset({"getitem", "tensordot"})  # an index; a function of two tensors alone
ONE_BY_ONE: Final = {
    "broadcast_to": "shape",
    "permute": "axes",
    "reshape": "shape",
    "tile": "reps",
    "transpose": "axes",
}
"""Methods that take the numbers of a tuple one by one as well, as NumPy's and PyTorch's do."""

END_OF_HEAD: Final = "    __slots__ = ()\n"  # what is above the methods is written by hand
_DTYPES: Final = re.compile(r"\b(?:D|Float|Real|Summed|Averaged|OtherReal|Whole|Bits|Truth)\b")
_RECEIVER: Final = re.compile(r"Tensor\[\w+, (\w+), ")  # its tape


def methods() -> dict[str, Op]:
    """Return the ops that are methods, by name."""
    return {op.name: op for _, op in sorted(OPS.items()) if _is_method(op)}


def _is_method(op: Op) -> bool:
    parameters = [*signature(op.function).parameters]
    return (
        op.function.__module__.startswith("tapegrad.ops.")
        and parameters[:1] == ["x"]
        and "x" in op.operands
        and op.operands <= OPERANDS
        and not op.name.endswith("_like")
        and op.name not in NOT_METHODS
    )


def source() -> str:
    """Return the text of the file."""
    head, mark, _ = FILE.read_text("utf-8").partition(END_OF_HEAD)
    text = head + mark + "".join(f"\n{method(op)}" for op in methods().values())
    command = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", str(FILE)]
    run = subprocess.run(command, input=text, capture_output=True, text=True, check=True)  # noqa: S603  # ruff
    return run.stdout


def method(op: Op) -> str:
    """Return the definition of a method."""
    receiver, *options = signature(op.function).parameters.values()
    tape = _RECEIVER.findall(str(receiver.annotation))[0]
    result = _of_receiver(str(signature(op.function).return_annotation), tape)
    docstring = f'"""{summary(op)}"""'
    if (name := ONE_BY_ONE.get(op.name)) is not None:
        optional = options[0].default is None
        given = f"_as_tuple({name})" + (f" if {name} else None" if optional else "")
        takes = "SizesOrList" if "SizesOrList" in str(options[0].annotation) else "Sizes"
        kinds = f"Int | {takes} | None" if optional else f"Int | {takes}"
        body = f'with trim_on_exit:\n            return IMPLEMENTATIONS["{op.name}"](self, {given})'
        return f"    def {op.name}(self, *{name}: {kinds}) -> {result}:\n        {docstring}\n        {body}\n"
    declared = ", ".join(["self", *_declared(options)])
    given = ", ".join(["self", *(_passed(option) for option in options)])
    body = f'return IMPLEMENTATIONS["{op.name}"]({given})'
    return f"    def {op.name}({declared}) -> {result}:\n        {docstring}\n        {body}\n"


def summary(op: Op) -> str:
    """Return the first line of a docstring that names the op."""
    first = (op.function.__doc__ or "").splitlines()[0].partition(";")[0].removesuffix(".")
    line = f"{first}, see `tapegrad.{op.name}`."
    return line if len(line) <= 106 else f"See `tapegrad.{op.name}`."


def _declared(options: list[Parameter]) -> Iterator[str]:
    is_keyword = False
    for option in options:
        if option.kind is Parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            yield "*"
        annotation = _DTYPES.sub("Any", str(option.annotation))
        text = f"{option.name}: {annotation}"
        yield text if option.default is Parameter.empty else f"{text} = {option.default!r}"


def _passed(option: Parameter) -> str:
    return f"{option.name}={option.name}" if option.kind is Parameter.KEYWORD_ONLY else option.name


def _of_receiver(annotation: str, tape: str) -> str:
    """Return the annotation of a result, with the type variables of the class for those of the receiver."""
    with_dtype = re.sub(r"\bS\b", "S_co", _DTYPES.sub("D_co", annotation))
    return with_dtype if tape == "Any" else re.sub(rf"\b{tape}\b", "T_co", with_dtype)


if __name__ == "__main__":
    FILE.write_text(source(), "utf-8")
