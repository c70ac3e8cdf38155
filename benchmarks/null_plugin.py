"""A mypy plugin with every hook, each of which does nothing: the baseline for the time of the plugin."""

from collections.abc import Callable
from typing import Any

from mypy.plugin import Plugin
from typing_extensions import override

from tapegrad.mypy import FOREIGN


def _signature(ctx: Any) -> Any:
    return ctx.default_signature


def _result(ctx: Any) -> Any:
    return ctx.default_return_type


def _hook(fullname: str, hook: Callable[[Any], Any]) -> Callable[[Any], Any] | None:
    return None if fullname.partition(".")[0] in FOREIGN else hook


class Null(Plugin):
    """Asks for the same calls as the plugin, and returns what mypy had."""

    @override
    def get_function_signature_hook(self, fullname: str) -> Any:
        return _hook(fullname, _signature)

    @override
    def get_method_signature_hook(self, fullname: str) -> Any:
        return _hook(fullname, _signature)

    @override
    def get_function_hook(self, fullname: str) -> Any:
        return _hook(fullname, _result)

    @override
    def get_method_hook(self, fullname: str) -> Any:
        return _hook(fullname, _result)


def plugin(version: str) -> type[Plugin]:  # noqa: ARG001  # mypy's entry point
    """Return the plugin to mypy."""
    return Null
