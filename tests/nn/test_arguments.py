"""Constructor arguments of every layer: Python and mypy report the same message."""

import inspect
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from tapegrad import nn
from tapegrad.errors import TapegradError
from tests.warm_mypy_cache import write_settings

HEAD: Final = """import numpy as np
import tapegrad as tg
from tapegrad import nn
x, y, i = tg.ones((3, 7, 16)), tg.ones((3, 5, 16)), tg.ones((2, 3, 7, 8))
mask = tg.ones((5, 4), np.bool_)
"""
SEEN: Final = "does not broadcast to the scores"
MEMORY: Final = (
    "Repeated[0] TransformerDecoderBlock(16, 4, 8): memory is (8,) but (..., M, 16) is expected: rank 1, not at least 2"
)
CALLS: Final[dict[str, tuple[str, str]]] = {
    "AdaptiveAvgPool1d.size": (
        "nn.AdaptiveAvgPool1d(0)(x)",
        "AdaptiveAvgPool1d: Size is 0 in size but a named size is at least 1",
    ),
    "AdaptiveAvgPool2d.size": (
        "nn.AdaptiveAvgPool2d(0)(i)",
        "AdaptiveAvgPool2d: Size is 0 in size but a named size is at least 1",
    ),
    "Flatten.start_axis": ("", "checked when it runs: its type only says whether the batch stays"),
    "GroupNorm.groups": ("nn.GroupNorm(4, 6)", "GroupNorm: 4 groups do not divide 6 channels"),
    "GroupedQueryAttention.heads": (
        "nn.GroupedQueryAttention(16, 3, 1)",
        "GroupedQueryAttention: 3 heads do not divide the width 16",
    ),
    "GroupedQueryAttention.kv_heads": (
        "nn.GroupedQueryAttention(16, 4, 3)",
        "GroupedQueryAttention: 4 heads do not divide into 3 groups",
    ),
    "GroupedQueryAttention.mask": (
        "nn.GroupedQueryAttention(16, 4, 2)(x, mask=mask)",
        f"GroupedQueryAttention(16, 4, 2): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "MultiHeadAttention.heads": (
        "nn.MultiHeadAttention(16, 3)",
        "MultiHeadAttention: 3 heads do not divide the width 16",
    ),
    "MultiHeadAttention.context": (
        "nn.MultiHeadAttention(16, 4)(x, tg.ones((3, 5, 8)))",
        "MultiHeadAttention(16, 4): context is (3, 5, 8) but (..., M, 16) is expected: axis -1 is 8, not 16",
    ),
    "MultiHeadAttention.mask": (
        "nn.MultiHeadAttention(16, 4)(x, y, mask=mask)",
        f"MultiHeadAttention(16, 4): mask (5, 4) {SEEN}, (3, 7, 5)",
    ),
    "TransformerEncoderBlock.mask": (
        "nn.TransformerEncoderBlock(16, 4, 8)(x, mask=mask)",
        f"TransformerEncoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "TransformerDecoderBlock.memory": (
        "nn.TransformerDecoderBlock(16, 4, 8)(x, i)",
        "TransformerDecoderBlock(16, 4, 8): memory is (2, 3, 7, 8) but (..., M, 16) is expected: axis -1 is 8, not 16",
    ),
    "TransformerDecoderBlock.mask": (
        "nn.TransformerDecoderBlock(16, 4, 8)(x, y, mask=mask)",
        f"TransformerDecoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "TransformerDecoderBlock.memory_mask": (
        "nn.TransformerDecoderBlock(16, 4, 8)(x, y, memory_mask=mask)",
        f"TransformerDecoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 5)",
    ),
    "Transformer.target": (
        "nn.Transformer(16, 4, 8, 1, 1)(x, i)",
        "Transformer(16, 4, 8, 1, 1): target is (2, 3, 7, 8) but (..., N, 16) is expected: axis -1 is 8, not 16",
    ),
    "Transformer.source_mask": (
        "nn.Transformer(16, 4, 8, 1, 1)(x, y, source_mask=mask)",
        f"Transformer(16, 4, 8, 1, 1): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "Transformer.target_mask": (
        "nn.Transformer(16, 4, 8, 1, 1)(x, y, target_mask=mask)",
        f"Transformer(16, 4, 8, 1, 1): mask (5, 4) {SEEN}, (3, 5, 5)",
    ),
    "Transformer.memory_mask": (
        "nn.Transformer(16, 4, 8, 1, 1)(x, y, memory_mask=mask)",
        f"Transformer(16, 4, 8, 1, 1): mask (5, 4) {SEEN}, (3, 5, 7)",
    ),
    "Transformer.encode.mask": (
        "nn.Transformer(16, 4, 8, 1, 1).encode(x, mask=mask)",
        f"Transformer.encoder[0] TransformerEncoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "Transformer.decode.mask": (
        "nn.Transformer(16, 4, 8, 1, 1).decode(x, y, mask=mask)",
        f"Transformer.decoder[0] TransformerDecoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "Transformer.decode.memory_mask": (
        "nn.Transformer(16, 4, 8, 1, 1).decode(x, y, memory_mask=mask)",
        f"Transformer.decoder[0] TransformerDecoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 5)",
    ),
    "Repeated.options": (
        "nn.Repeated(lambda: nn.TransformerEncoderBlock(16, 4, 8), 2)(x, mask=mask)",
        f"Repeated[0] TransformerEncoderBlock(16, 4, 8): mask (5, 4) {SEEN}, (3, 7, 7)",
    ),
    "Repeated.others": (
        "nn.Repeated(lambda: nn.TransformerDecoderBlock(16, 4, 8), 2)(x[0], i[0, 0, 0])",
        MEMORY,
    ),
    "Repeated.times": ("", "a negative number of times is a ValueError, which no rule raises"),
    "Reshape.shape": (
        "nn.Reshape((7, 3))(x)",
        "Reshape: x (3, 7, 16) has 336 elements but shape (7, 3) has 21",
    ),
    "Reshape.shape.negative": ("nn.Reshape((-2, 3))", "Reshape: shape (-2, 3) has a negative size"),
    "Unflatten.shape": (
        "nn.Unflatten((3, 3))(x)",
        "Unflatten: x (3, 7, 16) has 336 elements but shape (3, 3, 3) has 27",
    ),
    "Unflatten.shape.negative": ("nn.Unflatten((-1, 3))", "Unflatten: shape (-1, 3) has a negative size"),
    "Upsample.scale": ("nn.Upsample(0)(i)", "Upsample: Scale is 0 in scale but a named size is at least 1"),
    "Upsample.rank": ("nn.Upsample(2)(x[0])", "Upsample(2): x (7, 16) has rank 2, not 4, or 3 without a batch"),
}
for _name in ("Softmax", "LogSoftmax"):
    CALLS[f"{_name}.axis"] = f"nn.{_name}(5)(x)", f"{_name}: axis 5 is out of range for x (3, 7, 16)"
for _name in ("RNN", "GRU", "LSTM"):
    for _state in ("h", "c")[: 1 + (_name == "LSTM")]:
        CALLS[f"{_name}.{_state}"] = (
            f"nn.{_name}(16, 4)(x, {_state}=tg.ones((3, 5)))",
            f"{_name}(16, 4): {_state} is (3, 5) but (..., 4) is expected: axis -1 is 5, not 4",
        )
        CALLS[f"Stacked{_name}.{_state}"] = (
            f"nn.Stacked{_name}(16, 4, 2)(x, {_state}=tg.ones((2, 3, 5)))",
            f"Stacked{_name}(16, 4, 2): {_state} is (2, 3, 5) but (2, ..., 4) is expected: axis -1 is 5, not 4",
        )
        CALLS[f"{_name}.{_state}.batch"] = (
            f"nn.{_name}(16, 4)(x, {_state}=tg.ones((2, 4)))",
            f"{_name}(16, 4): *Batch is (3,) in x but (2,) in {_state}",
        )
    CALLS[f"Stacked{_name}.directions"] = (
        f"nn.Stacked{_name}(16, 4, 2, directions=3)",
        f"Stacked{_name}: directions is 3 but 1 or 2 is expected",
    )
for _name in ("Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d"):
    CALLS[f"{_name}.stride"] = (
        f"nn.{_name}(3, 4, 3, stride=0)",
        f"{_name}: Stride is 0 in stride but a named size is at least 1",
    )
    CALLS[f"{_name}.padding"] = (
        f"nn.{_name}(3, 4, 3, padding=-1)",
        f"{_name}: Padding is -1 in padding but a size of this name is at least 0",
    )
    CALLS[f"{_name}.dilation"] = (
        f"nn.{_name}(3, 4, 3, dilation=0)",
        f"{_name}: Dilation is 0 in dilation but a named size is at least 1",
    )
    if "Transpose" in _name:
        CALLS[f"{_name}.output_padding"] = (
            f"nn.{_name}(3, 4, 3, output_padding=1)({'i' if '2d' in _name else 'x[:, :3]'})",
            f"{_name}(3, 4, 3, 1, 0, 1): output_padding is 1, not below the stride, 1",
        )
    CALLS[f"{_name}.groups"] = f"nn.{_name}(3, 4, 3, groups=2)", f"{_name}: 2 groups do not divide 3 channels"
for _kind in ("Max", "Min", "Avg", "SmoothMax"):
    for _name, _image in ((f"{_kind}Pool1d", "x"), (f"{_kind}Pool2d", "i")):
        CALLS[f"{_name}.stride"] = f"nn.{_name}(2, stride=0)({_image})", f"{_name}: stride is 0, below 1"
        CALLS[f"{_name}.padding"] = (
            f"nn.{_name}(3, padding=2)({_image})",
            f"{_name}: padding is 2, more than half of a window of 3",
        )
        CALLS[f"{_name}.ceil_mode"] = "", "a bool, which mypy checks by itself"
        if _kind != "Avg":
            CALLS[f"{_name}.dilation"] = f"nn.{_name}(2, dilation=0)({_image})", f"{_name}: dilation is 0, below 1"
# Sizes that a type variable of the class stands for, which the guard compares with the smallest that is allowed.
NAMED: Final = re.compile(r"(In|Out|Width|Hidden|Heads|Layers|Kernel|Channels|Count|States|Encoders|Decoders)\b")
NO_SIZES: Final = (
    "Activation",
    "bool",
    "float",
    "RNG",
    "HasBias",
    "Literal",
    "Callable",
    "Layer",
    "First",
    "Second",
    "Model",
)


def arguments() -> set[str]:
    """Return the arguments of all layers that a rule could reject."""
    found = set()
    for name, kind in inspect.getmembers(nn, inspect.isclass):
        if not issubclass(kind, nn.Module) or kind in (nn.Module, nn.ModelEMA, nn.MixedPrecision):
            continue
        options = list(inspect.signature(kind.__init__).parameters.values())[1:]
        extra = list(inspect.signature(kind.forward).parameters.values())[2:]
        for one in [*options, *extra]:
            annotation = str(one.annotation).strip("'*").removeprefix("Given[")
            is_size = one.annotation is not one.empty and not annotation.startswith(NO_SIZES)
            if is_size and not NAMED.match(annotation):
                found.add(f"{name}.{one.name}")
    return found


def test_the_table_lists_each_argument_of_each_layer() -> None:
    assert arguments() - CALLS.keys() == set()


@pytest.mark.parametrize("argument", [name for name, (call, _) in CALLS.items() if call])
def test_python_rejects_a_wrong_argument(argument: str) -> None:
    call, message = CALLS[argument]
    space: dict[str, Any] = {}
    exec(HEAD, space)  # noqa: S102  # the program that mypy checks

    with pytest.raises(TapegradError) as caught:
        eval(call, space)  # noqa: S307  # the same

    assert str(caught.value) == message


def test_mypy_reports_the_same_messages(tmp_path: Path) -> None:
    wrong = [(call, message) for call, message in CALLS.values() if call]
    (tmp_path / "calls.py").write_text(HEAD + "".join(f"{call}\n" for call, _ in wrong))
    write_settings(tmp_path)

    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--hide-error-codes", "calls.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    first = HEAD.count("\n") + 1
    expected = [f"calls.py:{line}: error: {message}" for line, (_, message) in enumerate(wrong, first)]
    assert run.stdout.splitlines()[:-1] == expected
