"""The import hook on packages that the tests write: with jaxtyping's hook, with decorators, and uninstalled."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import pickle
import re
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jaxtyping
import numpy as np
import pytest

import tapegrad as tg
from tapegrad import DTypeError, ShapeError, Tensor, install_import_hook
from tapegrad.guard import ImportHook

HEAD = """
from dataclasses import InitVar, dataclass, field
from typing import Any, Generic, Literal as L, TypeVar
import tapegrad as tg
from tapegrad import NoneTape, Shape, Tape, Tensor, Tensor2D, guarded
N = TypeVar("N", bound=int)
M = TypeVar("M", bound=int)
T = TypeVar("T", bound=Tape)
"""
ROWS = HEAD + "def rows(x: Tensor[Shape[N, L[3]], T]) -> Tensor[Shape[N], T]:\n    return x.sum(axis=1)\n"
ROWS_REJECTED = "rows: x is (2, 4) but (N, 3) is expected: axis 1 is 4, not 3"
Package = Callable[..., str]


def some(*shape: int) -> Tensor[Any, Any, Any]:
    return tg.zeros(shape)


def rejects(message: str, call: Callable[..., Any], *args: Any, error: type[Exception] = ShapeError) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call(*args)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Package]:
    """Write a package, and forget all that was imported of it."""
    before, finders = set(sys.modules), list(sys.meta_path)
    monkeypatch.syspath_prepend(tmp_path)

    def write(init: str = "", name: str = "digits", **modules: str) -> str:
        for module, source in {"__init__": init, **modules}.items():
            file = tmp_path / name / f"{module.replace('.', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(source, "utf-8")
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in {path.name for path in tmp_path.iterdir()}:
            del sys.modules[name]
    assert sys.meta_path == finders  # every test uninstalls what it installs


def imported(package: str, *submodules: str) -> Any:
    """Import a package under the hook."""
    with install_import_hook(package):
        for submodule in submodules:
            importlib.import_module(f"{package}.{submodule}")
        return importlib.import_module(package)


def defined(package: Package, source: str, *, future: bool = False) -> Any:
    """Import one module under the hook."""
    return imported(package(("from __future__ import annotations\n" if future else "") + HEAD + source))


# What is guarded, and from when on


def test_a_package_is_guarded_with_its_submodules(package: Package) -> None:
    name = package(ROWS, **{"model": ROWS, "parts.__init__": ROWS, "parts.rise": ROWS})

    digits = imported(name, "model", "parts.rise")

    for module in (digits, digits.model, digits.parts, digits.parts.rise):
        assert module.rows(some(2, 3)).shape == (2,)
        rejects(ROWS_REJECTED, module.rows, some(2, 4))


def test_modules_imported_before_and_after_are_not_guarded(package: Package) -> None:
    name = package(early=ROWS, during=ROWS, late=ROWS)
    early = importlib.import_module("digits.early")
    with pytest.warns(
        RuntimeWarning, match=r"^install_import_hook: imported already, hence unguarded: digits, digits\.early$"
    ):
        hook = install_import_hook(name)

    during = importlib.import_module("digits.during")
    hook.uninstall()
    hook.uninstall()
    late = importlib.import_module("digits.late")

    assert not hasattr(early.rows, "__wrapped__")
    assert not hasattr(late.rows, "__wrapped__")
    rejects(ROWS_REJECTED, during.rows, some(2, 4))


def test_a_package_of_another_name_is_not_guarded(package: Package) -> None:
    package(ROWS, name="digits2")
    package(ROWS, name="other")

    with install_import_hook("digits", "digits2.parts"):
        modules = [importlib.import_module(name) for name in ("digits2", "other")]

    assert not any(hasattr(module.rows, "__wrapped__") for module in modules)


def test_several_hooks_guard_once(package: Package) -> None:
    name = package(ROWS, model=ROWS)
    first, second = install_import_hook(name), install_import_hook(name, "other")

    first.uninstall()
    digits = importlib.import_module("digits.model")
    second.uninstall()

    assert not hasattr(digits.rows.__wrapped__, "__wrapped__")
    rejects(ROWS_REJECTED, digits.rows, some(2, 4))


def test_a_package_that_is_guarded_may_get_another_hook(package: Package) -> None:
    name = package(ROWS)
    imported(name)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        install_import_hook(name).uninstall()


def test_a_package_may_install_the_hook_for_itself(package: Package) -> None:
    init = "import tapegrad\nwith tapegrad.install_import_hook(__name__):\n    from digits import model\n"
    name = package(init, model=ROWS)

    digits: Any = importlib.import_module(name)

    rejects(ROWS_REJECTED, digits.model.rows, some(2, 4))


def test_a_reloaded_module_is_guarded_again(package: Package) -> None:
    name = package(ROWS)

    with install_import_hook(name):
        digits = importlib.import_module(name)
        package(ROWS.replace("L[3]", "L[5]") + "\n")  # longer, or Python takes it for what it compiled that second
        digits = importlib.reload(digits)

    rejects("rows: x is (2, 4) but (N, 5) is expected: axis 1 is 4, not 5", digits.rows, some(2, 4))


def test_namespace_packages_and_data_files_are_supported(package: Package, tmp_path: Path) -> None:
    package(name="unused")
    (tmp_path / "digits" / "deep").mkdir(parents=True)
    (tmp_path / "digits" / "deep" / "model.py").write_text(ROWS, "utf-8")

    with install_import_hook("digits"):
        model: Any = importlib.import_module("digits.deep.model")

    rejects(ROWS_REJECTED, model.rows, some(2, 4))


def test_the_hook_has_a_repr() -> None:
    hook = install_import_hook("digits", "letters")

    assert isinstance(hook, ImportHook)
    assert repr(hook) == "<import hook of tapegrad for digits, letters, installed>"
    hook.uninstall()
    assert repr(hook) == "<import hook of tapegrad for digits, letters, uninstalled>"


def test_invalid_package_names_are_rejected() -> None:
    before = list(sys.meta_path)
    install: Any = install_import_hook

    rejects("install_import_hook: a name of a package is expected", install, error=TypeError)
    rejects(
        "install_import_hook: a name of a package is a string but 3 is of type int",
        lambda: install("digits", 3),
        error=TypeError,
    )
    with pytest.raises(TypeError, match=r"is a string but <module 'tapegrad' .*> is a module; write its name$"):
        install(tg)
    rejects("install_import_hook: 'dig its' is no name of a package", install, "dig its", error=ValueError)
    rejects("install_import_hook: '' is no name of a package", install, "", error=ValueError)
    assert sys.meta_path == before


# What is let be


def test_a_function_without_tensors_is_unchanged(package: Package) -> None:
    source = """
def plain(n: int, names: list[str], mode: L[3, 5] = 3) -> dict[str, int]: ...
def generic(n: N) -> N: return n
def bare(x): return x
from typing_extensions import TypeAliasType
big = ["Tensor"]
def quoted(mode: L["big"]) -> None: ...
Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | int")
def loads(text: str) -> Json: ...
class Counter(Generic[N]):
    def __init__(self, n: N) -> None: self.n = n
    def plus(self, n: N) -> int: return self.n + n
"""

    for future in (False, True):
        digits = defined(package, source, future=future)

        functions = (digits.plain, digits.generic, digits.bare, digits.quoted, digits.loads)
        assert not any(hasattr(one, "__wrapped__") for one in functions)
        assert digits.Counter(0).plus(1) == 1  # a size would be at least 1
        assert vars(digits.Counter(3)) == {"n": 3}
        del sys.modules["digits"]


def test_a_literal_string_is_not_an_annotation(package: Package) -> None:
    digits = defined(package, 'def f(mode: L["Tensor"]) -> None: ...\n')

    assert not hasattr(digits.f, "__wrapped__")


def test_a_function_whose_annotations_resolve_to_no_tensor_is_not_checked(package: Package) -> None:
    digits = defined(package, 'def f(x: "Later", n: int) -> "Later": return x\nclass Later: ...\n')

    assert digits.f(3, "n") == 3


def test_no_type_check_is_respected(package: Package) -> None:
    source = """
from typing import no_type_check
@no_type_check
def f(x: Tensor[Shape[L[3]], Any]) -> None: ...
@no_type_check
class Model:
    def forward(self, x: Tensor[Shape[L[3]], Any]) -> None: ...
"""

    digits = defined(package, source)

    digits.f(some(4))
    digits.Model().forward("x")


def test_an_explicit_guard_is_not_applied_twice(package: Package) -> None:
    digits = defined(package, "@guarded\ndef f(n: N, x: Tensor[Shape[N], Any]) -> None: ...\n")

    assert not hasattr(digits.f.__wrapped__, "__wrapped__")
    rejects("f: N is 3 in n but 4 in x", digits.f, 3, some(4))


def test_decorators_are_applied_outside_the_guard(package: Package) -> None:
    source = """
import functools
from contextlib import contextmanager
class Model:
    @staticmethod
    def still(x: Tensor[Shape[L[3]], Any]) -> int: return 1
    @classmethod
    def of(cls, x: Tensor[Shape[L[3]], Any]) -> "Model": return cls()
    @property
    def weight(self) -> Tensor[Shape[L[3]], Any]: return tg.zeros((4,))
    @functools.cached_property
    def bias(self) -> Tensor[Shape[L[3]], Any]: return tg.zeros((4,))
@functools.cache
def cached(x: Tensor[Shape[L[3]], Any]) -> int: return 3
@contextmanager
def managed(x: Tensor[Shape[L[3]], Any]): yield x
"""

    digits = defined(package, source)

    rejected = "is (4,) but (3,) is expected: axis 0 is 4, not 3"
    model = digits.Model.of(some(3))
    assert isinstance(model, digits.Model)
    assert digits.Model.still(some(3)) == 1
    rejects(f"Model.still: x {rejected}", digits.Model.still, some(4))
    rejects(f"Model.of: x {rejected}", digits.Model.of, some(4))
    rejects(f"Model.weight: the result {rejected}", lambda: model.weight)
    rejects(f"Model.bias: the result {rejected}", lambda: model.bias)
    rejects(f"cached: x {rejected}", digits.cached, some(4))
    rejects(f"managed: x {rejected}", digits.managed, some(4))
    with digits.managed(some(3)) as x:
        assert x.shape == (3,)


# Kinds of functions and classes


@pytest.mark.parametrize("future", [False, True])
def test_the_initializer_of_a_dataclass_is_guarded(package: Package, *, future: bool) -> None:
    source = """
@dataclass(frozen=True)
class Batch(Generic[N]):
    images: Tensor[Shape[N, L[64]], NoneTape]
    labels: Tensor[Shape[N], NoneTape] = field(default_factory=lambda: tg.zeros((2,)))
    names: list[str] = field(default_factory=list)
    scale: InitVar[Tensor[Shape[()], Any] | None] = None
    def __post_init__(self, scale): ...
@dataclass(frozen=True)
class Weighed(Batch[N]):
    def second(self, x: Tensor[Shape[N], Any]) -> None: ...
"""
    digits = defined(package, source, future=future)

    batch = digits.Batch(some(2, 64))
    assert batch.names == []
    assert digits.Batch(some(5, 64), some(5)).labels.shape == (5,)
    rejects("Batch: N is 2 in images but 3 in labels", digits.Batch, some(2, 64), some(3))
    rejects("Batch: labels is an int but a tensor is expected", digits.Batch, some(2, 64), 3, error=DTypeError)
    rejects("Batch: scale is (3,) but () is expected: rank 1, not 0", digits.Batch, some(2, 64), some(2), [], some(3))
    weighed = digits.Weighed(some(5, 64), some(5))
    rejects("Weighed: N is 2 in images but 3 in labels", digits.Weighed, some(2, 64), some(3))
    weighed.second(some(5))


def test_a_dataclass_may_have_a_tensor_as_an_init_var(package: Package) -> None:
    digits = defined(package, "@dataclass\nclass Scaled:\n    by: InitVar[Tensor[Shape[L[3]], Any]]\n")

    digits.Scaled(some(3))
    rejects("Scaled: by is (4,) but (3,) is expected: axis 0 is 4, not 3", digits.Scaled, some(4))


def test_a_generic_class_keeps_the_sizes_of_its_initializer(package: Package) -> None:
    source = """
class Classifier(Generic[N]):
    def __init__(self, hidden: N) -> None: ...
    def forward(self, x: Tensor[Shape[M, N], T]) -> Tensor[Shape[M], T]: return x.sum(axis=1)
"""
    digits = defined(package, source, future=True)

    model = digits.Classifier(7)

    assert model.forward(some(2, 7)).shape == (2,)
    rejected = "Classifier.forward: x is (2, 5) but (M, 7) is expected: axis 1 is 5, not 7"
    for one in (model, copy.deepcopy(model), pickle.loads(pickle.dumps(model))):  # noqa: S301  # our own
        rejects(rejected, one.forward, some(2, 5))


def test_nested_functions_are_guarded(package: Package) -> None:
    source = """
def outer(n):
    K = TypeVar("K", bound=int)
    def inner(x: Tensor[Shape[K, K], T], y: "Tensor[Shape[K], Any]") -> int:
        return n
    return inner
"""
    digits = defined(package, source)

    assert digits.outer(3)(some(2, 2), some(2)) == 3
    assert digits.outer(4)(some(5, 5), some(5)) == 4
    rejects(
        "outer.<locals>.inner: K is 2 in x but 3 in y".rpartition("<locals>.")[2], digits.outer(3), some(2, 2), some(3)
    )


def test_coroutines_and_generators_are_guarded(package: Package) -> None:
    source = """
from collections.abc import AsyncIterator, Iterator
async def waits(x: Tensor[Shape[N, L[3]], T]) -> Tensor[Shape[N], T]: return x
def yields(x: Tensor[Shape[N, L[3]], T]) -> Iterator[Tensor[Shape[N], T]]: yield x
async def both(x: Tensor[Shape[N, L[3]], T]) -> AsyncIterator[Tensor[Shape[N], T]]: yield x
"""
    digits = defined(package, source, future=True)

    assert inspect.iscoroutinefunction(digits.waits)
    rejects(
        "waits: the result is (2, 3) but (N,) is expected: rank 2, not 1", lambda: asyncio.run(digits.waits(some(2, 3)))
    )
    rejected = "x is (2, 4) but (N, 3) is expected: axis 1 is 4, not 3"
    rejects(f"waits: {rejected}", lambda: asyncio.run(digits.waits(some(2, 4))))
    rejects(f"yields: {rejected}", digits.yields, some(2, 4))
    rejects(f"both: {rejected}", digits.both, some(2, 4))
    assert [x.shape for x in digits.yields(some(2, 3))] == [(2, 3)]


def test_a_function_is_pickled_by_its_name(package: Package) -> None:
    digits = imported(package(ROWS))

    assert pickle.loads(pickle.dumps(digits.rows)) is digits.rows  # noqa: S301  # our own


def test_tensors_in_aliases_and_callables_are_found(package: Package) -> None:
    source = """
from collections.abc import Callable
Matrix = Tensor2D[N, M, T]
Maybe = "Tensor[Shape[L[3]], Any] | None"
def alias(x: Matrix[L[3], N, T]) -> None: ...
def text(x: Maybe) -> None: ...
def calls(f: Callable[[Tensor[Shape[N], T]], int], x: Tensor[Shape[L[3]], Any]) -> int: return f(x)
"""
    digits = defined(package, source)

    rejects("alias: x is (2, 4) but (3, N) is expected: axis 0 is 2, not 3", digits.alias, some(2, 4))
    rejects("calls: x is (4,) but (3,) is expected: axis 0 is 4, not 3", digits.calls, len, some(4))
    rejects("text: x is (4,) but (3,) is expected: axis 0 is 4, not 3", digits.text, some(4))


def test_a_user_defined_op_is_guarded(package: Package) -> None:
    source = """
from typing import Protocol, overload
S = TypeVar("S", bound=tuple[Any, ...])
def halved_shape(x): return x
@tg.op(halved_shape)
def halved(x: Tensor[S, T]) -> Tensor[S, T]:
    operand, tape = tg.split_tape(x)
    return tape.record(tg.node(operand.data * 0.5), (operand,), lambda grads: None)
@overload
def f(x: Tensor[Shape[L[3]], Any]) -> int: ...
@overload
def f(x: None) -> None: ...
def f(x: Tensor[Shape[L[3]], Any] | None) -> int | None: return None if x is None else 3
class HasForward(Protocol):
    def forward(self, x: Tensor[Shape[L[3]], Any]) -> int: ...
"""
    digits = defined(package, source)

    assert digits.halved(some(3)).shape == (3,)
    rejects("halved: x is an int but a tensor is expected", digits.halved, 3, error=DTypeError)
    assert digits.f(None) is None
    rejects("f: x is (4,) but (3,) is expected: axis 0 is 4, not 3", digits.f, some(4))


# Names


def test_names_imported_under_type_checking_are_resolved(package: Package) -> None:
    source = """
from __future__ import annotations
import typing
from typing import TYPE_CHECKING, TypeVar
if TYPE_CHECKING:
    from _typeshed import SupportsRead
    from tapegrad import Shape, Tensor
    from digits.kinds import Kind
if typing.TYPE_CHECKING:
    from typing import Any
N = TypeVar("N", bound=int)
def f(x: Tensor[Shape[N], Any], kind: Kind, n: N) -> None: ...
def reads(file: SupportsRead[str], x: Tensor[Shape[N], Any], n: N) -> None: ...
"""
    digits = imported(package(model=source, kinds="class Kind: ...\n"), "model")

    assert "digits.kinds" not in sys.modules
    rejects("f: kind is an int but a Kind is expected", digits.model.f, some(3), 3, 3, error=DTypeError)
    rejects("f: N is 3 in x but 4 in n", digits.model.f, some(3), sys.modules["digits.kinds"].Kind(), 4)
    rejects("reads: N is 3 in x but 4 in n", digits.model.reads, None, some(3), 4)
    assert not hasattr(digits.model, "Kind")


def test_an_unresolved_annotation_with_a_tensor_is_an_error_that_names_the_function(package: Package) -> None:
    source = """
class Model:
    def forward(self, x: "Tensor[Shape[Nowhere], Any]") -> None: ...
def plain(x: "Nowhere") -> int: return 3
"""
    digits = defined(package, source)

    message = "Model.forward: the annotation of x cannot be resolved: name 'Nowhere' is not defined"
    rejects(message, digits.Model().forward, some(3), error=TypeError)
    assert digits.plain(3) == 3


# Source, bytecode


def test_line_numbers_and_sources_are_those_of_the_file(package: Package) -> None:
    source = '"""Words."""\nfrom __future__ import annotations\n' + ROWS + "    # the end\ndef g(): 1 / 0\n"
    digits = imported(package(source))

    with pytest.raises(ZeroDivisionError) as caught:
        digits.g()

    assert traceback.extract_tb(caught.tb)[-1].lineno == len(source.splitlines())
    assert inspect.getsource(digits.rows).startswith("def rows(x: Tensor[Shape[N, L[3]], T])")
    assert digits.__doc__ == "Words."


def test_guarded_bytecode_is_stored_beside_the_plain_one(
    package: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    name = package(ROWS)

    def forgotten() -> None:
        del sys.modules[name]

    plain = importlib.import_module(name)
    forgotten()
    first = imported(name)
    forgotten()
    monkeypatch.setattr("tapegrad.guard._loader._put_guards", None)  # not called again
    second = imported(name)
    forgotten()
    last = importlib.import_module(name)

    tags = sorted(path.name.split(".", 2)[2] for path in (tmp_path / name / "__pycache__").iterdir())
    assert tags == ["pyc", "tapegrad1.pyc"]
    for guarded in (first, second):
        rejects(ROWS_REJECTED, guarded.rows, some(2, 4))
    for bare in (plain, last):
        assert not hasattr(bare.rows, "__wrapped__")


# Beside jaxtyping

BESIDE = (
    HEAD
    + """
import numpy as np
from beartype import beartype
from jaxtyping import Float, jaxtyped
def array(x: Float[np.ndarray, "b 3"], y: Float[np.ndarray, "b"]) -> None: ...
def mixed(x: Float[np.ndarray, "b 3"], y: Float[np.ndarray, "b"], z: Tensor[Shape[N, L[3]], T], n: N) -> None: ...
@jaxtyped(typechecker=beartype)
def own(x: Float[np.ndarray, "b 3"], y: Float[np.ndarray, "b"]) -> None: ...
@jaxtyped(typechecker=beartype)
def own_mixed(x: Float[np.ndarray, "b 3"], y: Float[np.ndarray, "b"], z: Tensor[Shape[N, L[3]], T], n: N) -> None: ...
@dataclass
class Both:
    x: Float[np.ndarray, "b 3"]
    y: Float[np.ndarray, "b"]
    z: Tensor[Shape[N, L[3]], Any]
    n: N
"""
)


def check_beside(digits: ModuleType, *, hooked: bool) -> None:
    right, wrong = (np.zeros((2, 3)), np.zeros(2)), (np.zeros((2, 3)), np.zeros(5))
    functions: Any = digits
    both = (functions.mixed, functions.own_mixed, functions.Both)
    for function in (functions.array, functions.own):
        function(*right)
    for function in (functions.own, *both[:2], *([functions.array, functions.Both] if hooked else [])):
        extra = (some(4, 3), 4) if function in both else ()
        with pytest.raises(jaxtyping.TypeCheckError, match=r"typechecking parameter 'y'|Both"):
            function(*wrong, *extra)
    for function in both:
        function(*right, some(4, 3), 4)
        rejects(f"{function.__name__}: N is 4 in z but 5 in n", function, *right, some(4, 3), 5)


def test_jaxtypings_annotations_and_decorator_keep_working(package: Package) -> None:
    check_beside(imported(package(BESIDE)), hooked=False)


@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_jaxtypings_hook_works_beside_ours(package: Package, first: str) -> None:
    name = package(BESIDE, model=BESIDE)
    finders = list(sys.meta_path)

    def ours() -> ImportHook:
        return install_import_hook(name)

    def theirs() -> Any:
        return jaxtyping.install_import_hook(name, "beartype.beartype")

    hooks = [install() for install in ((ours, theirs) if first == "ours" else (theirs, ours))]
    digits: Any = importlib.import_module(name)
    importlib.import_module(f"{name}.model")
    for hook in hooks:
        hook.uninstall()

    check_beside(digits, hooked=True)
    check_beside(digits.model, hooked=True)
    assert sys.meta_path == finders


@pytest.mark.parametrize("checked", [True, False], ids=["this package", "another package"])
def test_beartypes_hook_works_beside_ours(package: Package, tmp_path: Path, *, checked: bool) -> None:
    name = package(HEAD + "def f(x: Tensor[Shape[N, L[3]], T], names: list[int]) -> None: ...\n")
    program = f"""
import sys
from beartype.claw import beartype_package
from beartype.roar import BeartypeCallHintViolation
import tapegrad as tg
from tapegrad.errors import ShapeError
beartype_package({(name if checked else "another")!r})
tg.install_import_hook({name!r})
sys.path.insert(0, {str(tmp_path)!r})
from {name} import f
f(tg.ones((2, 3)), [1])
for x, names in ((tg.ones((2, 4)), [1]), (tg.ones((2, 3)), ["a"])):
    try:
        f(x, names)
    except (ShapeError, BeartypeCallHintViolation) as error:
        print(type(error).__name__)
"""

    for _ in range(2):  # the second time from the cache
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("ShapeError\nBeartypeCallHintParamViolation\n", "")
