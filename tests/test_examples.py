"""The examples of `make demo` and `make examples`, in short forms that also draw their plots."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

import tapegrad as tg
from tapegrad.autodiff import Autodiff
from tests import unknown_places
from tests.warm_mypy_cache import SETTINGS, write_settings

ROOT = Path(__file__).parent.parent
RIGHT, WRONG = "examples/digits.py", "examples/digits_wrong.py"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def short(name: str, folder: Path) -> list[str]:
    """Run an example in its short form, and return what it prints; its picture has something on it."""
    picture = folder / "plots" / f"{name}.png"

    finished = run(f"examples/{name}.py", "--short", "--plot", str(picture))

    assert finished.returncode == 0, finished.stderr
    assert re.fullmatch(r"(epoch \d+/\d+, [a-z_ ]+ \d.*\n)+", finished.stderr)
    pixels = imread(picture)
    assert pixels.ndim == 3
    assert len(np.unique(pixels)) > 20
    return finished.stdout.splitlines()


def numbers(pattern: str, line: str) -> list[float]:
    """Return the numbers in a line, whose words are as expected."""
    match = re.fullmatch(pattern.replace("#", r"([\d.e-]+)"), line)
    assert match is not None, line
    return [float(one) for one in match.groups()]


def loaded(name: str) -> Any:
    """Return an example as a module; what it shares is found beside it, as when it is run."""
    sys.path.insert(0, str(ROOT / "examples"))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(ROOT / "examples"))


def test_mypy_rejects_exactly_the_planted_mistakes_and_knows_everything_else(tmp_path: Path) -> None:
    lines = (ROOT / WRONG).read_text("utf-8").splitlines()
    marks = {number: line.partition("# E: ")[2] for number, line in enumerate(lines, start=1) if "# E: " in line}
    planted = [
        f"{WRONG}:{number}: error: {text.replace(' [tapegrad-', '  [tapegrad-')}" for number, text in marks.items()
    ]

    examples = sorted((ROOT / "examples").glob("*.py"))
    # matplotlib and rich import IPython, of which the examples see nothing: mypy would read 300 modules.
    of_modules = {
        ",".join(path.stem for path in examples): f"enable_error_code = {unknown_places.CODE}",
        "IPython.*": "follow_imports = skip",
    }
    sections = [f"[mypy-{modules}]\n{setting}\n" for modules, setting in of_modules.items()]
    write_settings(tmp_path)
    write_settings(tmp_path, "\n".join([f"{SETTINGS}mypy_path = {ROOT / 'stubs'}:{ROOT / 'examples'}\n", *sections]))
    options = ("--config-file", str(tmp_path / "mypy.ini"), "--cache-dir", str(tmp_path / ".mypy_cache"))
    said = run("-m", "mypy", *options, "--no-error-summary", *(str(path.relative_to(ROOT)) for path in examples))

    assert said.stdout.splitlines() == planted
    assert len(planted) == 8


def test_digits_are_classified() -> None:
    finished = run(RIGHT)

    assert finished.returncode == 0, finished.stderr
    first, *_, last, _, npz, safetensors = finished.stdout.splitlines()
    accuracy = re.fullmatch(r"test accuracy: ([\d.]+)% of 360 images", first)
    assert accuracy is not None
    assert float(accuracy[1]) >= 97
    assert last.split()[0] == "9"
    assert len(last.split()) == 11
    loaded = "bytes, and loaded: the same scores for 360 of 360 images"
    assert re.fullmatch(rf"saved to digits\.npz, [\d,]+ {loaded}", npz)
    assert re.fullmatch(rf"saved to digits\.safetensors, [\d,]+ {loaded}", safetensors)


def test_a_transformer_learns_to_generate_text(tmp_path: Path) -> None:
    first, loss, *written = short("characters", tmp_path)

    (at_random,) = numbers(r"[\d,]+ characters, \d+ different ones: log of that is #", first)
    (reached,) = numbers("loss: # nats per character", loss)
    assert reached < at_random - 1.5
    assert len("\n".join(written)) == 21


def test_a_convolution_learns_from_images_that_are_shifted(tmp_path: Path) -> None:
    (said,) = short("digits_cnn", tmp_path)

    (accuracy,) = numbers("test accuracy: #% of 360 images", said)
    assert accuracy > 50


def test_a_shifted_image_is_moved_by_one_pixel() -> None:
    cnn = loaded("digits_cnn")
    x = tg.arange(1, 65).astype(np.float32).reshape((1, 1, 8, 8))

    moved = [cnn.shifted(x, np.random.default_rng(seed)).numpy()[0, 0] for seed in range(60)]

    wide = np.pad(x.numpy()[0, 0], 1)
    windows = [wide[row : row + 8, column : column + 8] for row in range(3) for column in range(3)]
    found = [[place for place, window in enumerate(windows) if np.array_equal(window, one)] for one in moved]
    assert {place for (place,) in found} == set(range(9))


def test_an_autoencoder_reconstructs_images(tmp_path: Path) -> None:
    bound, error = short("autoencoder", tmp_path)

    (nats,) = numbers(r"bound: # per test image \(nats\)", bound)
    reconstruction, mean = numbers("error of a pixel: #, and # if each image were the mean of all", error)
    assert nats < 64 * np.log(2)  # what pixels cost if nothing is known of them
    assert reconstruction < mean


def test_the_divergence_equals_a_monte_carlo_estimate() -> None:
    autoencoder, rng = loaded("autoencoder"), np.random.default_rng(0)
    mean, log_variance = np.array([[0.5, -1.0, 0.0]]), np.array([[0.3, -0.7, 0.0]])

    said = autoencoder.divergence(tg.tensor(mean), tg.tensor(log_variance)).item()

    z = mean + np.exp(log_variance / 2) * rng.normal(size=(200_000, 3))
    log_ratio = 0.5 * (z**2 - (z - mean) ** 2 / np.exp(log_variance) - log_variance)
    assert said == pytest.approx(log_ratio.sum(axis=1).mean(), abs=0.02)


def test_a_network_and_least_squares_predict(tmp_path: Path) -> None:
    network, line = short("diabetes", tmp_path)

    trained, tested = numbers("R² of the network: # train, # test", network)
    assert trained > tested > 0
    assert numbers("R² of least squares: # train, # test", line) == [0.545, 0.335]


def test_least_squares_equal_numpy() -> None:
    (x, y), *_ = loaded("diabetes").load()

    w = loaded("diabetes").least_squares(x, y).numpy()

    np.testing.assert_allclose(w, np.linalg.lstsq(x.numpy(), y.numpy())[0], rtol=1e-3, atol=1e-4)


def test_accumulated_gradients_equal_those_of_the_whole_batch(tmp_path: Path) -> None:
    difference, accuracy = short("accumulation", tmp_path)

    (largest,) = numbers("largest difference of a gradient: #", difference)
    whole, parts = numbers("test accuracy: #% with whole batches, #% with batches in 4 parts", accuracy)
    assert largest < 1e-6
    assert whole == parts > 80


def test_bfloat16_learns_as_float32_does(tmp_path: Path) -> None:
    plain, mixed = short("mixed_precision", tmp_path)

    (expected,) = numbers("float32: test accuracy #% of 360 images, parameters in float32", plain)
    (found,) = numbers("bfloat16: test accuracy #% of 360 images, parameters in float32", mixed)
    assert expected > 85
    assert abs(found - expected) < 3


def test_two_heads_are_trained_together(tmp_path: Path) -> None:
    right, agreement = short("multi_head", tmp_path)

    digits, parities = numbers("test accuracy: #% of digits, #% of parities", right)
    (agree,) = numbers("the heads agree on #% of 360 images", agreement)
    assert digits > 60
    assert parities > 70
    assert agree > 70


def test_a_user_defined_op_is_checked_and_trained(tmp_path: Path) -> None:
    *checks, said = short("custom_op", tmp_path)

    assert checks == [
        "gradients, and gradients of gradients: as by finite differences",
        "(1 + 2x)² at x = 3: 49, derivative 28, curvature 8",
        "kernel: K is 64 in x but 63 in y",
    ]
    (accuracy,) = numbers("test accuracy: #% of 360 images", said)
    assert accuracy > 80


def test_the_op_prints_the_message_of_mypy(tmp_path: Path) -> None:
    source = (ROOT / "examples" / "custom_op.py").read_text("utf-8")
    unsilenced = source.replace("  # type: ignore[tapegrad-shape]", "")
    assert unsilenced != source
    (tmp_path / "custom_op.py").write_text(unsilenced, "utf-8")

    said = run("-m", "mypy", "--config-file", "pyproject.toml", "--no-error-summary", str(tmp_path / "custom_op.py"))

    ((line, report),) = re.findall(r"custom_op\.py:(\d+): error: (.*)", said.stdout)
    assert "kernel(tg.ones((3, 64))" in unsilenced.splitlines()[int(line) - 1]
    assert report == "kernel: K is 64 in x but 63 in y  [tapegrad-shape]"


def test_the_kernel_can_be_differentiated_at_every_order() -> None:
    kernel = loaded("custom_op").kernel
    x, y = tg.tensor([[3.0]]).trace(), tg.tensor([[2.0]])
    level = Autodiff()
    inner = level.from_inner(x)

    derivative = level.inner(kernel(inner.trace(), y).sum().backward()[inner])

    assert derivative.item() == 28  # 2 (1 + 2x) 2
    assert derivative.sum().backward()[x].item() == 8


def test_every_example_uses_the_same_digits(tmp_path: Path) -> None:
    first, *_ = short("digits", tmp_path)

    (accuracy,) = numbers("test accuracy: #% of 360 images", first)
    assert accuracy > 60


def test_the_demo_parses_mypy_with_forced_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    demo = loaded("demo")  # before the variables are set: its own output is not what is tested here
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("MYPY_FORCE_TERMINAL_WIDTH", "20")

    assert demo.rejected(WRONG)[WRONG] == demo.planted(WRONG)


def test_the_demo_reports_differences_from_the_planted_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    as_planted = loaded("demo").compare({3: "a", 5: "other"}, {3: "a", 5: "b", 8: "c"})

    assert not as_planted
    assert capsys.readouterr().out.splitlines()[1:] == [
        "as planted: 1 of 3",
        "line 5: planted b",
        "line 5: said other",
        "line 8: planted c",
        "line 8: said nothing",
    ]
