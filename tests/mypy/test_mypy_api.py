"""Only the modules `mypy_*` of the plugin use mypy outside its plugin interface, and each of their functions works.

mypy checks a small program for each function. Where the program calls `probe`, or has the annotation `Probed`, the
function is called with what mypy has there.
"""

from __future__ import annotations

import ast
import inspect
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest
from mypy import plugin as interface
from mypy.build import build
from mypy.errorcodes import ErrorCode
from mypy.literals import literal_hash
from mypy.modulefinder import BuildSource
from mypy.nodes import FuncDef, MatchStmt, Var
from mypy.options import Options
from mypy.plugin import Plugin
from mypy.types import AnyType, CallableType, Instance, NoneType, TypeOfAny, UninhabitedType, UnionType, get_proper_type

from tapegrad.mypy import mypy_api as api
from tapegrad.mypy import mypy_files as files

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT: Final = Path(api.__file__).parent
PROBES: Final = "from typing import Any, TypeVar\nclass Probed: ...\ndef probe(*given: Any) -> Any: ...\n"
HEAD: Final = "from typing import Any, Final, Generic, Literal\nfrom probes import Probed, probe\n"
LATER: Final = ErrorCode("probed", "", "Tests")

# The rule


def interface_members() -> set[str]:
    """Return what mypy's documentation lets a plugin use of the objects that it gets as `ctx.api`."""
    kinds = [one for name, one in vars(interface).items() if name.endswith(("PluginInterface", "PluginApi"))]
    return {name for kind in kinds for name in (*dir(kind), *vars(kind).get("__annotations__", ()))}


INTERFACE: Final = {f"mypy.{name}" for name in ("nodes", "types", "patterns", "plugin", "errorcodes", "options")}
EXCEPTIONS: Final = {
    "__init__": {
        "mypy.errors.CompileError",  # a wrong setting ends mypy with it
        "mypy.version.__version__",
        "errors.file",  # the report that the plugin, and so `mypy_api`, does not load
        "errors.report",
    },
    "features/body_expressions": {"mypy.errors.ErrorInfo"},  # in an annotation
}


def uses_of_internals(path: Path) -> set[str]:
    """Return the modules of mypy outside its plugin interface that a file imports, and such members that it uses."""
    members, found = interface_members(), set[str]()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module.partition(".")[0] == "mypy":
                found |= {f"{module}.{one.name}" for one in names if module not in INTERFACE}
            case ast.Import(names=names):
                found |= {one.name for one in names if one.name.partition(".")[0] == "mypy"}
            case ast.Attribute(value=ast.Name(id=of) | ast.Attribute(attr=of), attr=name) if of in {
                *("api", "_api", "_analyzer", "_checker", "binder", "expr_checker", "tscope"),
                *("analyzer", "checker") * (path.parent.name != "coverage"),  # where these are its own
            }:
                found |= {f"{of}.{name}"} - {f"{of}.{member}" for member in members}
            case ast.Attribute(value=ast.Name(id="errors"), attr="file" | "report" | "error_info_map" as name):
                found.add(f"errors.{name}")
            case ast.Attribute(attr="_fullname" | "_type_maps" | "_watchers" | "_final_iteration" as name):
                found.add(name)
    return found


def test_only_the_modules_named_after_mypy_use_its_internals() -> None:
    found = {
        str(path.relative_to(ROOT).with_suffix("")): uses_of_internals(path)
        for path in sorted(ROOT.rglob("*.py"))
        if not path.name.startswith("mypy_")
    }

    assert {name: uses for name, uses in found.items() if uses} == EXCEPTIONS


def test_uses_of_internals_are_found(tmp_path: Path) -> None:
    program = tmp_path / "one.py"
    program.write_text("from mypy.parse import parse\nctx.api.tree\nself._api.expr_checker.accept(x)\nv._fullname\n")

    found = uses_of_internals(program)

    assert found == {"mypy.parse.parse", "api.tree", "_api.expr_checker", "expr_checker.accept", "_fullname"}


# Each function


class Case(NamedTuple):
    """A function of `mypy_api` or `mypy_files`, called where mypy checks a program."""

    program: str
    call: Callable[[Any], object]
    expected: object


def given(ctx: Any, number: int = 0) -> Any:
    return ctx.args[0][number]


def type_given(ctx: Any, number: int = 0) -> Any:
    return ctx.arg_types[0][number]


def variable(ctx: Any, number: int = 0) -> Var:
    node = given(ctx, number).node
    assert isinstance(node, Var)
    return node


def function_of(ctx: Any, name: str) -> FuncDef:
    node = ctx.api.modules[files.program_file(ctx.api).fullname].names[name].node
    assert isinstance(node, FuncDef)
    return node


def anything() -> AnyType:
    return AnyType(TypeOfAny.special_form)


def inside(*managers: Any, then: Callable[[], object]) -> object:
    with ExitStack() as stack:
        for manager in managers:
            stack.enter_context(manager)
        return then()


def fail_inside(ctx: Any, *managers: Any, message: str) -> None:
    inside(*managers, then=lambda: ctx.api.fail(message, ctx.context, code=LATER))


def in_body(ctx: Any, name: str, then: Callable[[Any, FuncDef], object]) -> object:
    function = function_of(ctx, name)
    with api.inside_body(ctx.api, function) as errors:
        api.checked_type(ctx.api, function.body.body[0].expr, may_be_none=True)  # type: ignore[attr-defined]  # a call
        return then(errors, function)


def with_other_type(ctx: Any) -> object:
    expression = given(ctx)
    with api.with_types(ctx.api, {expression: NoneType()}):
        return str(api.stored_type(ctx.api, expression))


def deferring(ctx: Any) -> object:
    with api.deferring_nothing(ctx.api):
        ctx.api.current_node_deferred = True
        ctx.api.deferred_nodes.append(None)
    return ctx.api.current_node_deferred, None in ctx.api.deferred_nodes


def in_scope(ctx: Any, name: str) -> object:
    with api.in_scope_of(ctx.api, function_of(ctx, name)):
        return getattr(api.enclosing_function(ctx.api), "name", None)


def statement(ctx: Any, kind: type) -> Any:
    return next(one for one in files.program_file(ctx.api).defs if isinstance(one, kind))


def attribute(ctx: Any, number: int) -> Var:
    found = api.attribute_variable(given(ctx, number), ctx.api)
    assert isinstance(found, Var)
    return found


def narrowed_to_str(ctx: Any) -> str:
    api.narrow(ctx.api, given(ctx), ctx.api.named_type("builtins.str"))
    return str(api.newest_binding(given(ctx), ctx.api))


def narrowed_in_loop(ctx: Any) -> set[str]:
    api.narrow_in_loops(ctx.api, given(ctx), lambda _: ctx.api.named_type("builtins.str"))
    key = literal_hash(given(ctx))
    return {str(one.types[key].type) for one in ctx.api.binder.frames if key in one.types}


def narrowed_inside(ctx: Any, condition: Any, *, is_true: bool) -> object:
    with api.frame(ctx.api):
        api.narrow_by_condition(ctx.api, condition, is_true=is_true)
        return str(api.newest_binding(given(ctx), ctx.api))


def matched(ctx: Any) -> api.Matched:
    (pattern,) = statement(ctx, MatchStmt).patterns
    return api.matched_type(ctx.api, pattern, type_given(ctx))


def ends(ctx: Any) -> bool:
    with api.frame(ctx.api, can_skip=False):
        api.end_here(ctx.api)
        return bool(ctx.api.binder.is_unreachable())


def parsed_again(ctx: Any) -> object:
    tree = files.program_file(ctx.api)
    text = files.text_of_file(tree.path, ctx.api)
    parsed = files.parse_again(text or "", tree.path, tree, ctx.api)
    return parsed and ([*parsed.functions], [*parsed.classes], sorted(parsed.rejected))


def stored_hash(ctx: Any) -> object:
    analyzer = files.analyzer_of(ctx.api)
    files.store_hash(analyzer, "of@text", "x = 1")
    tree = files.analyzed_file(analyzer)
    return [files.has_hash_of(tree, "of@text", text) for text in ("x = 1", "x = 2")]


def stored_hash_in(ctx: Any) -> object:
    tree = files.program_file(ctx.api)
    files.store_hash_in(tree, "of@text", "x = 1")
    return [files.has_hash_of(tree, "of@text", text) for text in ("x = 1", "x = 2")]


def depended(ctx: Any, depend: Callable[[], object]) -> object:
    before = {target: {*names} for target, names in ctx.api.tree.alias_deps.items()}
    refs = {*ctx.api.module_refs}
    depend()
    after = ctx.api.tree.alias_deps
    new = {name for target, names in after.items() for name in names - before.get(target, set())}
    return sorted(new | ({*ctx.api.module_refs} - refs))


def depend_on_fractions(ctx: Any) -> set[str]:
    ctx.api.module_refs.clear()
    api.depend_on(ctx.api, type_given(ctx))
    return {*ctx.api.module_refs} & {"builtins", "fractions"}


def report_once(ctx: Any) -> None:
    api.report_later(ctx.api, [api.Placed("reported later", 1, 0, 1, 1, None)], LATER)


def queued(ctx: Any) -> object:
    before = [*ctx.api.deferred_nodes]
    call = api.call_last(ctx.api, "probes.later")
    following = api.not_yet_last(ctx.api, call)
    ctx.api.deferred_nodes[:] = before
    return call.fullname, following is not None


def scheduled(ctx: Any) -> object:
    before = [*ctx.api.deferred_nodes]
    api.schedule(ctx.api, ctx.api.tree)
    (node,) = (one.node for one in ctx.api.deferred_nodes if one not in before)
    ctx.api.deferred_nodes[:] = before
    return api.scheduled_unit(ctx.api, node.body.body[0].expr) is ctx.api.tree


INT, STR = "int", "str"
CASES: Final[dict[Any, Case]] = {
    api.make: Case("probe()", lambda c: str(api.make(c.api)("builtins.list", [anything()])), "list[Any]"),
    api.lookups_behind: Case(
        "probe()",
        lambda c: [
            len(api.lookups_behind(c.api.plugin._plugins[0], c.api, "get_method_hook", name))
            for name in ("builtins.str.upper", "builtins.int.__pow__")
        ],
        [0, 1],
    ),
    api.constant_value: Case("probe(2 * -0.5)", lambda c: api.constant_value(given(c)), -1.0),
    api.method_of_operator: Case(
        "probe()", lambda _: [api.method_of_operator(one) for one in ("+", "and")], ["__add__", ""]
    ),
    api.names_used: Case(
        "x = [1]\nx.append(2)\nprobe()", lambda c: api.names_used(c.api.tree), {"x", "append", "probe"}
    ),
    api.enclosing_function: Case("def f() -> None:\n    probe()", lambda c: api.enclosing_function(c.api).name, "f"),  # type: ignore[union-attr]  # in f
    api.returned_type: Case("def f() -> int:\n    return probe()", lambda c: str(api.returned_type(c.api)), INT),
    api.expected_type: Case("x: int = probe()", lambda c: str(api.expected_type(c.api)), INT),
    api.outermost_scope: Case(
        "def f() -> None:\n    def g() -> None:\n        probe()",
        lambda c: api.outermost_scope(c.api).name,  # type: ignore[attr-defined]  # a function
        "f",
    ),
    api.module_tree: Case(
        "import probes\nx = 1\nprobe(x)", lambda c: api.module_tree(c.api, variable(c)) is c.api.tree, expected=True
    ),
    api.checked_file: Case("probe()", lambda c: api.checked_file(c.api) is c.api.tree, expected=True),
    api.checked_path: Case("probe()", lambda c: Path(api.checked_path(c.api)).name, "checked_path.py"),
    api.shown_path: Case("probe()", lambda c: Path(api.shown_path(c.api.path, c.api)).name, "shown_path.py"),
    api.rejected_so_far: Case("\nx: int = ''\nprobe()", lambda c: api.rejected_so_far(c.api), frozenset({4})),
    api.rejected_lines: Case(
        "x: int = ''  # type: ignore\nprobe()", lambda c: api.rejected_lines(c.api.errors, c.api.path), frozenset({3})
    ),
    api.declared_attribute: Case(
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Box(Generic[T]):\n"
        "    x: list[T]\nb: Box[int]\nprobe(b)",
        lambda c: [str(api.declared_attribute(type_given(c), name)) for name in ("x", "y")],
        ["list[int]", "None"],
    ),
    api.declared_function: Case(
        "probe()", lambda c: str(api.declared_function(c.api, "probes.probe")), "def (*given: Any) -> Any"
    ),
    api.tried_method: Case(
        "probe('a')",
        lambda c: [
            (str(trial.result), len(trial.errors))
            for name in ("upper", "absent")
            for trial in [api.tried_method(c.api, type_given(c), name, [], c.context)]
        ],
        [(STR, 0), ("Any", 1)],
    ),
    api.tried_call: Case(
        "def f(x: int) -> str: return ''\nprobe(f, 3, '')",
        lambda c: [
            (str(trial.result), [code and code.code for _, code in trial.errors])
            for number in (1, 2)
            for trial in [api.tried_call(c.api, type_given(c), [api.Argument(type_given(c, number))], c.context)]
        ],
        [(STR, []), (STR, ["arg-type"])],
    ),
    api.is_reported: Case(
        "probe()",
        lambda c: [
            api.is_reported(c.api, c.context, LATER),
            c.api.fail("reported", c.context, code=LATER) and None,
            api.is_reported(c.api, c.context, LATER),
        ],
        [False, None, True],
    ),
    api.type_of_call: Case(
        "class C:\n    def __init__(self, x: int) -> None: ...\nprobe(C(3), 3, '')",
        lambda c: [
            (made is not None, [str(one.code) for one in errors])
            for number in (1, 2)
            for made, errors in [
                api.type_of_call(c.api, get_proper_type(type_given(c)).type, [api.Argument(type_given(c, number))])
            ]
        ],
        [(True, []), (False, ["<ErrorCode arg-type>"])],
    ),
    api.any_list: Case("probe()", lambda c: str(api.any_list(c.api)), "list[Any]"),
    api.any_tuple: Case("probe()", lambda c: str(api.any_tuple(c.api)), "tuple[Any, ...]"),
    api.in_scope_of: Case("def f() -> None: ...\nprobe()", lambda c: in_scope(c, "f"), "f"),
    api.deferring_nothing: Case("probe()", deferring, (False, False)),
    api.declared_signatures: Case(
        "probe()",
        lambda c: [str(one) for one in api.declared_signatures(c.api, "probes.probe")],
        ["def (*given: Any) -> Any"],
    ),
    api.type_where: Case(
        "x = 1\nprobe(x + 1)",
        lambda c: str(api.type_where(c.api, given(c).left.node, c.api.named_type("builtins.float"), given(c))),
        "float",
    ),
    api.inside_body: Case(
        "def f() -> None:\n    ''.absent()\nprobe()",
        lambda c: in_body(c, "f", lambda errors, _: len(errors())),
        1,
    ),
    api.types_in_body: Case(
        "def f() -> None:\n    ''.upper()\nprobe()",
        lambda c: in_body(
            c,
            "f",
            lambda _, f: str(api.types_in_body(c.api).get(f.body.body[0].expr)),  # type: ignore[attr-defined]  # a call
        ),
        STR,
    ),
    api.type_in_body: Case(
        "def f() -> None:\n    ''.upper()\nprobe()",
        lambda c: in_body(
            c,
            "f",
            lambda _, f: str(api.type_in_body(c.api, f.body.body[0].expr)),  # type: ignore[attr-defined]  # a call
        ),
        STR,
    ),
    api.is_of_library: Case("probe(probe)", lambda c: api.is_of_library(type_given(c)), expected=False),
    api.depend_on: Case(
        "from fractions import Fraction\ndef f(x: Fraction) -> None: ...\nprobe(f)",
        depend_on_fractions,
        {"builtins", "fractions"},
    ),
    api.depend_on_method: Case(
        "probe('')",
        lambda c: depended(c, lambda: api.depend_on_method(c.api, type_given(c), "upper", anything())),
        ["builtins.str.upper"],
    ),
    api.depend_on_name: Case(
        "probe()", lambda c: depended(c, lambda: api.depend_on_name(c.api, "probes.other")), ["probes.other"]
    ),
    api.silenced: Case("probe()", lambda c: fail_inside(c, api.silenced(c.api), message="is silent"), None),
    api.past_trial: Case(
        "probe()",
        lambda c: fail_inside(c, api.silenced(c.api), api.past_trial(c.api), message="is reported"),
        None,
    ),
    api.note: Case("probe()", lambda c: api.note(c.api, "is noted", c.context), None),
    api.report_later: Case("probe()", report_once, None),
    api.method_signature: Case(
        "probe('')", lambda c: str(api.method_signature(c.api, type_given(c), "upper")), "def () -> str"
    ),
    api.needs_others: Case(
        "class A:\n    def forward(self, x: int, y: int) -> int: return x\nprobe(A())",
        lambda c: api.needs_others(c.api, type_given(c)),
        expected=True,
    ),
    api.called: Case(
        "class A:\n    def __call__(self) -> int: return 1\nprobe(A(), 1)",
        lambda c: [str(api.called(type_given(c, number))) for number in (0, 1)],
        ["def () -> int", "None"],
    ),
    api.method_of: Case("probe('')", lambda c: str(api.method_of(type_given(c), "upper")), "def () -> str"),
    api.narrow: Case("x: object = 1\nprobe(x)", narrowed_to_str, STR),
    api.items_of_iterable: Case(
        "from collections import deque\nx: deque[int] = deque()\nprobe(x, 1)",
        lambda c: [list(map(str, api.items_of_iterable(type_given(c, number)))) for number in (0, 1)],
        [[INT], []],
    ),
    api.has_annotation: Case(
        "class A:\n    def __init__(self) -> None:\n        self.x: int = 1\n        self.y = 1\nprobe(A().x, A().y)",
        lambda c: [api.has_annotation(attribute(c, number)) for number in (0, 1)],
        [True, False],
    ),
    api.narrow_in_loops: Case(
        "def f(x: object) -> None:\n    x = 1\n    while x:\n        x = 2\n        probe(x)", narrowed_in_loop, {STR}
    ),
    api.narrowed: Case(
        "def f(x: object) -> None:\n    if isinstance(x, int):\n        probe(x)",
        lambda c: str(api.narrowed(c.api, variable(c))),
        INT,
    ),
    api.name_of: Case("x = 1\nprobe(x)", lambda c: api.name_of(variable(c)).node is variable(c), expected=True),
    api.frame: Case(
        "def f(x: object) -> None:\n    if isinstance(x, int):\n        probe(x)",
        lambda c: (
            inside(api.frame(c.api, can_skip=True), then=lambda: narrowed_to_str(c)),
            str(api.newest_binding(given(c), c.api)),
        ),
        (STR, "int | str"),
    ),
    api.end_here: Case("probe()", ends, expected=True),
    api.caught_type: Case("probe(ValueError)", lambda c: str(api.caught_type(c.api, given(c))), "ValueError"),
    api.entered_type: Case(
        "class A:\n    def __enter__(self) -> int: return 1\n    def __exit__(self, *a: Any) -> None: ...\nprobe(A())",
        lambda c: str(api.entered_type(c.api, type_given(c), given(c))),
        INT,
    ),
    api.may_suppress: Case(
        "class A:\n    def __exit__(self, *a: object) -> bool: return True\nprobe(A(), 1)",
        lambda c: [api.may_suppress(type_given(c, number)) for number in (0, 1)],
        [True, False],
    ),
    api.matched_type: Case(
        "x: int | str = probe(probe)\nmatch x:\n    case int(): probe(x)",
        lambda c: isinstance(get_proper_type(type_given(c)), Instance) and str(matched(c).type),
        INT,
    ),
    api.is_impossible: Case("probe()", lambda _: api.is_impossible(UninhabitedType()), expected=True),
    api.is_always: Case(
        "x: Literal[True] = True\ny: bool = probe(x)\nprobe(x, y)",
        lambda c: [api.is_always(c.api, one) for one in c.args[0]],
        [True, None],
    ),
    api.narrow_by_condition: Case(
        "def f(x: object, y: bool) -> None: probe(x, isinstance(x, int))",
        lambda c: narrowed_inside(c, given(c, 1), is_true=True),
        INT,
    ),
    api.stored_type: Case("x = 1\nprobe(x)", lambda c: str(api.stored_type(c.api, given(c))), INT),
    api.type_of: Case("x = 1\nprobe(x)", lambda c: str(api.type_of(c.api, given(c))), INT),
    api.newest_binding: Case(
        "def f(x: object) -> None:\n    if isinstance(x, int):\n        probe(x)",
        lambda c: str(api.newest_binding(given(c), c.api)),
        INT,
    ),
    api.attribute_variable: Case(
        "class A:\n    b = 1\nprobe(A().b)",
        lambda c: getattr(api.attribute_variable(given(c), c.api), "name", None),
        "b",
    ),
    api.simplified_union: Case(
        "probe(1, True)",
        lambda c: str(api.simplified_union([c.api.named_type("builtins.int"), c.api.named_type("builtins.int")])),
        INT,
    ),
    api.accepts: Case(
        "def f(x: list[int]) -> None: ...\nprobe([1], '')",
        lambda c: [api.accepts(function_of(c, "f").type.arg_types[0], type_given(c, n)) for n in (0, 1)],  # type: ignore[union-attr]  # annotated
        [True, False],
    ),
    api.accepts_strictly: Case(
        "probe(None, 1)",
        lambda c: api.accepts_strictly(c.api.named_type("builtins.int"), type_given(c)),
        expected=False,
    ),
    api.pass_of: Case("def f() -> None:\n    probe()", lambda c: api.pass_of(c.api)[1], expected=True),
    api.with_types: Case("x = 1\nprobe(x)", with_other_type, "None"),
    api.quiet_type: Case("x = 1\nprobe(x)", lambda c: str(api.quiet_type(c.api, given(c))), INT),
    api.checked_type: Case("x = 1\nprobe(x)", lambda c: str(api.checked_type(c.api, given(c), may_be_none=False)), INT),
    api.iterated_type: Case("x = ['']\nprobe(x)", lambda c: str(api.iterated_type(c.api, given(c))), STR),
    api.file_has_code: Case("probe()", lambda c: api.file_has_code(c.api, LATER), expected=False),
    api.types_so_far: Case("x = 1\nprobe(x)", lambda c: str(api.types_so_far(c.api)[given(c)]), INT),
    api.skips_untyped: Case("probe()", lambda c: api.skips_untyped(c.api.options), expected=True),
    api.is_daemon: Case("probe()", lambda c: api.is_daemon(c.api.options), expected=False),
    api.can_read_bodies: Case("probe()", lambda c: api.can_read_bodies(c.api.options), expected=True),
    api.can_report: Case("probe()", lambda c: api.can_report(c.api), expected=True),
    api.call_last: Case("probe()", queued, ("probes.later", True)),
    api.schedule: Case("probe()", scheduled, expected=True),
    api.returned_by: Case("def f() -> int: ...\nprobe()", lambda c: str(api.returned_by(function_of(c, "f"))), INT),
    api.written_types: Case(
        "A = list[int]\ndef f(x: A) -> None: ...\nprobe(f)",
        lambda c: str(api.written_types(type_given(c))[0]),
        "list[int]",
    ),
    api.formals_of: Case(
        "probe('')",
        lambda c: [str(one) for one in api.formals_of(c.context, signature(c, "probes.probe")).values()],
        ["Any"],
    ),
    api.expand_type: Case("probe(1)", lambda c: str(api.expand_type(type_given(c), {})), "Literal[1]?"),
    api.fill_typevars: Case(
        "class A: ...\nprobe(A())",
        lambda c: str(api.fill_typevars(type_given(c).type)),
        "fill_typevars.A",
    ),
    api.get_all_type_vars: Case("probe(1)", lambda c: api.get_all_type_vars(type_given(c)), []),
    api.map_instance_to_supertype: Case(
        "class A(list[int]): ...\nprobe(A())",
        lambda c: str(api.map_instance_to_supertype(type_given(c), c.api.named_type("builtins.list").type)),
        "list[int]",
    ),
    api.remove_optional: Case(
        "x: int | None = probe(probe)\nprobe(x)",
        lambda c: isinstance(type_given(c), UnionType) and str(api.remove_optional(type_given(c))),
        INT,
    ),
    files.file_of_module: Case(
        "probe()", lambda c: [bool(files.file_of_module(name, c.api)) for name in ("probes", "absent")], [True, False]
    ),
    files.all_modules: Case("probe()", lambda c: {"probes", "builtins"} <= files.all_modules(c.api), expected=True),
    files.text_of_file: Case(
        "probe()  # so", lambda c: (files.text_of_file(c.api.path, c.api) or "").splitlines()[-1], "probe()  # so"
    ),
    files.is_fine_grained: Case("probe()", lambda c: files.is_fine_grained(c.api), expected=False),
    files.owner_of_files: Case("probe()", lambda c: files.owner_of_files(c.api) is c.api.modules, expected=True),
    files.parse_again: Case(
        "class A:\n    def g(self) -> int: return absent\ndef f() -> None: ...\nprobe()",
        parsed_again,
        (["parse_again.A.g", "parse_again.f"], ["parse_again.A"], [4]),
    ),
    files.full_names_used: Case(
        "x = 1\nprobe(x)",
        lambda c: {"probes.probe", "full_names_used.x"} <= files.full_names_used(c.api.tree),
        expected=True,
    ),
    files.program_file: Case("probe()", lambda c: files.program_file(c.api) is c.api.tree, expected=True),
    files.in_file: Case(
        "probe()",
        lambda c: inside(
            files.in_file(c.api.modules["probes"], c.api),
            then=lambda: (c.api.tree.fullname, files.program_file(c.api).fullname),
        ),
        ("probes", "in_file"),
    ),
    files.store_hash_in: Case("probe()", stored_hash_in, [True, False]),
    files.depend_on_names: Case(
        "probe()", lambda c: depended(c, lambda: files.depend_on_names(frozenset({"a.b"}), c.api)), ["a.b"]
    ),
    files.depend_on_modules: Case(
        "probe()", lambda c: depended(c, lambda: files.depend_on_modules(frozenset({"sys.a"}), c.api)), ["sys.a"]
    ),
}
IN_ANNOTATIONS: Final[dict[Any, Case]] = {
    api.named_in: Case("x: Probed", lambda c: api.named_in(c.api, c.type), "probes.Probed"),
    api.wait_for: Case("x: Probed", lambda c: str(api.wait_for(c.api, "probes.Probed", [])), "probes.Probed"),
    api.class_type: Case("x: Probed", lambda c: str(api.class_type(c.api, c.type)), "probes.Probed"),
    api.is_complete: Case("x: Probed", lambda c: api.is_complete(c.type), expected=True),
    api.analyzed_function: Case(
        "def f(x: Probed) -> None: ...", lambda c: getattr(api.analyzed_function(c.api), "name", None), "f"
    ),
    api.alias_of: Case("A = list[int]\nx: Probed", lambda c: api.alias_of(c.api, "probes.Probed"), None),
    files.analyzer_of: Case("x: Probed", lambda c: files.analyzer_of(c.api) is c.api.api, expected=True),
    files.analyzed_file: Case(
        "x: Probed", lambda c: files.analyzed_file(files.analyzer_of(c.api)).fullname, "analyzed_file"
    ),
    files.store_hash: Case("x: Probed", stored_hash, [True, False]),
}

# Other tests of what several of these functions do together.
ELSEWHERE: Final = {
    "scalar_type": "tests/mypy/test_scalars.py",
    "report_in_body": "tests/mypy/test_bodies.py",
    "type_of_other": "tests/mypy/test_bodies.py",
    "expect_elements": "tests/mypy/test_bodies.py",
    "fill_element": "tests/mypy/test_bodies.py",
    "names_in_body": "tests/mypy/test_incremental.py",
    "depend_on_types_in_body": "tests/mypy/test_incremental.py",
    "depend_on_bodies": "tests/mypy/test_incremental.py",
    "note_dependencies": "tests/mypy/test_incremental.py",
    "store_types": "tests/mypy/test_incremental.py",
    "drop_union_context": "tests/test_typecheck.py",
    "default_argument": "tests/test_typecheck.py",
    "not_yet_last": "tests/mypy/test_unknown_code.py",  # with `call_last`
    "scheduled_unit": "tests/mypy/test_borrow_checker.py",  # with `schedule`
    "has_hash_of": "tests/mypy/test_mypy_api.py",  # with `store_hash`
    "checked_files": "tests/project/test_coverage.py",
    "lasting_statements": "tests/notebook/test_continued.py",
    "character": "tests/mypy/test_characters.py",
}
MESSAGES: Final = {
    "past_trial": "past_trial.py:3: error: is reported  [probed]",
    "note": "note.py:3: note: is noted",
    "report_later": "report_later.py:1: error: reported later  [probed]",
}


def signature(ctx: Any, fullname: str) -> CallableType:
    found = api.declared_function(ctx.api, fullname)
    assert found is not None
    return found


class Probe(Plugin):
    """Calls the function of the file that mypy analyzes or checks."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self.results: dict[str, object] = {}

    def get_function_hook(self, fullname: str) -> Any:
        return self.check if fullname == "probes.probe" else None

    def get_type_analyze_hook(self, fullname: str) -> Any:
        return self.analyze if fullname == "probes.Probed" else None

    def check(self, ctx: Any) -> Any:
        name = ctx.api.tree.fullname
        for function, case in CASES.items():
            if function.__name__ == name and not is_first_of_two(case.program, ctx.context.line):
                self.results[name] = self.outcome(case, ctx)
        return ctx.default_return_type

    def analyze(self, ctx: Any) -> Any:
        for function, case in IN_ANNOTATIONS.items():
            if function.__name__ == ctx.api.api.cur_mod_node.fullname:
                self.results[function.__name__] = self.outcome(case, ctx)
        return api.class_type(ctx.api, ctx.type)

    def outcome(self, case: Case, ctx: Any) -> object:
        try:
            return case.call(ctx)
        except Exception as error:  # noqa: BLE001  # mypy would end; the test of the function shows it
            return error


def is_first_of_two(program: str, line: int) -> bool:
    lines = [number for number, one in enumerate(program.splitlines(), HEAD.count("\n") + 1) if "probe(" in one]
    return line != lines[-1]


class Run(NamedTuple):
    results: dict[str, object]
    messages: list[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Check all programs, each in a file of its own."""
    folder = tmp_path_factory.mktemp("probed")
    (folder / "probes.py").write_text(PROBES)
    sources = [BuildSource(str(folder / "probes.py"), "probes")]
    for function, case in (CASES | IN_ANNOTATIONS).items():
        path = folder / f"{function.__name__}.py"
        path.write_text(HEAD + case.program + "\n", "utf-8")
        sources.append(BuildSource(str(path), function.__name__))
    options = Options()
    options.cache_dir = str(folder / "cache")
    options.allow_redefinition = True
    options.show_traceback = True
    options.mypy_path = [str(folder)]
    probe = Probe(options)
    built = build(sources, options, extra_plugins=[probe])
    return Run(probe.results, [message.replace(f"{folder}/", "") for message in built.errors])


@pytest.mark.parametrize(
    ("function", "case"), (CASES | IN_ANNOTATIONS).items(), ids=lambda one: getattr(one, "__name__", "")
)
def test_a_function_of_mypy_api_works(function: Any, case: Case, run: Run) -> None:
    if function is files.parse_again and not hasattr(Plugin, "get_additional_indirect_deps"):
        pytest.skip("before mypy 2.4 no file is parsed again")
    assert run.results[function.__name__] == case.expected


def test_reports_reach_mypys_messages(run: Run) -> None:
    own = {name: [one for one in run.messages if one.startswith(f"{name}.py:")] for name in (*MESSAGES, "silenced")}

    assert own == {name: [message] for name, message in MESSAGES.items()} | {"silenced": []}


def test_a_mypy_that_does_not_say_what_a_function_returns_is_no_crash() -> None:
    is_in_function = sys.modules["tapegrad.mypy"]._is_in_function

    assert not is_in_function(SimpleNamespace(return_types=[]))
    assert is_in_function(SimpleNamespace())


def test_each_function_has_a_test() -> None:
    modules = [api, files]
    functions = {
        name
        for module in modules
        for name, one in vars(module).items()
        if inspect.isfunction(one) and one.__module__ == module.__name__ and not name.startswith("_")
    }
    tested = {function.__name__ for function in (*CASES, *IN_ANNOTATIONS)}
    reexported = {name for name in vars(api) if name in api.__annotations__ and callable(getattr(api, name))}

    assert sorted(functions | reexported - {"Checker"}) == sorted(tested | {*ELSEWHERE})
    assert [path for path in ELSEWHERE.values() if not (ROOT.parent.parent / path).exists()] == []
