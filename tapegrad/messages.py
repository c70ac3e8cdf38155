"""The messages that refuse a call which does not fit its signature: the guard raises them, mypy prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULT: Final = "the result"
ANY_NUMBER: Final = "..."  # how `*Ts` is written, whatever stands for it
UNNAMED: Final = ""  # the call inside an op: `@op` puts the name in front


def callee(qualname: str) -> str:
    """Return what a caller calls a function: `f`, `Linear.forward`, and `Linear` for its `__init__`."""
    return qualname.rpartition("<locals>.")[2].removesuffix(".__init__")


def layer(name: str, sizes: Sequence[object]) -> str:
    """Write a layer by its class and what its type says: `Linear(64, 10)`, `ReLU`."""
    return f"{name}({', '.join(map(str, sizes))})" if sizes else name


def told(sizes: Sequence[object], defaults: Sequence[object]) -> Sequence[object]:
    """Return the sizes of a layer up to the last that is not what it would be if it were left out."""
    count = len(sizes)
    while count and str(sizes[count - 1]) == str(defaults[count - 1]):
        count -= 1
    return sizes[:count]


def of_layer(place: str, layer: str, message: str) -> str:
    """Say which layer refuses and where it stands, in the place of the call that a message starts with.

    Args:
        place: The path to the layer, as its caller writes it; empty where that is none.
        layer: What `layer` writes.
        message: `Linear.forward: x is ...`

    Returns:
        `Net.fall Linear(64, 10): x is ...`
    """
    return f"{place} {layer}: {message.partition(': ')[2]}".lstrip()


def with_article(noun: str) -> str:
    """Return a noun with its `a` or `an`."""
    spoken_with_vowel = noun.startswith(("a", "e", "i", "o", "A", "E", "I", "O", "nd"))  # ndarray
    return f"{'an' if spoken_with_vowel else 'a'} {noun}"


def shown(shape: Sequence[object]) -> str:
    """Write a shape as Python writes a tuple, with `...` for any number of sizes."""
    sizes = [str(size) for size in shape]
    return f"({sizes[0]},)" if len(sizes) == 1 and sizes != [ANY_NUMBER] else f"({', '.join(sizes)})"


def wrong_rank(call: str, place: str, shape: Sequence[object], expected: Sequence[object]) -> str:
    """Say that a shape has too many sizes, or too few.

    Args:
        call: The function, as `callee` names it.
        place: The parameter, or `RESULT`.
        shape: What is there.
        expected: What the annotation says, its names unbound.

    Returns:
        `f: x is (3, 4) but (3, 5, N) is expected: rank 2, not 3`
    """
    fixed = [size for size in expected if str(size) != ANY_NUMBER]
    least = "" if len(fixed) == len(expected) else "at least "
    return f"{_misfit(call, place, shape, expected)}: rank {len(shape)}, not {least}{len(fixed)}"


def wrong_size(
    call: str, place: str, shape: Sequence[object], expected: Sequence[object], axis: int, value: object = None
) -> str:
    """Say which size of a shape is another than its annotation asks for.

    Args:
        call: The function, as `callee` names it.
        place: The parameter, or `RESULT`.
        shape: What is there.
        expected: What the annotation says, its names unbound.
        axis: Where they differ; counted from the back behind a `...`.
        value: What a computed size such as `N + 1` comes to.

    Returns:
        `f: x is (3, 4) but (3, 5) is expected: axis 1 is 4, not 5`, or
        `f: x is (3, 5) but (N, N + 1) is expected: axis 1 is 5, not N + 1 = 4`.
    """
    computed = "" if value is None or str(value) == str(expected[axis]) else f" = {value}"
    return f"{_misfit(call, place, shape, expected)}: axis {axis} is {shape[axis]}, not {expected[axis]}{computed}"


def other_sizes(call: str, place: str, shape: Sequence[object], expected: Sequence[object]) -> str:
    """Say that a shape differs from the one that is expected, in the words of `wrong_rank` or `wrong_size`."""
    if len(shape) != len(expected):
        return wrong_rank(call, place, shape, expected)
    axis = next(axis for axis, (n, m) in enumerate(zip(shape, expected, strict=True)) if n != m)
    return wrong_size(call, place, shape, expected, axis)


def wrong_number(call: str, place: str, number: object, expected: object, value: object = None) -> str:
    """Say that an int is another than the size it is annotated with: `f: n is 5 but N + 1 = 4 is expected`."""
    computed = "" if value is None or str(value) == str(expected) else f" = {value}"
    return f"{call}: {place} is {number} but {expected}{computed} is expected"


def conflict(call: str, name: str, value: object, place: str, other: object, other_place: str) -> str:
    """Say that one type variable would stand for two things: `f: N is 3 in x but 4 in y`.

    A tuple or a list is written as a shape. Within one place it is `f: N is both 3 and 4 in x`.
    """
    first, second = _written(value), _written(other)
    if place == other_place:
        return f"{call}: {name} is both {first} and {second} in {place}"
    return f"{call}: {name} is {first} in {place} but {second} in {other_place}"


def too_small(call: str, name: str, value: object, place: str, least: int = 1) -> str:
    """Say that a named size is below what it may be: `f: N is 0 in x but a named size is at least 1`."""
    named = "a named size" if least else "a size of this name"
    return f"{call}: {name} is {value} in {place} but {named} is at least {least}"


def below_zero(call: str, shape: Sequence[object], axis: int) -> str:
    """Say that a result is computed to a size that none has: `f: the result would be (2, -1): axis 1 is below 0`."""
    return f"{call}: {RESULT} would be {shown(shape)}: axis {axis} is below 0"


def other_count(shape: Sequence[object], count: int) -> str:
    """Say that the rows of a tensor are unpacked into too many names, or too few."""
    return f"iter: x {shown(shape)} has {shape[0]} rows but is unpacked into {count}"


def tape_missing(call: str, place: str) -> str:
    """Say that a tape was asked for: `f: x has no tape but needs one`."""
    return f"{call}: {place} has no tape but needs one"


def tape_unwanted(call: str, place: str) -> str:
    """Say that no tape was asked for: `f: x has a tape but must have none`."""
    return _said(call, f"{place} has a tape but must have none")


def wrong_dtype(call: str, place: str, dtype: str, expected: str) -> str:
    """Say that a dtype is another: `f: x is float64 but float32 is expected`."""
    return _said(call, f"{place} is {dtype} but {expected} is expected")


def _said(call: str, message: str) -> str:
    return message if call == UNNAMED else f"{call}: {message}"


def _misfit(call: str, place: str, shape: Sequence[object], expected: Sequence[object]) -> str:
    return f"{call}: {place} is {shown(shape)} but {shown(expected)} is expected"


def _written(value: object) -> str:
    return shown(value) if isinstance(value, tuple | list) else str(value)


def no_module(place: str, given: str) -> str:
    """Say that something cannot be a layer: `Sequential: layer 1 is the class ReLU, not a module`."""
    return f"{place} is {given}, not a module"


def no_dtype(call: str, place: str, given: str) -> str:
    """Say that something is no dtype: `f: dtype is a str but a dtype of NumPy, or its scalar type, is expected`."""
    return _said(call, f"{place} is {given} but a dtype of NumPy, or its scalar type, is expected")


def no_real_dtype(call: str, place: str, dtype: str) -> str:
    """Say that no op knows a dtype: `zeros: dtype is complex64 but floating, integer or bool is expected`."""
    return wrong_dtype(call, place, dtype, "floating, integer or bool")


def mixed_dtypes(call: str, dtype: str, place: str, other: str, other_place: str) -> str:
    """Say that two dtypes which must be one are two: `f: x is float32 but y is int64`.

    A number beside a tensor goes by its class: `f: y is a float but x is int64`.
    """
    return _said(call, f"{place} is {dtype} but {other_place} is {other}")


def no_tensor(call: str, x: str, y: str) -> str:
    """Say that of two operands none is a tensor: `add: neither a float nor an int is a tensor`."""
    return _said(call, f"neither {x} nor {y} is a tensor")


def no_operand(call: str, given: str) -> str:
    """Say that an operand can be none: `equal: a tuple is neither a tensor nor a number nor a NumPy array`."""
    return _said(call, f"{given} is neither a tensor nor a number nor a NumPy array")


def other_shape(call: str, place: str, shape: object, expected: object) -> str:
    """Say that a shape known by name only is not the one that is expected: `f: x is S but (3, 5) is expected`."""
    return f"{call}: {place} is {shape} but {expected} is expected"


def not_differentiable() -> str:
    """Say that nothing was recorded."""
    return "backward: the tensor has no tape; trace an input first"


def not_scalar(shape: Sequence[object]) -> str:
    """Say that a gradient starts at one number: `backward: x (2, 3) is not a scalar; reduce it or pass seed=`."""
    return f"backward: x {shown(shape)} is not a scalar; reduce it or pass seed="


def not_one_element(call: str, shape: Sequence[object], size: object) -> str:
    """Say that a tensor is no number: `item: a tensor of shape (2, 5) has 10 elements, not one`."""
    return f"{call}: a tensor of shape {shown(shape)} has {size} elements, not one"


def without_gradient(dtype: str) -> str:
    """Say that a gradient is asked for where none can be: `a tensor of dtype int64 has no gradient`."""
    return f"a tensor of dtype {dtype} has no gradient"


def immutable(index: str) -> str:
    """Say that `x[0] = ...` is no assignment, by the index that `written_index` writes."""
    return f"a tensor is immutable: x[{index}] = ... has no effect; at_set gives another tensor"


def written_index(index: object) -> str:
    """Write an index as it stands between brackets."""
    if isinstance(index, tuple) and index:
        return ", ".join(map(written_index, index)) + ("," if len(index) == 1 else "")
    if isinstance(index, slice):
        parts = ["" if part is None else str(part) for part in (index.start, index.stop, index.step)]
        return ":".join(parts[: 2 if index.step is None else 3])
    return "..." if index is ... else repr(index)


def traced_twice() -> str:
    """Say that a tape is there already."""
    return "trace: the tensor has a tape already"


def consumed(call: str, place: str, where: str, by: str = "backward") -> str:
    """Say that a tape is used after its end: `mul: x was consumed by backward on line 7`."""
    return f"{call}: {place} was consumed by {by} {where}"


def untraceable(call: str) -> str:
    """Say that an op asks for what a traced step has not: `nonzero: the numbers of a tensor are asked for, ...`."""
    return f"{call}: the numbers of a tensor are asked for, which a step under jit has only when it runs"


def traced_before() -> str:
    """Say that a tensor has left the step that it was traced in."""
    return "jit: a tensor is used that a step left behind when it was traced; let the step return it"


def captured(call: str, place: str) -> str:
    """Say that a step changes what it was not given: `Param.assign: value would change ...`."""
    return f"{call}: {place} would change what is no argument of the step under jit"


def not_given(call: str, what: str, mend: str) -> str:
    """Say that a step reads what it was not given: `predict: the parameter model.weight is read but ...`."""
    return f"{call}: {what} is read but is no argument, so its values would stay as they are now; {mend}"


def not_divided(divisor: object, number: object) -> str:
    """Say that one size leaves a rest of another: `assert_divides: 3 does not divide 8`."""
    return f"assert_divides: {divisor} does not divide {number}"


def not_same(n: object, m: object) -> str:
    """Say that two sizes differ: `assert_same: 3 is not 4`."""
    return f"assert_same: {n} is not {m}"


def revealed(shape: str, dtype: str, *, owns_tape: bool | None) -> str:
    """Write what is known of a tensor: `(N, 2*M) float32, owned tape`."""
    tape = {True: "owned tape", False: "no tape", None: "any tape"}[owns_tape]
    return f"{shape} {dtype}, {tape}"
