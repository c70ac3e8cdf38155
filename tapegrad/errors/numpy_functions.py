"""NumPy's functions that take tensors, and the op that each is: for calls at run time and for mypy.

A function is written as the op and NumPy's parameters in their order. `a>x` is a parameter that the op calls `x`,
`out>` one that no op has, `mode>=constant` one that may only have this value, and `axis!` one that must be given,
because the op has another default than NumPy. After `/` all parameters are given by name only.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from tapegrad.errors.other_names import hint

_REDUCTION: Final = "a>x axis dtype> out> keepdims initial> where>"
_EXTREME: Final = "a>x axis out> keepdims initial> where>"
_TRUTH: Final = "a>x axis out> keepdims where>"
_ALIKE: Final = "a>x dtype> order> subok> shape> / device>"
_JOIN: Final = "arrays>tensors axis out> / dtype> casting>"
_NOT_RETURNED: Final = "return_index>=False return_inverse>=False return_counts>=False"
_SPREAD: Final = "a>x axis dtype> out> ddof>correction keepdims where> mean> correction"

FUNCTIONS: Final = {
    "allclose": "allclose a>x b>y rtol atol equal_nan",
    "all": f"all {_TRUTH}",
    "amax": f"max {_EXTREME}",
    "amin": f"min {_EXTREME}",
    "any": f"any {_TRUTH}",
    "argmax": "argmax a>x axis out> / keepdims",
    "argmin": "argmin a>x axis out> / keepdims",
    "argsort": "argsort a>x axis kind> order> / stable> descending",  # descending from NumPy 2.5 on
    "around": "round a>x decimals> out>",
    "astype": "astype x dtype / copy> device>",
    "broadcast_to": "broadcast_to array>x shape subok>",
    "clip": "clamp a>x a_min>min a_max>max out> / min max",
    "concatenate": f"concat {_JOIN}",
    "count_nonzero": "count_nonzero a>x axis / keepdims",
    "cross": "cross a>x b>y axisa> axisb> axisc> axis",
    "cumprod": "cumprod a>x axis dtype> out>",
    "cumsum": "cumsum a>x axis dtype> out>",
    "diag": "diag v>x k",
    "diagonal": "diagonal a>x offset axis1 axis2",
    "diff": "diff a>x n axis prepend> append>",
    "dot": "dot a>x b>y out>",
    "einsum": "einsum subscripts *operands / out> optimize>",
    "empty_like": f"empty_like {_ALIKE.replace('a>', 'prototype>')}",
    "expand_dims": "expand_dims a>x axis",
    "flip": "flip m>x axis",
    "full_like": f"full_like a>x fill_value>value {_ALIKE.partition(' ')[2]}",
    "isclose": "isclose a>x b>y rtol atol equal_nan",
    "isin": "isin element>x test_elements>values assume_unique> invert / kind>",
    "kron": "kron a>x b>y",
    "linalg.cholesky": "cholesky a>x / upper>=False",
    "linalg.cross": "cross x1>x x2>y / axis",
    "linalg.det": "det a>x",
    "linalg.eigh": "eigh a>x UPLO>=L",
    "linalg.eigvalsh": "eigvalsh a>x UPLO>=L",
    "linalg.inv": "inv a>x",
    "linalg.matmul": "matmul x1>x x2>y",
    "linalg.matrix_transpose": "matrix_transpose x",
    "linalg.norm": "norm x ord> axis keepdims",
    "linalg.outer": "outer x1>x x2>y",
    "linalg.pinv": "pinv a>x rcond>rtol hermitian>=False / rtol",
    "linalg.qr": "qr a>x mode>=reduced",
    "linalg.slogdet": "slogdet a>x",
    "linalg.solve": "solve a>x b>y",
    "linalg.svd": "svd a>x full_matrices! compute_uv>=True hermitian>=False",
    "linalg.svdvals": "svdvals x",
    "linalg.tensordot": "tensordot x1>x x2>y / axes",
    "matrix_transpose": "matrix_transpose x",
    "max": f"max {_EXTREME}",
    "mean": "mean a>x axis dtype> out> keepdims where>",
    "meshgrid": "meshgrid *xi>*tensors / copy>=True sparse>=False indexing",
    "min": f"min {_EXTREME}",
    "moveaxis": "moveaxis a>x source destination",
    "nan_to_num": "nan_to_num x copy> nan posinf neginf",
    "nonzero": "nonzero a>x",
    "ones_like": f"ones_like {_ALIKE}",
    "outer": "outer a>x b>y out>",
    "pad": "pad array>x pad_width mode>=constant constant_values>value",
    "prod": f"prod {_REDUCTION}",
    "ravel": "flatten a>x order>",
    "repeat": "repeat a>x repeats axis",
    "reshape": "reshape a>x shape order> / copy>",
    "roll": "roll a>x shift axis",
    "round": "round a>x decimals> out>",
    "searchsorted": "searchsorted a>x v>values side sorter>",
    "sort": "sort a>x axis kind> order> / stable> descending",  # as above
    "squeeze": "squeeze a>x axis",
    "stack": f"stack {_JOIN}",
    "std": f"std {_SPREAD}",
    "sum": f"sum {_REDUCTION}",
    "swapaxes": "swapaxes a>x axis1 axis2",
    "take": "take a>x indices axis! out> mode>",
    "take_along_axis": "gather arr>x indices axis!",
    "tensordot": "tensordot a>x b>y axes",
    "tile": "tile A>x reps",
    "transpose": "transpose a>x axes",
    "tril": "tril m>x k",
    "triu": "triu m>x k",
    "unique": f"unique ar>x {_NOT_RETURNED} axis> / equal_nan>=True sorted>=True",
    "unstack": "unstack x / axis",
    "var": f"var {_SPREAD}",
    "where": "where condition x! y!",
    "zeros_like": f"zeros_like {_ALIKE}",
}

UFUNCS: Final = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "degrees": "rad2deg",
    "divide": "div",
    "fabs": "abs",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "multiply": "mul",
    "negative": "neg",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "subtract": "sub",
}
"""The ufuncs whose op has another name."""

_OF_VALUES: Final = """
array2string array_equal array_equiv array_repr array_str atleast_1d atleast_2d can_cast common_type copyto
iscomplexobj isrealobj may_share_memory result_type save savetxt savez savez_compressed shares_memory
"""
OF_VALUES: Final = frozenset(_OF_VALUES.split())
"""Functions that get the values of a tensor without a tape: what they return has no derivative."""

OF_SHAPES: Final = frozenset(["ndim", "shape", "size"])
"""Functions that only read the shape."""

_OTHERS: Final = """
append apply_along_axis argwhere array_split average bincount column_stack convolve corrcoef correlate cov
digitize dsplit dstack ediff1d fliplr flipud gradient histogram histogram2d hsplit hstack inner insert
interp lexsort linalg.eig linalg.eigvals linalg.lstsq
linalg.matrix_power linalg.matrix_rank linalg.multi_dot
median nanmax nanmean nanmin nanstd nansum nanvar partition percentile ptp quantile rot90 select
setdiff1d split trace trapezoid vander vdot vsplit vstack
"""
OTHERS: Final = frozenset(_OTHERS.split())
"""Functions that are no ops, as mypy knows them; Python rejects every other function too."""


class Parameter(NamedTuple):
    """A parameter of a NumPy function, and what the op calls it; an empty string if it has none."""

    name: str
    own: str
    is_required: bool
    is_keyword: bool
    only: str | bool  # the only value that it may have, beside None


class Call(NamedTuple):
    """The op that a NumPy function is, and its parameters."""

    function: str
    op: str
    parameters: tuple[Parameter, ...]

    def missing(self, given: frozenset[str]) -> str:
        """Return the message about a parameter that has no default here; "" if all are given.

        Args:
            given: The names of the parameters of the op that the call gives.
        """
        absent = [one.own for one in self.parameters if one.is_required and one.own not in given]
        if not absent:
            return ""
        return f"np.{self.function}: a tensor needs {' and '.join(absent)}{_instead(self.function)}"

    def unwanted(self, parameter: str) -> str:
        """Return the message about an argument that the op does not have."""
        return f"np.{self.function}: a tensor has no {parameter}; tapegrad.{self.op} is the function that it calls"


@cache
def call_of(function: str) -> Call | None:
    """Return the call of an op that a NumPy function is, by its name below `numpy`; None if it is none."""
    written = FUNCTIONS.get(function)
    if written is None:
        return None
    op, *parameters = written.split()
    marked = parameters.index("/") if "/" in parameters else len(parameters)
    return Call(
        function, op, tuple(_parameter(one, place > marked) for place, one in enumerate(parameters) if one != "/")
    )


def _parameter(written: str, is_keyword: bool) -> Parameter:  # noqa: FBT001  # of a helper
    written, _, only = written.partition("=")
    name, arrow, own = written.removesuffix("!").partition(">")
    value = {"True": True, "False": False}.get(only, only)
    return Parameter(name, own if arrow else name, written.endswith("!"), is_keyword, value)


def below_numpy(fullname: str) -> str:
    """Return the public name below `numpy` of a function in NumPy's modules; "" for one that is no function of arrays.

    Args:
        fullname: The name with the module that defines it, such as `numpy._core.fromnumeric.mean`.
    """
    module, _, name = fullname.rpartition(".")
    if module == "numpy.linalg" or module.startswith("numpy.linalg."):
        return f"linalg.{name}"
    return name if module in ("numpy", "numpy.lib") or module.startswith(("numpy._core.", "numpy.lib._")) else ""


def not_an_op(function: str) -> str:
    """Return the message about a NumPy function that is no op of tapegrad, which says what to write instead."""
    return f"np.{function} takes no tensor{_instead(function)}"


def with_option(function: str, option: str) -> str:
    """Return the message about an option of a ufunc, such as `out=`, or a method, such as `reduce`."""
    return f"np.{function}: a tensor has no {option}; np.asarray(x) is its array, without a tape"


def _instead(function: str) -> str:
    found = hint("tapegrad", function.rpartition(".")[2])
    return f": {found}" if found else "; np.asarray(x) is its array, without a tape"
