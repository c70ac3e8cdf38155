"""A tensor with a tape for a parameter whose annotation leaves the tape out: what to write instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mypy.nodes import Decorator, FuncDef
from mypy.types import AnyType, CallableType, Instance, Type, TypeOfAny, UnboundType, get_proper_type

from tapegrad.mypy.conversion import NONE_TAPE, TENSOR, is_tape
from tapegrad.mypy.mypy_api import checked_file, note
from tapegrad.mypy.sources import module_of

if TYPE_CHECKING:
    from mypy.nodes import Context

    from tapegrad.mypy.mypy_api import Checker


def note_left_out_tape(api: Checker, declared: CallableType, message: str, context: Context) -> None:
    """Add a note to the message `f: x has a tape but must have none` if `x` is annotated as `Tensor[Shape[N]]`."""
    function = declared.definition
    if isinstance(function, Decorator):
        function = function.func
    if not isinstance(function, FuncDef) or module_of(function) != checked_file(api).fullname:
        return  # the definition may come from mypy's cache, without its annotations
    written = function.unanalyzed_type
    annotations = written.arg_types if isinstance(written, CallableType) else [None] * len(function.arg_names)
    for name, annotation in zip(function.arg_names, annotations, strict=True):
        if not isinstance(annotation, UnboundType) or f": {name} has " not in message:
            continue
        if annotation.name.rpartition(".")[2] == "Tensor" and len(annotation.args) == 1:
            text = str(annotation).replace("?", "")
            wider = f"{text[:-1]}, T]"
            note(api, f"{text} has no tape; {wider} takes any tape, where T is a TypeVar bound to Tape", context)


def without_left_out_tapes(t: Type) -> Type:
    """Return the result type of a function that was given a tape it does not declare, with a tape of Any for none."""
    p = get_proper_type(t)
    if isinstance(p, Instance) and p.type.fullname == TENSOR and is_tape(p.args[1], NONE_TAPE):
        return p.copy_modified(args=[p.args[0], AnyType(TypeOfAny.special_form), p.args[2]])
    return t
