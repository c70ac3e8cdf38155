"""The check for unused layers, disabled in a user's module."""

# mypy: disable-error-code="tapegrad-unused"

from typing import Any

import tapegrad as tg
from tapegrad import nn


class Saved(nn.Module):
    def __init__(self) -> None:
        self.first = nn.Linear(3, 3)
        self.retired = nn.Linear(3, 3)

    def forward(self, x: Any) -> Any:
        return self.first(x)


def accept_an_unused_layer_where_the_check_is_off() -> None:
    assert Saved()(tg.ones((2, 3))).shape == (2, 3)
