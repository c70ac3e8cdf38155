"""Traced programs of elementwise steps: one program serves all constants."""

from typing import Any

import numpy as np

from tapegrad.engines.numpy import program


def test_one_program_serves_all_constants_except_exponents() -> None:
    before = {*program._programs}

    def computed(number: float, exponent: float) -> list[float]:
        def function(x: Any) -> Any:
            return (x * number + number) ** exponent - number

        (found,) = program.computed(function, [[np.arange(3.0)]])
        y: list[float] = found.tolist()
        return y

    found = [computed(number, exponent) for number in (2.0, 3.0, -0.5) for exponent in (2.0, 3.0)]

    expected = [
        [(x * number + number) ** exponent - number for x in range(3)]
        for number in (2.0, 3.0, -0.5)
        for exponent in (2.0, 3.0)
    ]
    assert found == expected
    assert len({*program._programs} - before) == 2
