"""The names of the array API standard: the page on arrays says which exist, and what replaces the others."""

from __future__ import annotations

import re

import numpy as np

import tapegrad as tg
from docs import array_api


def test_the_page_has_the_functions_of_today() -> None:
    page = array_api.PAGE.read_text("utf-8")

    assert array_api.written(page) == page
    assert len(array_api.functions()) > 100


def test_each_missing_function_has_a_reason_and_no_other_has() -> None:
    assert array_api.missing() == sorted(array_api.REASONS)


def test_what_replaces_a_function_exists() -> None:
    named = [pair for reason in array_api.REASONS.values() for pair in re.findall(r"`(tg|np)\.(\w+)", reason)]

    assert len(named) > 15
    for module, name in named:
        assert hasattr(tg if module == "tg" else np, name)
