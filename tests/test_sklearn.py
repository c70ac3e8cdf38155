"""Models as estimators of scikit-learn: its own checks, what a fit starts from, and what is rejected."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, make_regression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import tapegrad as tg
from tapegrad import nn, optim
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.sklearn import Classifier, Regressor

MAY_FAIL = {"check_methods_sample_order_invariance", "check_methods_subset_invariance"}
X = np.random.default_rng(0).normal(size=(30, 3))
ABOVE = (X[:, 0] > 0).astype(int)


def mlp(features: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 7), nn.Tanh(), nn.Dropout(0.1), nn.Linear(7, outputs))


@pytest.mark.filterwarnings("ignore")  # the checks give data of which scikit-learn itself warns
@pytest.mark.parametrize(
    "estimator", [Classifier(), Classifier(mlp, epochs=40), Regressor()], ids=["linear", "mlp", "regressor"]
)
def test_the_checks_of_scikit_learn_pass(estimator: Any) -> None:
    results = check_estimator(estimator, on_fail=None, on_skip=None)

    failed = {one["check_name"]: one["exception"] for one in results if one["status"] == "failed"}
    assert {name: error for name, error in failed.items() if name not in MAY_FAIL} == {}
    assert len([one for one in results if one["status"] == "passed"]) > 45


def test_a_pipeline_is_cross_validated() -> None:
    images, digits = load_digits(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), Classifier(epochs=20, random_state=0))

    assert cross_val_score(pipeline, images[:600], digits[:600], cv=3).min() > 0.8


def test_labels_may_be_words_and_classes_are_sorted() -> None:
    words = np.where(ABOVE, "above", "Below")

    classifier = Classifier(epochs=60, random_state=0).fit(X, words)

    assert classifier.classes_.tolist() == ["Below", "above"]
    assert classifier.score(X, words) > 0.9
    assert (classifier.predict_proba(X).argmax(axis=1) == (classifier.predict(X) == "above")).all()
    np.testing.assert_allclose(classifier.predict_proba(X).sum(axis=1), 1, rtol=1e-6)


def test_a_linear_regressor_finds_the_coefficients() -> None:
    weights = np.array([[1.0, -2.0], [0.5, 0.0], [0.0, 3.0]])

    regressor = Regressor(epochs=300, lr=0.05, random_state=0).fit(X, X @ weights + [1.0, -1.0])

    np.testing.assert_allclose(regressor.model_.weight.numpy(), weights, atol=1e-3)
    np.testing.assert_allclose(regressor.model_.bias.numpy(), [1, -1], atol=1e-3)
    assert regressor.predict(X).shape == (30, 2)
    assert regressor.predict(X).dtype == np.float64


def test_the_loss_falls_and_the_curve_has_an_entry_for_each_epoch() -> None:
    x, y = make_regression(50, 3, random_state=0)

    curve = Regressor(epochs=30, random_state=0).fit(x, y / 100).loss_curve_

    assert len(curve) == 30
    assert curve[-1] < curve[0] / 2


def test_a_seed_fixes_the_fit_and_each_fit_starts_again() -> None:
    first, second, other = (Classifier(mlp, epochs=3, random_state=seed) for seed in (1, 1, 2))

    probabilities = [one.fit(X, ABOVE).predict_proba(X) for one in (first, first, second, other)]

    assert (probabilities[0] == probabilities[1]).all()
    assert (probabilities[0] == probabilities[2]).all()
    assert (probabilities[0] != probabilities[3]).any()


def test_a_module_is_copied_and_dropout_is_off_for_predictions() -> None:
    module = nn.Sequential(nn.Linear(3, 2, rng=0), nn.Dropout(0.5))
    before = module[0].weight.tolist()

    classifier = Classifier(module, epochs=2).fit(X, ABOVE)

    assert module[0].weight.tolist() == before != classifier.model_[0].weight.tolist()
    assert (classifier.predict_proba(X) == classifier.predict_proba(X)).all()


def test_the_loss_and_the_optimizer_are_called() -> None:
    seen: list[Any] = []

    def loss(x: Any, y: Any) -> Any:
        seen.append((x.shape, y.shape))
        return tg.mae(x, y)

    Regressor(loss=loss, optimizer=optim.SGD, lr=0.5, epochs=1, batch_size=20).fit(X, X[:, 0])

    assert seen == [((20, 1), (20, 1)), ((10, 1), (10, 1))]
    regressor = Regressor(optimizer=optim.SGD, lr=0.0, epochs=5, random_state=0)
    assert len({*regressor.fit(X, X[:, 0]).loss_curve_}) <= 5
    np.testing.assert_allclose(regressor.loss_curve_, regressor.loss_curve_[0], rtol=1e-5)


def test_estimators_are_cloned_and_pickled() -> None:
    classifier = Classifier(mlp, lr=0.02, epochs=2, random_state=0).fit(X, ABOVE)

    copied, loaded = clone(classifier), pickle.loads(pickle.dumps(classifier))  # noqa: S301  # its own

    assert not hasattr(copied, "model_")
    assert copied.get_params() == classifier.get_params()
    assert (loaded.predict_proba(X) == classifier.predict_proba(X)).all()
    assert repr(Classifier(lr=0.02)) == "Classifier(lr=0.02)"


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": 3}, DTypeError, "Classifier: model is an int, neither a module nor a function that makes one"),
        ({"model": lambda *_: 3}, DTypeError, "Classifier: model(3, 2) is an int, not a module"),
        (
            {"model": nn.Linear(4, 2)},
            ShapeError,
            "model Linear(4, 2): x is (30, 3) but (..., 4) is expected: axis -1 is 3, not 4",
        ),
        ({"epochs": 0}, ValueError, "Classifier: epochs is 0 but must be at least 1"),
        ({"batch_size": 1.5}, DTypeError, "Classifier: batch_size is 1.5 but an int is expected"),
    ],
)
def test_invalid_parameters_are_rejected_by_fit(options: Any, error: Any, message: str) -> None:
    with pytest.raises(error) as raised:
        Classifier(**options).fit(X, ABOVE)

    assert str(raised.value).splitlines()[0] == message
