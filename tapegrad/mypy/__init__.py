"""The mypy plugin: `plugins = ["tapegrad.mypy"]`.

mypy imports this file at each start, so it imports only mypy. The first hook that needs other modules or ops imports
them, inside a guard: an exception in them is reported as one error at the user's line, and mypy goes on.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from mypy.errorcodes import ErrorCode
from mypy.errors import CompileError
from mypy.nodes import TypeInfo
from mypy.plugin import (
    AnalyzeTypeContext,
    AttributeContext,
    ClassDefContext,
    FunctionContext,
    FunctionSigContext,
    MethodContext,
    MethodSigContext,
    Plugin,
    ReportConfigContext,
)
from mypy.types import AnyType, CallableType, Instance, TupleType, TypeOfAny, TypeVarType, UnionType, get_proper_type
from mypy.version import __version__ as MYPY  # noqa: N812  # a constant
from typing_extensions import override

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy.nodes import MypyFile
    from mypy.options import Options
    from mypy.types import FunctionLike, Type

    from tapegrad.mypy.mypy_api import ParametersOf, ReportedError, Rewording

Context = TypeVar("Context", bound=Any)
Result = TypeVar("Result")

INTERNAL = ErrorCode("tapegrad-internal", "The tapegrad plugin failed", "tapegrad")
UNUSED = ErrorCode("tapegrad-unused", "A layer or parameter that no method uses", "tapegrad")
UNKNOWN = ErrorCode(
    "tapegrad-unknown", "A shape, a tape or a dtype is not known", "tapegrad", default_enabled=False
)  # on by mypy's `enable_error_code`, for all files or for some

# Packages without tensors: one set lookup recognizes their calls.
FOREIGN = frozenset(
    [
        "_typeshed",
        "abc",
        "argparse",
        "builtins",
        "collections",
        "contextlib",
        "dataclasses",
        "enum",
        "functools",
        "itertools",
    ]
)
FOREIGN |= frozenset(
    [
        "importlib",
        "json",
        "math",
        "matplotlib",
        "mypy",
        "numpy",
        "operator",
        "os",
        "pathlib",
        "pytest",
        "random",
        "re",
        "rich",
    ]
)
FOREIGN |= frozenset(["scipy", "sklearn", "subprocess", "sys", "time", "types", "typing", "typing_extensions"])
# mypy also calls hooks for displays and comprehensions, by these names in brackets.
FOREIGN |= frozenset(
    f"<{name}>"
    for name in [
        "dict",
        "dictionary-comprehension",
        "generator",
        "list",
        "list-comprehension",
        "set",
        "set-comprehension",
        "tuple",
    ]
)

# No edit of tapegrad or of a rule changes what mypy knows of their stubs.
_STUBBED = sys.stdlib_module_names | {"_typeshed", "typing_extensions"}

NEWEST = "2.4"  # the newest mypy with which the plugin is tested; a failure in a newer one is a note

_MODULE, _TENSOR = "tapegrad.nn.module.Module", "tapegrad.tensors.Tensor"
_DATACLASS, _NAMED_TUPLE = "dataclasses.dataclass", "typing.NamedTuple"
_SCAN = "tapegrad.scan.scan"
_REDUCE = "functools.reduce"
_CAST = "tapegrad.nn.precision.cast"

SPELLED = frozenset(
    f"tapegrad.{name}"
    for name in [
        "sizes.arithmetic.Add",
        "sizes.arithmetic.Sub",
        "sizes.arithmetic.Mul",
        "sizes.arithmetic.FloorDiv",
        "sizes.arithmetic.Pow",
        "sizes.arithmetic.Given",
        "sizes.arithmetic.GivenShape",
        "autograd.tape.Merge",
        "tensors.Tensor",
        "tensors.Untaped",
        "tensors.Taped",
    ]
)

_rule_files: list[Path] = []  # of the user's own rules
PATHS: dict[str, str] = {}  # where mypy finds each module in this run; a cache may be of another folder
_loaded: dict[str, str] = {}  # the version of the files that this process has loaded, set when mypy first asks

# The types of computed sizes.
COMPUTED = ("Sum", "Product", "Quotient", "Power", "Largest", "Smallest")

# The names by which mypy asks for `n + 1`: first for an `n: N`, then, by class, for numbers and computed sizes.
ARITHMETIC = frozenset({"builtins.len"}) | frozenset(
    place.format(name)
    for place in [
        "__{}__ of int",
        "builtins.int.__{}__",
        *(f"tapegrad.sizes.arithmetic.{name}.__{{}}__" for name in COMPUTED),
    ]
    for name in ["add", "radd", "sub", "rsub", "mul", "rmul", "floordiv", "rfloordiv", "mod", "rmod"]
)

# typeshed and NumPy type these as Any; for sizes and plain numbers the hooks know more.
POWERS = {
    place.format(method): hook
    for method, hook in {"__pow__": "power_result", "__rpow__": "reflected_power_result"}.items()
    for place in [
        "{} of int",
        "builtins.int.{}",
        "builtins.float.{}",
        *(f"tapegrad.sizes.arithmetic.{name}.{{}}" for name in COMPUTED),
    ]
}

# What mypy's messages about them contain.
_TENSORS_AND_SIZES = (
    "Tensor[",
    "Value[",
    "Param[",
    *(f'; expected "{kind}' for kind in ("Literal['", "bool", "float", "int", "str", "tuple[int")),
    *(f"{name}[" for name in COMPUTED),
    "[Literal[",
    ", Literal[",
    *(f'type variable "{name}" of "' for name in ("CeilMode", "HasBias")),
)
_OF_METHODS = ('"TensorMethods"', '"Tensor"')  # the base class that has the methods
_ABOUT_NAMES = (
    *("has no attribute ", "Unexpected keyword argument ", "Too many positional arguments ", "Too many arguments "),
    *("No overload variant of ", '"int" not callable'),
)

# Methods that add items to a collection.
EXTENDING = frozenset(
    f"{kind}.{name}"
    for kinds, names in {
        ("builtins.list", "collections.deque"): [
            *("append", "appendleft", "extend", "extendleft", "insert", "__setitem__", "__iadd__"),
        ],
        ("builtins.dict", "collections.defaultdict", "collections.OrderedDict"): [
            *("__setitem__", "setdefault", "update"),
        ],
        ("builtins.set",): ["add", "update"],
    }.items()
    for kind in kinds
    for name in names
)

# The attribute of a context that holds mypy's own answer, by the kind of hook.
_DEFAULTS = {
    "get_function_signature_hook": "default_signature",
    "get_method_signature_hook": "default_signature",
    "get_function_hook": "default_return_type",
    "get_method_hook": "default_return_type",
    "get_attribute_hook": "default_attr_type",
}
_RESULTS = ("get_function_hook", "get_method_hook")
_CALLS = ("get_function_signature_hook", "get_method_signature_hook", *_RESULTS)
# Where NumPy's stubs declare functions and the calls of ufuncs.
_ARRAYS = ("numpy._core.", "numpy.lib.", "numpy.linalg.", "numpy._typing._ufunc.")

# Where NumPy's stubs give an array the shape of the one that it is the transpose of.
_TURNED = frozenset(f"numpy.{owner}.{name}" for owner in ["_ArrayOrScalarCommon", "ndarray"] for name in ["T", "mT"])
_TURNING = ("numpy.ndarray.swapaxes", "numpy.ndarray.transpose")
# Where they take what may be an array for a number.
_OF_NUMBER = frozenset(f"numpy.generic.{name}" for name in ["ndim", "shape", "size"])

_EINOPS = frozenset(
    f"einops.{name}"
    for name in [
        "einops.einsum",
        "einops.rearrange",
        "einops.reduce",
        "einops.repeat",
        "packing.pack",
        "packing.unpack",
    ]
)

AFTERWARDS = "tapegrad.mypy.after"  # the function that a scheduled function calls, see `ownership.schedule`
_ASSERTIONS = "tapegrad.guard.assertions."
ASSERTIONS = ("assert_divides", "assert_same", "assert_shape", "reveal_shape")


class Tapegrad(Plugin):
    """The plugin class of tapegrad: calls the hooks for everything that may involve a tensor."""

    _serves_daemon: ClassVar[bool] = False  # then each further plugin is made only to compare its version

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._mistake = ""
        self._hooks: dict[str, dict[str, Callable[[Any], Any] | None]] = {lookup: {} for lookup in _DEFAULTS}
        self._current: object = None  # mypy's checker of the file that the last hook was called for
        self._rewording = _rewording(self._parameters, is_used=not Tapegrad._serves_daemon)
        self._is_daemon = options.fine_grained_incremental
        if options.config_file and "tapegrad-mypy" in Path(options.config_file).read_text("utf-8"):
            self._register_rules(options)

    def _register_rules(self, options: Options) -> None:
        from tapegrad.mypy.rules import own as own_rules

        try:
            _rule_files[:] = own_rules.register(options)
        except own_rules.SettingsError as mistake:
            self._mistake = str(mistake)

    def _parameters(self, layer: str, method: str, *, by_position: bool = False) -> list[str]:
        """Return the parameters of a method of a layer or an optimizer of the library, without `self`, else none.

        Args:
            layer: The name of the class; or the full name of a function, whose parameters are those of no method.
            method: The name of the method; empty for a function.
            by_position: Whether to leave out those that are given by name only; `*` is before a name for any number.
        """
        if not method:
            found = self.lookup_fully_qualified(layer)
        else:
            symbol = self.lookup_fully_qualified(f"tapegrad.nn.{layer}") or self.lookup_fully_qualified(
                f"tapegrad.optim.{layer}"
            )
            found = symbol.node.get(method) if symbol is not None and isinstance(symbol.node, TypeInfo) else None
        function = getattr(found.node, "impl", found.node) if found is not None else None  # behind its overloads
        function = getattr(function, "func", function)
        named = zip(getattr(function, "arg_names", []), getattr(function, "arg_kinds", []), strict=True)
        known = [(name, kind) for name, kind in [*named][bool(method) :] if name is not None]
        if not by_position:
            return [name for name, _ in known]
        return [f"*{name}" if kind.is_star() else name for name, kind in known if not kind.is_named()]

    @override
    def set_modules(self, modules: dict[str, MypyFile]) -> None:
        if self._mistake:  # raised earlier, mypy would show a traceback
            raise CompileError([self._mistake])
        Tapegrad._serves_daemon = Tapegrad._serves_daemon or self._is_daemon
        if self._rewording is not None:
            self._rewording.install()
        super().set_modules(modules)

    @override
    def report_config_data(self, ctx: ReportConfigContext) -> dict[str, str]:
        PATHS[ctx.id] = ctx.path
        if not ctx.is_check and self._modules is not None and (file := self._modules.get(ctx.id)) is not None:
            self._mark_constants(file)  # mypy is about to write the names of the file into its cache
        package = ctx.id.partition(".")[0]
        if package == "numpy" or (package in _STUBBED and ctx.path.endswith(".pyi")):
            return {}
        # mypy compares __version__ with its last run only, which may not have checked every file in the cache.
        if not _loaded:
            _loaded["version"] = _version()
        # What was checked without our hooks is checked again.
        return {**_loaded, "failure": _Loading.failure} if _Loading.failure else _loaded

    @override
    def get_type_analyze_hook(self, fullname: str) -> Callable[[AnalyzeTypeContext], Type] | None:
        if fullname.startswith("tapegrad.nn."):
            symbol = self.lookup_fully_qualified(fullname)
            is_class = symbol is not None and isinstance(symbol.node, TypeInfo) and bool(symbol.node.type_vars)
            return _bare_layer if is_class else None
        return _types.get(fullname)

    @override
    def get_class_decorator_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        return self._data_class if fullname == _DATACLASS else None

    def _data_class(self, ctx: ClassDefContext) -> None:
        """Call the hooks that mypy would have called, then store that the class may be read."""
        plugins: list[Plugin] = getattr(getattr(ctx.api, "plugin", self), "_plugins", [self])
        hooks = (other.get_class_decorator_hook(_DATACLASS) for other in plugins[plugins.index(self) + 1 :])
        for hook in hooks:
            if hook is not None:
                hook(ctx)
                break
        _mark_class(ctx)

    @override
    def get_base_class_hook(self, fullname: str) -> Callable[[ClassDefContext], None] | None:
        if fullname == _NAMED_TUPLE:
            return _mark_class
        if fullname.partition(".")[0] in FOREIGN:
            return None
        symbol = self.lookup_fully_qualified(fullname)
        is_module = symbol is not None and isinstance(symbol.node, TypeInfo) and symbol.node.has_base(_MODULE)
        return _note_defaults if is_module else None

    @override
    def get_function_signature_hook(self, fullname: str) -> Callable[[FunctionSigContext], FunctionLike] | None:
        return self._hook("get_function_signature_hook", fullname)

    @override
    def get_method_signature_hook(self, fullname: str) -> Callable[[MethodSigContext], FunctionLike] | None:
        return self._hook("get_method_signature_hook", fullname)

    @override
    def get_function_hook(self, fullname: str) -> Callable[[FunctionContext], Type] | None:
        if fullname == _CHECKED:
            self._current = None  # what mypy checks in this file from here on needs another report
        return self._hook("get_function_hook", fullname)

    @override
    def get_method_hook(self, fullname: str) -> Callable[[MethodContext], Type] | None:
        return self._hook("get_method_hook", fullname)

    @override
    def get_attribute_hook(self, fullname: str) -> Callable[[AttributeContext], Type] | None:
        return self._hook("get_attribute_hook", fullname)

    def get_additional_indirect_deps(self, file: MypyFile) -> set[str]:
        """Report what is unknown in a file; mypy asks for further dependencies when it has checked the file."""
        self._mark_constants(file)  # a daemon writes no cache
        from_api = sys.modules.get("tapegrad.mypy.mypy_api")  # loaded for the first hook
        if from_api is not None:
            from_api.note_dependencies(file)
        from_strict = sys.modules.get("tapegrad.mypy.coverage.strict")  # loaded for the first file with the code on
        if from_strict is not None:
            from_strict.end(file)
        return set()

    def _mark_constants(self, file: MypyFile) -> None:
        if self._rewording is not None:
            with suppress(_NotLoadedError):  # which the next hook reports
                _load(partial(_mark_constants, file, self._rewording))

    def _hook(self, lookup: str, fullname: str) -> Callable[[Any], Any] | None:
        """Return the hook for a name, from a cache: mypy asks for one at each call and each attribute."""
        if self._is_daemon and self._rewording is not None:  # a daemon that has removed a module sets no modules
            self._rewording.install()
        known = self._hooks[lookup]
        try:
            return known[fullname]
        except KeyError:
            hook = known[fullname] = self._new_hook(lookup, fullname)
            return hook

    def _new_hook(self, lookup: str, fullname: str) -> Callable[[Any], Any] | None:
        """Return a hook that first asks the plugins after this one, because mypy stops at the first hook."""
        if lookup == "get_function_hook" and (fullname in _alone or fullname.startswith(_ASSERTIONS)):
            return _alone.get(fullname)
        if fullname in _numbers and lookup in _RESULTS:
            ours = _numbers[fullname]
        elif lookup == "get_method_hook" and fullname.startswith("tapegrad.optim.") and fullname.endswith(".step"):
            ours = _step
        elif fullname in EXTENDING and lookup == "get_method_signature_hook":
            ours = _growing
        elif fullname.startswith(_ARRAYS) and lookup in _CALLS:
            ours = _of_numpy(lookup, fullname)
        elif fullname in _TURNED and lookup == "get_attribute_hook":
            ours = _turned_attribute
        elif fullname in _OF_NUMBER and lookup == "get_attribute_hook":
            ours = _attribute_of_number
        elif fullname == _REDUCE and lookup == "get_function_signature_hook":
            ours = _folding
        elif fullname.partition(".")[0] in FOREIGN:
            return None
        elif fullname in _EINOPS and lookup == "get_function_hook":
            ours = _of_einops(fullname)
        elif lookup == "get_attribute_hook":
            ours = _of_attribute(fullname)
        elif fullname == _SCAN and lookup == "get_function_signature_hook":
            ours = _scan_signature
        else:
            ours = _OURS[lookup]
        if lookup in _RESULTS and fullname.startswith("tapegrad."):
            ours = _with_ranges(ours, fullname.rpartition(".")[2])
        return self._after_others(lookup, fullname, ours)

    def _after_others(self, lookup: str, fullname: str, ours: Callable[[Any], Any]) -> Callable[[Any], Any]:
        default = _DEFAULTS[lookup]
        theirs: list[Callable[[str], Callable[[Any], Any] | None]] | None = None

        def hook(ctx: Any) -> Any:
            nonlocal theirs
            if theirs is None:
                theirs = self._hooks_after(ctx.api, lookup, fullname)
            if ctx.api is not self._current:
                self._current = ctx.api
                self._join_dtypes()
                if UNKNOWN in ctx.api.options.enabled_error_codes:
                    _begin(ctx)
            for other in theirs:
                answer = other(fullname)
                if answer is not None:
                    return ours(ctx._replace(**{default: answer(ctx)}))
            return ours(ctx)

        return hook

    def _join_dtypes(self) -> None:
        """Let mypy give the items of a list of tensors of two dtypes the type of a tensor.

        The classes of two dtypes may have no base in common but `object`, or one of NumPy's private ones. mypy compares
        it with the bound of the type parameter, and takes `object` for the items where it is outside. While mypy reads
        the class itself, another bound would be too early: operators of the class would be unknown.
        `features.type_annotations` reports a dtype that is none in an annotation.
        """
        symbol = self.lookup_fully_qualified(_TENSOR)
        tensor = symbol.node if symbol is not None else None
        if not isinstance(tensor, TypeInfo) or len(tensor.defn.type_vars) != 3:
            return
        *others, dtype = tensor.defn.type_vars
        anything = Instance(tensor.mro[-1], [])
        if isinstance(dtype, TypeVarType) and dtype.upper_bound != anything:
            tensor.defn.type_vars = [*others, dtype.copy_modified(upper_bound=anything)]

    def _hooks_after(self, api: Any, lookup: str, fullname: str) -> list[Callable[[str], Any]]:
        try:
            from tapegrad.mypy.mypy_api import lookups_behind
        except ImportError:  # our own hook reports it
            return []
        return lookups_behind(self, api, lookup, fullname)


def plugin(version: str) -> type[Plugin]:  # noqa: ARG001  # mypy's entry point; any mypy version is accepted
    """Return the plugin class for mypy."""
    return Tapegrad


def __getattr__(name: str) -> str:
    """Compute `__version__`, which changes when a file is edited after it was loaded: mypy's daemon then restarts.

    Edits between two runs are found by `report_config_data`, which leaves what mypy knows of NumPy's stubs valid.
    """
    if name != "__version__":
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    current = _version()
    return "as loaded" if _loaded.setdefault("version", current) == current else current


def _version() -> str:
    """Return a hash of all files; a daemon asks for it at each answer, and reads them again only after an edit."""
    files = [*_files_in(str(Path(__file__).parent.parent)), *map(str, _rule_files)]
    states = list(map(_state_of, files))
    if states != _Hashed.states:
        digest = hashlib.sha256()
        for file in files:
            with open(file, "rb", buffering=0) as opened:  # noqa: PTH123  # unbuffered, and without pathlib
                digest.update(opened.read())
        _Hashed.states, _Hashed.version = states, digest.hexdigest()
    return _Hashed.version


class _Hashed:
    """The files that were hashed last, and their hash."""

    states: ClassVar[list[tuple[str, int, int, int]]] = []
    version: ClassVar[str] = ""


def _state_of(file: str) -> tuple[str, int, int, int]:
    state = os.stat(file)  # noqa: PTH116  # without pathlib, as for `open`
    return file, state.st_mtime_ns, state.st_size, state.st_ino


def _files_in(folder: str) -> list[str]:
    """Return the Python files in a folder and its subfolders, sorted."""
    found: list[str] = []
    pending = [folder]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    found.append(entry.path)
                elif entry.is_dir():
                    pending.append(entry.path)
    return sorted(found)


def _rewording(parameters: ParametersOf, *, is_used: bool) -> Rewording | None:
    try:
        from tapegrad.mypy.mypy_api import Rewording
    except ImportError:  # in a mypy that is not known yet; the first hook reports it at the user's line
        return None
    return Rewording(partial(_reworded, parameters), is_used=is_used)


def _reworded(parameters: ParametersOf, error: ReportedError) -> str | None:
    """Return mypy's message about a wrong tensor, size or name in tapegrad's words; None to keep mypy's."""
    error = error._replace(message=error.message.replace(*_OF_METHODS))
    return _in_own_words(parameters, error) or error.message


def _in_own_words(parameters: ParametersOf, error: ReportedError) -> str | None:
    is_about_name = any(one in error.message for one in _ABOUT_NAMES)
    if not is_about_name and not any(one in error.message for one in _TENSORS_AND_SIZES):
        return None
    try:
        return _load(_load_own_name if is_about_name else _load_reworded)(error, parameters)
    except Exception:  # noqa: BLE001  # mypy's own words are a message too
        return None


def _load_reworded() -> Callable[..., str | None]:
    from tapegrad.mypy.features.mismatches import reworded

    return reworded


def _load_own_name() -> Callable[..., str | None]:
    from tapegrad.mypy.features.other_names import with_own_name

    return with_own_name


class _Loading:
    """The import of the plugin's modules at the first hooks; one that fails is not repeated, for each hook would."""

    failure = ""


class _NotLoadedError(Exception):
    """A module of the plugin cannot be imported."""


def _load(load: Callable[[], Result]) -> Result:
    if not _Loading.failure:
        try:
            return load()
        except Exception as error:  # noqa: BLE001  # an exception in a module of the plugin must not end mypy
            _Loading.failure = f"{_described(error)}; it checks no tensor in this run"
    raise _NotLoadedError


def _guard(
    load: Callable[[], Callable[[Context], Result]], default: Callable[[Context], Result]
) -> Callable[[Context], Result]:
    """Return a hook that is loaded at its first call, and whose exceptions are errors at the user's line."""
    hook: Callable[[Context], Result] | None = None

    def guarded(ctx: Context) -> Result:
        nonlocal hook
        try:
            if hook is None:
                hook = _load(load)
            return hook(ctx)
        except _NotLoadedError:
            _report_failure(ctx)
            return default(ctx)
        except Exception as error:  # noqa: BLE001  # an exception in a rule must not end mypy
            _fail(ctx, _described(error))
            return default(ctx)

    return guarded


def _described(error: Exception) -> str:
    failure = f"{type(error).__name__}: {error}"
    if not _is_newer():
        return f"tapegrad failed here: {failure}"
    return f"mypy {MYPY} is newer than {NEWEST}, the newest that this tapegrad knows, and it failed here: {failure}"


def _is_newer() -> bool:
    """Return whether mypy is newer than the newest version with which the plugin is tested."""
    running, known = (version.split(".")[:2] for version in (MYPY, NEWEST))
    return [*map(int, running)] > [*map(int, known)]


def _fail(ctx: Any, message: str) -> None:
    if _is_newer():
        _report_once(ctx, message)
    else:
        ctx.api.fail(message, _place(ctx), code=INTERNAL)


def _place(ctx: Any) -> Any:
    return ctx.cls if isinstance(ctx, ClassDefContext) else ctx.context


def _report_failure(ctx: Any) -> None:
    """Report that the plugin does not load, in the first place that mypy shows errors of."""
    _report_once(ctx, _Loading.failure)


def _report_once(ctx: Any, message: str) -> None:
    """Report a failure in its first place only: as an error, or as a note if mypy is newer than the plugin knows."""
    errors, place = getattr(ctx.api, "api", ctx.api).errors, _place(ctx)
    if errors.file:  # mypy also analyzes types outside of any file
        severity = "note" if _is_newer() else "error"
        errors.report(place.line, place.column, message, code=INTERNAL, severity=severity, only_once=True)


def _lazy(name: str) -> Callable[[], Callable[[Any], Any]]:
    def load() -> Callable[[Any], Any]:
        from tapegrad.mypy import hooks

        hook: Callable[[Any], Any] = getattr(hooks, name)
        return hook

    return load


def _of_numpy(lookup: str, fullname: str) -> Callable[[Any], Any]:
    """Return the hook for a function of NumPy, which may be called with tensors."""

    def load() -> Callable[[Any], Any]:
        from tapegrad.mypy import hooks

        hook = hooks.numpy_result if lookup in _RESULTS else hooks.numpy_signature
        return partial(hook, fullname=fullname)

    default = _DEFAULTS[lookup]
    return _guard(load, lambda ctx: getattr(ctx, default))


def _of_einops(fullname: str) -> Callable[[Any], Any]:
    """Return the hook for a function of einops, which may be called with tensors."""

    def load() -> Callable[[Any], Any]:
        from tapegrad.mypy import hooks

        return partial(hooks.einops_result, function=fullname.rpartition(".")[2])

    return _guard(load, lambda ctx: ctx.default_return_type)


def _with_ranges(hook: Callable[[Any], Any], function: str) -> Callable[[Any], Any]:
    """Return the hook of a function of the library, which also checks options that have a range, and weights."""
    from tapegrad.errors.ranges import NUMBERS, RANGES
    from tapegrad.sizes.constraints import INITIALIZERS

    if function not in RANGES and function not in NUMBERS and function not in INITIALIZERS:
        return hook

    def load() -> Callable[[Any], bool]:
        from tapegrad.mypy.features.ranges import check_call

        return partial(check_call, function=function)

    has_wrong_count = _guard(load, lambda _: False)

    def checked(ctx: Any) -> Any:
        return AnyType(TypeOfAny.from_error) if has_wrong_count(ctx) else hook(ctx)

    return checked


def _lazy_assertion(name: str) -> Callable[[Any], Any]:
    def load() -> Callable[[FunctionContext], Type]:
        from tapegrad.mypy.calls import assertions as facts

        return facts.HOOKS[name]

    return _guard(load, lambda ctx: ctx.default_return_type)


def _lazy_type(fullname: str) -> Callable[[AnalyzeTypeContext], Type]:
    def load() -> Callable[[AnalyzeTypeContext], Type]:
        from tapegrad.mypy.features import type_annotations

        return lambda ctx: type_annotations.analyzed_type(ctx, fullname)

    return _guard(load, lambda _: AnyType(TypeOfAny.from_error))


def _load_begin() -> Callable[[Any], None]:
    """Prepare the report on what is unknown in a file, at the first hook in it, if its error code is on."""
    from tapegrad.mypy.coverage import strict

    return lambda ctx: strict.begin(ctx.api)


def _load_end_if_last() -> Callable[[FunctionContext], Type]:
    from tapegrad.mypy.coverage import strict

    def end_if_last(ctx: FunctionContext) -> Type:
        strict.end_if_last(ctx.api)
        return ctx.default_return_type

    return end_if_last


def _unless_known(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Call a hook only where mypy itself infers Any."""
    return lambda ctx: (
        hook(ctx) if isinstance(get_proper_type(ctx.default_return_type), AnyType) else ctx.default_return_type
    )


def _load_bare_layer() -> Callable[[AnalyzeTypeContext], Type]:
    from tapegrad.mypy.features.type_annotations import bare_layer

    return bare_layer


def _load_note_defaults() -> Callable[[ClassDefContext], None]:
    from tapegrad.mypy.calls import size_defaults

    return size_defaults.note_defaults


def _is_in_function(api: Any) -> bool:
    """Return whether mypy checks a function; true for a mypy that does not say so, and then the hook reports that.

    `mypy_api` does not do this, because a program that only computes with ints would load it for that.
    """
    return bool(getattr(api, "return_types", True))


def _load_mark_class() -> Callable[[ClassDefContext], None]:
    from tapegrad.mypy import sources

    return sources.mark_class


def _mark_constants(file: MypyFile, run: Rewording) -> None:
    from tapegrad.mypy import sources

    sources.mark_constants(file, run)


def _computed_attribute(ctx: AttributeContext) -> Type:
    """Return the type of an attribute; it may be computed from the sizes of its class, or mention opaque ones."""
    holder = getattr(ctx.type, "partial_fallback", ctx.type)  # the class of a named tuple
    attribute = get_proper_type(ctx.default_attr_type)
    may_have_sizes = getattr(attribute, "args", ()) or isinstance(attribute, UnionType | TupleType)
    # In a body that is read, one of type Any may be a number, and a `Callable` is a function that is known.
    is_given = isinstance(attribute, AnyType) or _may_be_any_function(attribute)
    may_have_sizes = may_have_sizes or (is_given and "tapegrad.mypy.hooks" in sys.modules)
    return _settled_attribute(ctx) if may_have_sizes or getattr(holder, "args", ()) else ctx.default_attr_type


def _may_be_any_function(attribute: Type) -> bool:
    """Return whether an attribute is a `Callable`, or a protocol."""
    if isinstance(attribute, Instance):
        return attribute.type.is_protocol
    return isinstance(attribute, CallableType) and attribute.definition is None


def _tensor_sum(ctx: FunctionContext) -> Type:
    """Compute the type of `sum` over tensors; any other `sum` imports nothing."""
    is_given = ctx.arg_types and ctx.arg_types[0]
    return _sum_of_tensors(ctx) if is_given and _has_tensor_items(ctx.arg_types[0][0]) else ctx.default_return_type


def _takes_tensor(ctx: FunctionContext | MethodContext) -> bool:
    """Return whether the first argument of a call is a tensor."""
    return bool(ctx.arg_types) and bool(ctx.arg_types[0]) and _is_tensor(ctx.arg_types[0][0])


def _has_tensor_items(iterable: Type) -> bool:
    """Return whether a type is a tuple with a tensor, or a collection of tensors."""
    p = get_proper_type(iterable)
    parts = p.items if isinstance(p, TupleType) else getattr(p, "args", ())
    return any(isinstance(one, Instance) and one.type.has_base(_TENSOR) for one in map(get_proper_type, parts))


def _load_sum() -> Callable[[FunctionContext], Type]:
    from tapegrad.mypy.features import sums

    return sums.sum_result


def _load_fold(name: str) -> Callable[[], Callable[[Any], Any]]:
    def load() -> Callable[[Any], Any]:
        from tapegrad.mypy.features import folds

        hook: Callable[[Any], Any] = getattr(folds, name)
        return hook

    return load


def _folding(ctx: FunctionSigContext) -> FunctionLike:
    """Return the signature of `functools.reduce`; without tensors it imports nothing."""
    given = [ctx.api.get_expression_type(one) for several in ctx.args[1:] for one in several]
    return _fold_signature(ctx) if any(_is_tensor(t) or _has_tensor_items(t) for t in given) else ctx.default_signature


def _load_zip() -> Callable[[FunctionContext], Type]:
    from tapegrad.mypy.features import zipped

    return zipped.columns


def _load_map() -> Callable[[FunctionContext], Type]:
    from tapegrad.mypy.features import mapped

    return mapped.result


def _of_attribute(fullname: str) -> Callable[[Any], Any]:
    if fullname.endswith(".owns_tape"):
        return _owns_tape
    if fullname.startswith("tapegrad.nn.") and fullname.endswith((".bias", ".bias_x", ".bias_h")):
        return _bias
    return _attribute if fullname.endswith((".T", ".mT")) else _computed_attribute


def _growing(ctx: MethodSigContext) -> FunctionLike:
    """Return the signature of `append`; that of a collection of other items imports nothing."""
    return _extended(ctx) if _has_parts(ctx.type) else ctx.default_signature


def _is_tensor(t: Type) -> bool:
    """Return whether a type is a tensor, or one of several types with a tensor among them."""
    p = get_proper_type(t)
    if isinstance(p, UnionType):
        return any(map(_is_tensor, p.items))
    return isinstance(p, Instance) and p.type.fullname == _TENSOR


def _is_of_any(dictionary: Type) -> bool:
    """Return whether a type is the one that a dictionary has which a function without annotations returns."""
    p = get_proper_type(dictionary)
    is_any = isinstance(p, Instance) and bool(p.args) and isinstance(get_proper_type(p.args[0]), AnyType)
    return is_any and "tapegrad.mypy.hooks" in sys.modules


def _has_tensors(collection: Type) -> bool:
    p = get_proper_type(collection)
    return isinstance(p, Instance) and any(map(_is_tensor, p.args))


def _has_open_items(collection: Type) -> bool:
    """Return whether a type is that of a list of tensors with unknown parts, or of tuples with some."""
    p = get_proper_type(collection)
    return isinstance(p, Instance) and any(map(_is_open, p.args))


def _is_open(t: Type) -> bool:
    p = get_proper_type(t)
    if isinstance(p, TupleType):
        return any(map(_is_open, p.items))
    return isinstance(p, Instance) and p.type.fullname == _TENSOR and any(map(_has_any, p.args))


def _has_any(part: Type) -> bool:
    p = get_proper_type(part)
    parts = map(get_proper_type, p.items) if isinstance(p, TupleType) else [p]
    return any(isinstance(one, AnyType) for one in parts)


def _is_of_objects(collection: Type) -> bool:
    """Return whether a type is that of a list or a dictionary of objects.

    mypy gives it to `[[x], [y]]` with tensors of two shapes, and to arrays of two dtypes.
    """
    p = get_proper_type(collection)
    item = get_proper_type(p.args[-1]) if isinstance(p, Instance) and p.args else None
    return isinstance(item, Instance) and item.type.fullname == "builtins.object"


def _has_parts(collection: Type) -> bool:
    """Return whether the items of a collection may be tensors, or may contain some."""
    holder = get_proper_type(collection)
    items = [*map(get_proper_type, holder.args)] if isinstance(holder, Instance) else []
    return any(getattr(item, "args", ()) or isinstance(item, TupleType | UnionType) for item in items)


_types = {fullname: _lazy_type(fullname) for fullname in SPELLED}
_bare_layer = _guard(_load_bare_layer, lambda _: AnyType(TypeOfAny.from_error))
_CHECKED = "tapegrad.mypy.coverage.<checked>"  # a call that mypy checks last in a file
_begin = _guard(_load_begin, lambda _: None)
_end_if_last = _guard(_load_end_if_last, lambda ctx: ctx.default_return_type)
_signature = _guard(_lazy("opened_signature"), lambda ctx: ctx.default_signature)
_scan_signature = _guard(_lazy("scan_signature"), lambda ctx: ctx.default_signature)
_function = _guard(_lazy("function_result"), lambda ctx: ctx.default_return_type)
_method = _guard(_lazy("method_result"), lambda ctx: ctx.default_return_type)
_note_defaults = _guard(_load_note_defaults, lambda _: None)
_mark_class = _guard(_load_mark_class, lambda _: None)
_walk_scheduled = _guard(_lazy("walk_scheduled"), lambda ctx: ctx.default_return_type)
# Functions for which no other plugin is queried.
_alone = {_CHECKED: _end_if_last, AFTERWARDS: _walk_scheduled}
_alone |= {f"{_ASSERTIONS}{name}": _lazy_assertion(name) for name in ASSERTIONS}
_OURS = {
    "get_function_signature_hook": _signature,
    "get_method_signature_hook": _signature,
    "get_function_hook": _function,
    "get_method_hook": _method,
}
_attribute = _guard(_lazy("attribute_type"), lambda ctx: ctx.default_attr_type)
_owns_tape = _guard(_lazy("owns_tape"), lambda ctx: ctx.default_attr_type)
_settled_attribute = _guard(_lazy("settled_attribute"), lambda ctx: ctx.default_attr_type)
_bias = _guard(_lazy("bias_type"), lambda ctx: ctx.default_attr_type)
_number = _guard(_lazy("number_result"), lambda ctx: ctx.default_return_type)
_numbers = dict.fromkeys(
    ARITHMETIC,
    lambda ctx: _number(ctx) if ctx.api.type_context[-1] or _is_in_function(ctx.api) else ctx.default_return_type,
)
_numbers |= {
    fullname: _unless_known(_guard(_lazy(name), lambda ctx: ctx.default_return_type))
    for fullname, name in POWERS.items()
}
_extreme = _guard(_lazy("extreme_result"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(
    ["builtins.max", "builtins.min"],
    # mypy joins a named and a computed size to a union of protocols.
    lambda ctx: (
        _extreme(ctx) if isinstance(get_proper_type(ctx.default_return_type), UnionType) else ctx.default_return_type
    ),
)
_extended = _guard(_lazy("growing_signature"), lambda ctx: ctx.default_signature)
_numbers[_SCAN] = _guard(_lazy("scan_result"), lambda ctx: ctx.default_return_type)
_numbers[_CAST] = _guard(_lazy("cast_result"), lambda ctx: ctx.default_return_type)
_number_of_tensor = _guard(_lazy("number_of_tensor"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(
    ["builtins.float", "builtins.format", "builtins.int"],
    lambda ctx: _number_of_tensor(ctx) if _takes_tensor(ctx) else ctx.default_return_type,
)
_formatted = _guard(_lazy("formatted_tensor"), lambda ctx: ctx.default_return_type)
_numbers["builtins.str.format"] = lambda ctx: _formatted(ctx) if _takes_tensor(ctx) else ctx.default_return_type
_step = _guard(_lazy("optimizer_step"), lambda ctx: ctx.default_return_type)
_joined = _guard(_lazy("joined_lists"), lambda ctx: ctx.default_return_type)
_numbers["builtins.list.__add__"] = lambda ctx: _joined(ctx) if _has_parts(ctx.type) else ctx.default_return_type
_popped = _guard(_lazy("popped_result"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(
    ["builtins.list.pop", "collections.deque.pop"],
    lambda ctx: _popped(ctx) if isinstance(ctx.type, TupleType) else ctx.default_return_type,
)
_value_of_key = _guard(_lazy("value_of_key"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(
    [f"{kind}.{name}" for kind in ("builtins.dict", "typing.Mapping") for name in ("__getitem__", "get", "pop")],
    lambda ctx: (
        _value_of_key(ctx)
        if _is_tensor(ctx.default_return_type)
        or _has_tensors(ctx.default_return_type)
        or _is_of_any(ctx.type)
        or _is_of_objects(ctx.type)
        else ctx.default_return_type
    ),
)
_all_values = _guard(_lazy("all_values"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(
    [f"{kind}.{name}" for kind in ("builtins.dict", "typing.Mapping") for name in ("items", "values")],
    lambda ctx: (
        _all_values(ctx)
        if any(map(_is_tensor, getattr(ctx.default_return_type, "args", ())))
        or _is_of_any(ctx.type)
        or _is_of_objects(ctx.type)
        else ctx.default_return_type
    ),
)
_sum_of_tensors = _guard(_load_sum, lambda ctx: ctx.default_return_type)
_numbers["builtins.sum"] = _tensor_sum
_fold_signature = _guard(_load_fold("signature"), lambda ctx: ctx.default_signature)
_fold_result = _guard(_load_fold("result"), lambda ctx: ctx.default_return_type)
_numbers[_REDUCE] = lambda ctx: _fold_result(ctx) if _is_tensor(ctx.default_return_type) else ctx.default_return_type
_plain = _guard(_lazy("result_of_plain_call"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(["functools._lru_cache_wrapper.__call__", "functools.partial.__call__"], _plain)
_mapped = _guard(_load_map, lambda ctx: ctx.default_return_type)
_numbers["builtins.map"] = lambda ctx: (
    _mapped(ctx) if any(map(_is_tensor, getattr(ctx.default_return_type, "args", ()))) else ctx.default_return_type
)
_columns = _guard(_load_zip, lambda ctx: ctx.default_return_type)
# A call without a star imports nothing.
_numbers["builtins.zip"] = lambda ctx: (
    _columns(ctx) if any(one.is_star() for one in getattr(ctx.context, "arg_kinds", ())) else ctx.default_return_type
)
_of_objects = _guard(_lazy("item_of_objects"), lambda ctx: ctx.default_return_type)
_of_appended = _guard(_lazy("item_of_appended"), lambda ctx: ctx.default_return_type)
_numbers |= dict.fromkeys(
    [f"{kind}.{name}" for kind in ("builtins.list", "collections.deque") for name in ("__getitem__", "__iter__")],
    lambda ctx: (
        _of_objects(ctx)
        if _is_of_objects(ctx.type)
        else _of_appended(ctx)
        if _has_open_items(ctx.type)
        else ctx.default_return_type
    ),
)
_attribute_of_number = _guard(_lazy("attribute_of_number"), lambda ctx: ctx.default_attr_type)
_turned_attribute = _guard(_lazy("turned_attribute"), lambda ctx: ctx.default_attr_type)
_numbers |= dict.fromkeys(_TURNING, _guard(_lazy("turned_result"), lambda ctx: ctx.default_return_type))


def _of_array(ctx: MethodContext) -> Type:
    """Reject `array * x` with a tensor, which NumPy's stubs accept for an array of unknown dtype.

    mypy then tries the operator of the tensor.
    """
    if _takes_tensor(ctx):
        ctx.api.fail("an array leaves the operator to the tensor", ctx.context)
    return ctx.default_return_type


_numbers |= dict.fromkeys(
    [f"numpy.ndarray.__{name}__" for name in ("add", "floordiv", "matmul", "mod", "mul", "pow", "sub", "truediv")],
    _of_array,
)
