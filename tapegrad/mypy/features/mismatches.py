"""Messages of mypy about a wrong return, assignment or argument, in the words of the guard.

mypy writes both types in full, which for two tensors is up to a thousand characters without an axis. Its text is all
there is to read: anything that does not parse keeps mypy's words.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from tapegrad.errors import messages
from tapegrad.errors.kinds import NUMBER, described, kinds_of, wrong_kind
from tapegrad.errors.ranges import RANGES
from tapegrad.mypy.conversion import ARITHMETIC
from tapegrad.mypy.features.source_lines import place_of
from tapegrad.mypy.mypy_api import NO_ERROR, method_of_operator
from tapegrad.mypy.rules.library import op_named, op_of_method
from tapegrad.sizes import UNKNOWN, Size, is_unknown, named, opaque_name, size_of_name, surely_differ

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tapegrad.autograd.registry import Op
    from tapegrad.mypy.features.source_lines import Place
    from tapegrad.mypy.mypy_api import ParametersOf, ReportedError

LONGEST: Final = 300
# The layers whose constructors the guard checks: it imports NumPy, which the plugin does not need.
GUARDED: Final = frozenset(
    {
        *("AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "BatchNorm1d", "BatchNorm2d", "Conv1d", "Conv2d", "Conv3d"),
        *("ConvTranspose1d", "ConvTranspose2d", "Embedding", "FeedForward", "Flatten", "GELU", "GRU", "GroupNorm"),
        *("GroupedQueryAttention", "InstanceNorm", "LSTM", "LayerNorm", "Linear", "MultiHeadAttention", "RMSNorm"),
        *("RNN", "SSM", "StackedGRU", "StackedLSTM", "StackedRNN", "Transformer", "TransformerDecoderBlock"),
        *("TransformerEncoderBlock", "Upsample"),
    }
)
_CODES: Final = frozenset(
    {"return-value", "assignment", "arg-type", "list-item", "dict-item", "misc", "operator", "index", "type-var"}
)

_RETURN: Final = re.compile(r"Incompatible return value type \(got (?P<got>.+), expected (?P<expected>.+)\)")
_YIELD: Final = re.compile(r'Incompatible types in "yield" \(actual type (?P<got>.+), expected type (?P<expected>.+)\)')
_ASSIGNMENT: Final = re.compile(
    r"Incompatible types in assignment \(expression has type (?P<got>.+), "
    r"(?:variable|target) has type (?P<expected>.+)\)"
)
_DEFAULT: Final = re.compile(
    r'Incompatible default for parameter "(?P<name>\w+)" '
    r"\(default has type (?P<got>.+), parameter has type (?P<expected>.+)\)"
)
_ITEM: Final = re.compile(r"List item (?P<index>\d+) has incompatible type (?P<got>.+); expected (?P<expected>.+)")
_ENTRY: Final = re.compile(
    r'Dict entry (?P<index>\d+) has incompatible type "[^:]+": (?P<got>.+); expected "[^:]+": (?P<expected>.+)'
)
_ARGUMENT: Final = re.compile(
    r'Argument (?P<place>\d+|"\w+") to "(?P<function>\w+)"(?: of "(?P<owner>\w+)")? '
    r"has incompatible type (?P<got>.+); expected (?P<expected>.+)"
)
_OPERATION: Final = re.compile(
    r'Unsupported operand types for (?P<operator>\S+) \((?P<left>".+") and (?P<right>".+")\)'
)
_FLAG: Final = re.compile(r'Value of type variable "(?P<flag>\w+)" of "(?P<layer>\w+)" cannot be "(?P<got>.+)"')
_FLAGS: Final = {"CeilMode": "ceil_mode", "HasBias": "bias"}  # options of layers, by their type variables
_INDEX: Final = re.compile(r'Invalid index type "(?P<got>[^"]+)" for "(?P<owner>.+)"; expected type "(?P<expected>.+)"')


class UnreadableError(Exception):
    """A text is not a type that this module reads."""


class Written(NamedTuple):
    """A type as mypy writes it: a class with arguments; a union is written as the class `|`."""

    name: str
    arguments: tuple[Written, ...] = ()


class Parts(NamedTuple):
    """The shape of a tensor (None if unknown, a name for a type variable), its tape and its dtype."""

    shape: list[str] | str | None
    tape: Written
    dtype: str


def reworded(error: ReportedError, parameters: ParametersOf) -> str | None:
    """Return a message of mypy in the words of the guard; None to keep mypy's.

    Args:
        error: What mypy reports.
        parameters: Returns the parameters of a layer's method, by the names of both; empty for other classes.
    """
    if error.code not in _CODES:
        return None
    place = place_of(error.read_source(), error.line, error.owner, error.function)
    try:
        found = _message(error.message, place, parameters, may_redefine=error.may_redefine)
    except UnreadableError:
        return None
    return found if found is not None and len(found) <= LONGEST else None


def _message(message: str, place: Place, parameters: ParametersOf, *, may_redefine: bool) -> str | None:
    call = messages.callee(place.function)
    if match := _RETURN.fullmatch(message) or _YIELD.fullmatch(message):
        return _difference(call, messages.RESULT, match)
    if match := _ASSIGNMENT.fullmatch(message):
        return _assigned(call, place, match, may_redefine=may_redefine)
    if match := _DEFAULT.fullmatch(message):
        return _difference(call, match["name"], match)
    if match := _ITEM.fullmatch(message):
        return _difference(call, f"item {match['index']} of the list", match)
    if match := _ENTRY.fullmatch(message):
        return _difference(call, f"entry {match['index']} of the dict", match)
    if match := _ARGUMENT.fullmatch(message):
        return _argument(place, match, parameters)
    if match := _FLAG.fullmatch(message):
        return _flag_of_layer(match, parameters)
    if match := _INDEX.fullmatch(message):
        return _index(_read(match["got"])) if _read(match["owner"]).name in _TENSORS else None
    match = _OPERATION.fullmatch(message)
    return None if match is None else _operation(match)


def _index(given: Written) -> str | None:
    """Return that an index, or one of several in a tuple, is of a kind that is none; None if it may be one."""
    items = given.arguments if given.name == "tuple" else (given,)
    wrong = next((one.name for one in items if one.name in _NO_INDICES), None)
    return None if wrong is None else messages.no_index("getitem", messages.with_article(wrong))


def _operation(match: re.Match[str]) -> str | None:
    """Return that the right operand of a tensor is neither a tensor nor a number; None if it may be."""
    found = op_of_method(method_of_operator(match["operator"]))
    left, right = (_read(match[side].strip('"')) for side in ("left", "right"))
    return _no_operand(found[0].name, right) if found is not None and left.name in _TENSORS else None


def _no_operand(op: str, given: Written) -> str | None:
    """Return that an operand is neither a tensor nor a number; None if it may be."""
    if given.name not in _NO_OPERANDS:
        return None
    return messages.no_operand(op, messages.with_article("NoneType" if given.name == "None" else given.name))


def _assigned(call: str, place: Place, match: re.Match[str], *, may_redefine: bool) -> str | None:
    text = _difference(call, place.target or "the value", match)
    if text is not None:
        text = text.replace(f"tg.tensor({place.target})", "tg.tensor(...)")
    if text in (None, NO_ERROR) or may_redefine or not place.is_plain_name:
        return text
    hint = f"{text}; allow_redefinition = true in mypy's settings lets {place.target} be bound to it"
    return hint if len(hint) <= LONGEST else text


def _argument(place: Place, match: re.Match[str], parameters: ParametersOf) -> str | None:
    function, owner = match["function"], match["owner"]
    op = op_named(function) if owner in (None, "Tensor") else None
    names = _parameters_of(op) if op is not None else place.parameters(owner, function)
    of_layer = parameters(owner, function) if owner is not None and not names else []
    written = place.arguments(function, match["place"], is_method=owner is not None) if not names or op else []
    if written and owner is None and op is None:
        of_layer = parameters(function, "__init__")
    if function == "Tensor" and owner is None and match["expected"].startswith('"Value['):
        given = _read(match["got"].strip('"')).name
        return (
            messages.no_array_given(function, messages.with_article("NoneType" if given == "None" else given))
            if given in _NO_TENSORS
            else None
        )
    name = match["place"].strip('"')
    if name.isdigit():
        position, known = int(name) - 1 + (owner == "Tensor"), names or of_layer
        name = known[position] if position < len(known) else f"argument {name}"
    call = messages.callee(".".join(filter(None, [owner, function])) if owner != "Tensor" else function)
    call = call.removesuffix(".forward") if of_layer else call
    if op is not None and match["expected"] == '"bool"':
        return _no_flag(op.name, name, _read(match["got"].strip('"')))
    if op is not None and (kinds := kinds_of(str(op.function.__annotations__.get(name)))):
        return _of_kind(op.name, name, written, match["got"].strip('"'), kinds) if written else None
    expected = match["expected"].strip('"')
    if op is None and owner is None and of_layer and expected in _PLAIN:
        if function in GUARDED:
            return _of_plain(function, name, _read(match["got"].strip('"')), expected)
        if expected == "float" and name in RANGES.get(function, ()):
            return _of_kind(function, name, written, match["got"].strip('"'), (NUMBER,))
    text = _difference(call, name, match)
    if text is None and op is not None:
        got, expected = (_read(match[side].strip('"')) for side in ("got", "expected"))
        is_operand = expected.name == "|" and {"Tensor", "float"} <= {one.name for one in expected.arguments}
        return _no_operand(op.name, got) if is_operand else None
    if text is None or op is None:
        return text
    return text.replace(" but a tensor is expected", ", not a tensor")  # as ops say it


def _parameters_of(op: Op) -> list[str]:
    """Return the parameters of an op, also those that its rule does not have."""
    return [name for name in op.function.__annotations__ if name != "return"]


def _no_flag(op: str, name: str, given: Written) -> str | None:
    """Return that an option of an op is no bool; None for a type that may be one."""
    if given.name not in _NO_FLAGS:
        return None
    kind = messages.with_article("NoneType" if given.name == "None" else given.name)
    return f"{op}: {name} is {kind} but a bool is expected"


def _flag_of_layer(match: re.Match[str], parameters: ParametersOf) -> str | None:
    """Return that an option of a layer is no bool; None for another class, or for a type that may be one."""
    layer, name, given = match["layer"], _FLAGS.get(match["flag"]), _read(match["got"])
    if name is None or name not in parameters(layer, "__init__"):
        return None
    return _of_plain(layer, name, given, "bool") if layer in GUARDED else _no_flag(layer, name, given)


def _of_kind(op: str, name: str, written: list[ast.expr], got: str, kinds: tuple[str, ...]) -> str | None:
    """Return that an option of an op is of another kind; None for a type that may be one of them.

    Args:
        op: The name of the op.
        name: The option.
        written: What is written there, in each of the calls on the line.
        got: Its type.
        kinds: What it may be.
    """
    values = [_literal(one) for one in written]
    if len(values) == 1 and values[0] is not None:
        return f"{op}: {wrong_kind(name, values[0], kinds)}"
    kind = _read(got).name
    if kind not in _NO_KINDS:
        return None
    return f"{op}: {wrong_kind(name, 'None' if kind == 'None' else messages.with_article(kind), kinds)}"


def _of_plain(layer: str, name: str, given: Written, expected: str) -> str | None:
    """Return that an argument of a layer is no int, float or bool, in the words of the guard; None if it may be one."""
    kinds = {"None": "None", "Tensor": "a tensor", "tuple": f"a tuple of {len(given.arguments)}"}
    if given.name not in _NO_PLAIN or any(one.name == "..." for one in given.arguments):
        return None
    kind = kinds.get(given.name) or messages.with_article(given.name)
    return f"{layer}: {name} is {kind} but {messages.with_article(expected)} is expected"


def _literal(written: ast.expr) -> str | None:
    """Return a number, a text, or a tuple or a list of them as it is written; None for any other expression."""
    try:
        return described(ast.literal_eval(written))
    except ValueError:
        return None


def _difference(call: str, place: str, match: re.Match[str]) -> str | None:
    got, expected = (_read(match[side].strip('"')) for side in ("got", "expected"))
    text = _compared(call, place, got, expected)
    return None if text is None else text.removeprefix(": ")


def _compared(call: str, place: str, got: Written, expected: Written) -> str | None:
    """Return what differs between two types; None if nothing that this module knows."""
    if got != expected and _may_be_same(got, expected):
        return NO_ERROR  # lists are invariant, so mypy rejects one of tensors of other sizes that may be the same
    if got.name == "|":
        return _of_union(call, place, got, expected)
    if expected.name == "|":
        others = ("None", "tuple") if got.name in ("ndarray", "list") else ("None",)
        fitting = [one for one in expected.arguments if one.name not in others]
        return _compared(call, place, got, fitting[0]) if len(fitting) == 1 else None
    if expected.name in _TENSORS:
        return _of_tensor(call, place, got, expected)
    if got.name == expected.name == "tuple":
        return _of_tuple(call, place, got.arguments, expected.arguments)
    if {got.name, expected.name} & _ARITHMETIC:
        n, m = _size(got), _size(expected)
        return None if str(n) == str(m) else messages.wrong_number(call, place, n, m)
    if got.name == expected.name and got.name not in _BUILTINS and len(got.arguments) == len(expected.arguments):
        return _of_sizes(call, place, got, expected)
    return None


def _may_be_same(got: Written, expected: Written) -> bool:
    """Return whether two types differ at most by opaque sizes that may be equal."""
    if _is_opaque(got) or _is_opaque(expected):
        n, m = _size(got), _size(expected)
        return is_unknown(n) or is_unknown(m) or not surely_differ(n, m)
    if got.name == "|" and expected.name != "|":
        return all(_may_be_same(one, expected) for one in got.arguments)
    several = zip(got.arguments, expected.arguments, strict=False)
    is_alike = got.name == expected.name and len(got.arguments) == len(expected.arguments)
    return is_alike and all(_may_be_same(one, other) for one, other in several)


def _is_opaque(written: Written) -> bool:
    return written.name == "Opaque" or (written.name in _ARITHMETIC and any(map(_is_opaque, written.arguments)))


def _of_union(call: str, place: str, got: Written, expected: Written) -> str | None:
    text = _first(_compared(call, place, one, expected) for one in got.arguments)
    if text is None:
        return None
    return text.replace(f"{place} is ", f"{place} may be ", 1).replace(f"{place} has ", f"{place} may have ", 1)


def _first(texts: Iterable[str | None]) -> str | None:
    """Return the first difference of several; that there may be none only if no other is known."""
    known = [text for text in texts if text is not None]
    return next((text for text in known if text != NO_ERROR), NO_ERROR if known else None)


def _of_tuple(call: str, place: str, got: Sequence[Written], expected: Sequence[Written]) -> str | None:
    if any(one.name.startswith(("*", "...")) for one in (*got, *expected)):
        return None
    if len(got) != len(expected):
        return f"{call}: {place} is a tuple of {len(got)} but a tuple of {len(expected)} is expected"
    each = [_compared(call, f"{place}[{index}]", n, m) for index, (n, m) in enumerate(zip(got, expected, strict=True))]
    return _first(each)


def _of_tensor(call: str, place: str, got: Written, expected: Written) -> str | None:
    if got.name in _NO_TENSORS:
        kind = "None" if got.name == "None" else messages.with_article(got.name)
        return messages.no_tensor_given(call, place, kind)
    if got.name not in _TENSORS:
        return None
    if expected.name == "Param" and got.name == "Tensor":
        return f"{call}: {place} is a tensor but a Param is expected"
    x, y = _parts(got), _parts(expected)
    text = _of_shape(call, place, x.shape, y.shape) or _of_tape(call, place, x.tape, y.tape)
    if text is None and x.dtype == messages.SEVERAL_DTYPES:
        return NO_ERROR  # it may be the one that is expected
    if text is None and x.dtype != y.dtype and "?" not in (x.dtype, y.dtype):
        return messages.wrong_dtype(call, place, x.dtype, y.dtype)
    return text


def _of_shape(call: str, place: str, got: list[str] | str | None, expected: list[str] | str | None) -> str | None:
    if got is None or expected is None or got == expected:
        return None
    if isinstance(got, str) or isinstance(expected, str):
        texts = (one if isinstance(one, str) else messages.shown(one) for one in (got, expected))
        return messages.other_shape(call, place, *texts)
    many = messages.ANY_NUMBER
    if many not in got and many not in expected and len(got) != len(expected):
        return messages.wrong_rank(call, place, got, expected)
    if many in expected and many not in got and len(got) < len(expected) - 1:
        return messages.wrong_rank(call, place, got, expected)
    for axis in _axes(got, expected):
        if got[axis] != expected[axis] and "?" not in got[axis] and "?" not in expected[axis]:
            return messages.wrong_size(call, place, got, expected, axis)
    return None


def _axes(got: list[str], expected: list[str]) -> list[int]:
    """Return the axes of two shapes that can be compared, counted from the back after any number of sizes."""
    many = messages.ANY_NUMBER
    if many not in got and many not in expected:
        return list(range(len(got)))
    before = min(one.index(many) if many in one else len(one) for one in (got, expected))
    after = min(one[::-1].index(many) if many in one else len(one) for one in (got, expected))
    return [*range(before), *range(-after, 0)]


def _of_tape(call: str, place: str, got: Written, expected: Written) -> str | None:
    if got.name == "Any":
        return None
    if expected.name == "NoneTape" and got.name != "NoneTape":
        text = messages.tape_unwanted(call, place)
        return text if got.name == "OwnedTape" else text.replace(f"{place} has ", f"{place} may have ", 1)
    if expected.name == "OwnedTape" and got.name != "OwnedTape":
        text = messages.tape_missing(call, place)
        return text if got.name == "NoneTape" else text.replace(f"{place} has ", f"{place} may have ", 1)
    return None


def _of_sizes(call: str, place: str, got: Written, expected: Written) -> str | None:
    """Compare two objects of one class by the sizes in their types, such as two layers."""
    texts = [[_argument_text(one) for one in side.arguments] for side in (got, expected)]
    differing = [
        (n, m) for n, m in zip(*texts, strict=True) if n != m and not n.startswith("?") and not m.startswith("?")
    ]
    if not differing:
        return None
    n, m = (f"{got.name}[{', '.join(text)}]" for text in texts)
    return f"{call}: {place} is {n} but {m} is expected: {differing[0][0]}, not {differing[0][1]}"


def _argument_text(written: Written) -> str:
    if written.name in ("True", "False") or written.name in _TAPES:
        return written.name
    if written.name == "Any":
        return "?"
    return str(_size(written))


# --- Types as text ---

_TENSORS: Final = frozenset({"Tensor", "Param"})
_NO_TENSORS: Final = frozenset({"None", "bool", "dict", "float", "int", "list", "ndarray", "str", "tuple"})
_NO_OPERANDS: Final = frozenset({"None", "bytes", "dict", "list", "set", "str", "tuple"})
_NO_FLAGS: Final = _NO_OPERANDS | {"float", "int"}
_NO_KINDS: Final = (_NO_FLAGS | {"Tensor", "bool", "complex", "object"}) - {"tuple"}  # which may be one of ints
_PLAIN: Final = frozenset({"bool", "float", "int"})
_NO_PLAIN: Final = _NO_FLAGS | {"Tensor", "complex"}
_NO_INDICES: Final = frozenset({"bytes", "complex", "dict", "float", "set", "str"})
_BUILTINS: Final = frozenset({"list", "dict", "set", "frozenset", "tuple", "type", "Literal"})
_TAPES: Final = frozenset({"NoneTape", "OwnedTape", "ConsumedTape", "Tape"})
_OPERATORS: Final[dict[str, Callable[[Size, Size], Size]]] = {
    fullname.rpartition(".")[2]: function for fullname, function in ARITHMETIC.items()
}
_ARITHMETIC: Final = frozenset(_OPERATORS)
_TOKEN: Final = re.compile(r"\s*(\*?[\w.]+\??|-?\d+|\[|\]|,|\||\(\)|'[^']*@[^']*')")  # the last names an opaque size
_DTYPE: Final = {"floating": "float", "signedinteger": "int", "unsignedinteger": "uint"}


def _read(text: str) -> Written:
    """Read a type.

    Raises:
        UnreadableError: The text is none, or one with callables, strings or bytes in it.
    """
    tokens: list[str] = []
    end = 0
    while end < len(text):
        match = _TOKEN.match(text, end)
        if match is None:
            raise UnreadableError
        tokens.append(match[1])
        end = match.end()
    written, rest = _union(tokens)
    if rest:
        raise UnreadableError
    return written


def _union(tokens: list[str]) -> tuple[Written, list[str]]:
    first, tokens = _class(tokens)
    items = [first]
    while tokens and tokens[0] == "|":
        item, tokens = _class(tokens[1:])
        items.append(item)
    return (Written("|", tuple(items)) if len(items) > 1 else first), tokens


def _class(tokens: list[str]) -> tuple[Written, list[str]]:
    if not tokens or tokens[0] in ("[", "]", ",", "|"):
        raise UnreadableError
    name, tokens = tokens[0], tokens[1:]
    name = name if name.startswith(("...", "*", "'")) else name.rpartition(".")[2]
    arguments: list[Written] = []
    while tokens and tokens[0] == ("," if arguments else "["):
        argument, tokens = _union(tokens[1:])
        arguments.append(argument)
        if tokens and tokens[0] == "]":
            return _named(name, arguments), tokens[1:]
    if arguments:
        raise UnreadableError
    return Written(name.removesuffix("?")), tokens


def _named(name: str, arguments: list[Written]) -> Written:
    if name == "Literal" and len(arguments) == 1:
        return arguments[0]  # a number or a bool
    arguments = [one for one in arguments if one.name != "()"]
    return Written(name, tuple(arguments))


def _parts(tensor: Written) -> Parts:
    if len(tensor.arguments) != (3 if tensor.name == "Tensor" else 2):
        raise UnreadableError
    shape, *tape, dtype = tensor.arguments
    return Parts(_shape(shape), tape[0] if tape else Written("NoneTape"), _dtype(dtype))


def _shape(written: Written) -> list[str] | str | None:
    if written.name == "Any":
        return None
    if written.name != "tuple":
        return written.name
    if written.arguments[1:] and written.arguments[-1].name == "...":
        return None
    return [messages.ANY_NUMBER if one.name.startswith("*") else str(_size(one)) for one in written.arguments]


def _size(written: Written) -> Size:
    name = written.name
    if name in _OPERATORS and len(written.arguments) == 2:
        left, right = map(_size, written.arguments)
        return UNKNOWN if is_unknown(left) or is_unknown(right) else _OPERATORS[name](left, right)
    if name == "Opaque" and len(written.arguments) == 1:
        return _size(written.arguments[0])
    if written.arguments:
        raise UnreadableError
    if name.startswith("'"):
        label, _, scope = name.strip("'").partition("@")
        return size_of_name(opaque_name(label, scope))
    if re.fullmatch(r"-?\d+", name):
        return int(name)
    return UNKNOWN if name in ("Any", "Never", "int") else named(name, name)


def _dtype(written: Written) -> str:
    if written.name in ("|", "Any"):
        return "?"
    if written.name == "object" or written.name.endswith("Mixin"):  # the common class of several dtypes
        return messages.SEVERAL_DTYPES
    if not written.arguments:
        return written.name.removesuffix("_")
    bits = written.arguments[0].name.strip("_").removesuffix("Bit").removesuffix("bit")
    kind = _DTYPE.get(written.name, written.name)
    return f"{kind}{bits}" if bits.isdigit() else written.name.removesuffix("_")
