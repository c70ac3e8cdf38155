"""Ranges of numeric options, by function and option: for errors at run time and for mypy."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tapegrad.errors.options import check_range, check_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping


class Range(NamedTuple):
    """The numbers that an option may be: what messages say about them, and a function that tests a number."""

    said: str
    fits: Callable[[Any], bool]
    is_whole: bool = False
    is_of_several: bool = False  # whether the option is a tuple of such numbers


AT_LEAST_ZERO: Final = Range("at least 0", lambda number: number >= 0)
AT_LEAST_ONE: Final = Range("at least 1", lambda number: number >= 1)
ABOVE_ZERO: Final = Range("above 0", lambda number: number > 0)
PROBABILITY: Final = Range("from 0 to 1", lambda number: 0 <= number <= 1)
FRACTION: Final = Range("from 0 to below 1", lambda number: 0 <= number < 1)
NOT_ZERO: Final = Range("finite and not 0", lambda number: -inf < number < inf and number != 0)
COUNT: Final = Range("at least 1", lambda number: number >= 1, is_whole=True)

_DRAWN: Final = {"normal": {"std": AT_LEAST_ZERO}, "bernoulli": {"p": PROBABILITY}}
_OF_OPTIMIZER: Final = {"lr": AT_LEAST_ZERO, "weight_decay": AT_LEAST_ZERO}
_OF_ADAM: Final = {**_OF_OPTIMIZER, "betas": FRACTION._replace(is_of_several=True), "eps": AT_LEAST_ZERO}
_CLOSE: Final = {"rtol": AT_LEAST_ZERO, "atol": AT_LEAST_ZERO}
_DROPOUTS: Final = ("StackedRNN", "StackedLSTM", "StackedGRU", "Transformer", "TransformerEncoderBlock")

RANGES: Final[Mapping[str, Mapping[str, Range]]] = {
    **_DRAWN,
    **{f"{name}_like": options for name, options in _DRAWN.items()},
    **{f"{name}_norm": {"eps": ABOVE_ZERO} for name in ("layer", "rms", "batch", "group", "instance")},
    **{name: {"eps": ABOVE_ZERO} for name in ("GroupNorm", "InstanceNorm", "LayerNorm", "RMSNorm", "normalize")},
    **{f"BatchNorm{rank}d": {"eps": ABOVE_ZERO, "momentum": PROBABILITY} for rank in (1, 2)},
    **{f"{name}{rank}d": {"divisor_override": NOT_ZERO} for name in ("avg_pool", "AvgPool") for rank in (1, 2)},
    **{f"{name}{rank}d": {"beta": NOT_ZERO} for name in ("smooth_max_pool", "SmoothMaxPool") for rank in (1, 2)},
    **{name: {"dropout": PROBABILITY} for name in (*_DROPOUTS, "TransformerDecoderBlock")},
    "Dropout": {"p": PROBABILITY},
    "dropout": {"rate": PROBABILITY},
    "CELU": {"alpha": ABOVE_ZERO},
    "celu": {"alpha": ABOVE_ZERO},
    "ModelEMA": {"decay": PROBABILITY},
    "xavier_uniform": {"gain": AT_LEAST_ZERO},
    "xavier_normal": {"gain": AT_LEAST_ZERO},
    "orthogonal": {"gain": AT_LEAST_ZERO},
    "norm": {"ord": AT_LEAST_ONE},
    "safe_log": {"eps": ABOVE_ZERO},
    "rotary_embedding": {"base": ABOVE_ZERO},
    **{name: {"rtol": AT_LEAST_ZERO} for name in ("lstsq", "pinv")},
    "isclose": _CLOSE,
    "allclose": _CLOSE,
    "cross_entropy": {"smoothing": PROBABILITY},
    "huber": {"delta": ABOVE_ZERO},
    "smooth_l1": {"beta": AT_LEAST_ZERO},
    "clip_norm": {"limit": ABOVE_ZERO},
    "clip_value": {"limit": ABOVE_ZERO},
    "SGD": {**_OF_OPTIMIZER, "momentum": FRACTION},
    "Adam": _OF_ADAM,
    "AdamW": _OF_ADAM,
    "RMSprop": {**_OF_OPTIMIZER, "alpha": FRACTION, "momentum": FRACTION, "eps": AT_LEAST_ZERO},
    "Adadelta": {**_OF_OPTIMIZER, "rho": FRACTION, "eps": ABOVE_ZERO},  # with an eps of 0, all updates are 0 or NaN
    "LossScaler": {
        "scale": Range("above 0 and finite", lambda scale: 0 < scale < inf),
        "growth": Range("at least 1 and finite", lambda growth: 1 <= growth < inf),
        "backoff": Range("between 0 and 1", lambda backoff: 0 < backoff < 1),
        "interval": COUNT,
    },
    "batches": {"size": COUNT, "workers": AT_LEAST_ZERO._replace(is_whole=True)},
    "constant": {"lr": AT_LEAST_ZERO},
    "step": {"lr": AT_LEAST_ZERO, "every": COUNT, "factor": AT_LEAST_ZERO},
    "exponential": {"lr": AT_LEAST_ZERO, "factor": AT_LEAST_ZERO},
    "cosine": {"lr": AT_LEAST_ZERO, "steps": COUNT, "end": AT_LEAST_ZERO, "eps": ABOVE_ZERO},  # schedule and loss
    "warmup": {"steps": COUNT},
    "one_cycle": {
        "lr": AT_LEAST_ZERO,
        "steps": Range("at least 2", lambda steps: steps >= 2, is_whole=True),
        **dict.fromkeys(("rise", "start", "end"), AT_LEAST_ZERO),
    },
}

NUMBERS: Final[Mapping[str, Collection[str]]] = {
    "ELU": {"alpha"},
    "Hardtanh": {"max", "min"},
    "LeakyReLU": {"negative_slope"},
    "PReLU": {"negative_slope"},
    "elu": {"alpha"},
    "hardtanh": {"max", "min"},
    "leaky_relu": {"negative_slope"},
    "normal": {"mean"},
    "normal_like": {"mean"},
    "scale": {"factor"},
    "scaled_dot_product_attention": {"scale"},
    "uniform": {"high", "low"},
    "uniform_like": {"high", "low"},
}
"""Options that may be any number, but no bool, which mypy takes for one."""


def check_options(call: str, ranges: Mapping[str, Range] | None = None, /, **options: Any) -> None:
    """Check that options are numbers, or tuples of numbers, in their ranges.

    Args:
        call: The name of the function or the class, which messages start with.
        ranges: The ranges; those of `call` by default. A subclass has those of its base class.
        **options: The options.

    Raises:
        DTypeError: One is not a number.
        ValueError: One is outside its range.
    """
    for option, given in options.items():
        wanted = (RANGES[call] if ranges is None else ranges)[option]
        several = enumerate(given, start=1) if wanted.is_of_several else ()
        numbers = [(f"{option.removesuffix('s')} {position}", number) for position, number in several]  # "beta 1"
        for name, number in numbers or [(option, given)]:
            if wanted.is_whole:
                check_whole(call, name, number)
            check_range(call, name, number, wanted.said, wanted.fits)
