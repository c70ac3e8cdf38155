"""Models as scikit-learn estimators, for pipelines, cross-validation and grid search; needs scikit-learn."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
from typing_extensions import override

from tapegrad.data import batches
from tapegrad.errors import DTypeError, messages
from tapegrad.errors.options import check_count
from tapegrad.errors.tracebacks import public_api
from tapegrad.generator import random
from tapegrad.nn import Linear, Module
from tapegrad.ops import cross_entropy, mse, softmax, tensor
from tapegrad.optim import Adam

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, check_random_state, validate_data
except ModuleNotFoundError as error:
    message = 'tapegrad.sklearn needs the package scikit-learn: pip install "tapegrad[sklearn]"'
    raise ModuleNotFoundError(message, name=error.name) from None

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.optim import Optimizer
    from tapegrad.tensors import Tensor

    Model: TypeAlias = Module | Callable[[int, int], Module] | None
    Loss: TypeAlias = Callable[[Tensor[Any, Any, Any], Tensor[Any, Any, Any]], Tensor[Any, Any, Any]]


class _Estimator(BaseEstimator):
    """What the two kinds of estimators have in common: the training loop, and the values of the trained model."""

    def __init__(
        self,
        model: Model,
        *,
        loss: Loss,
        optimizer: Callable[..., Optimizer[Any]],
        lr: float,
        epochs: int,
        batch_size: int,
        random_state: Any,
    ) -> None:
        self.model = model
        self.loss = loss
        self.optimizer = optimizer
        self.lr = lr
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state

    def _train(self, x: Any, y: Any, outputs: int) -> None:
        name = type(self).__name__
        check_count(name, "epochs", self.epochs)
        check_count(name, "batch_size", self.batch_size)
        seed = int(check_random_state(self.random_state).randint(2**31))
        with random(seed):
            model: Any = _made(name, self.model, x.shape[1], outputs)
            optimizer = self.optimizer(model, lr=self.lr)
            passes = batches(tensor(x), tensor(y), size=min(self.batch_size, len(x)), drop_last=False)
            curve = []
            for _ in range(self.epochs):
                total = 0.0
                for inputs, targets in passes:
                    result = self.loss(model(inputs.trace()), targets)
                    optimizer.step(result.backward(wrt=model))
                    total += result.item() * len(inputs)
                curve.append(total / len(x))
        self.model_ = model
        self.loss_curve_ = curve

    def _values(self, x: Any) -> Any:
        check_is_fitted(self)
        x = validate_data(self, x, reset=False, dtype=np.float32)
        return self.model_(tensor(x))


@public_api
class Classifier(ClassifierMixin, _Estimator):
    """Classifier of scikit-learn that trains a model by gradient descent.

    Each `fit` starts again: from a copy of the module, or from a module that the function makes. Inputs are converted
    to float32. The labels may be of any kind that scikit-learn knows; the model is given their indices in `classes_`.

    Args:
        model: A module from `(N, features)` to logits `(N, classes)`; or a function that makes one from the two numbers
            of features and classes; or None for a linear layer, which is logistic regression.
        loss: A function of logits and the indices of classes, `(N,)`, to a scalar.
        optimizer: An optimizer class, or a function that makes an optimizer from a module and `lr`.
        lr: The learning rate.
        epochs: The number of passes over the rows.
        batch_size: Rows per step, at most; the last batch may be smaller.
        random_state: A seed, a generator of NumPy's older kind, or None: it determines the parameters that a function
            makes, the order of the rows and dropout.

    Attributes:
        classes_: The labels, sorted.
        model_: The trained module.
        loss_curve_: The mean loss of each epoch.

    Raises:
        DTypeError: The model is neither a module nor a function that makes one, or a number is of the wrong kind.
        ShapeError: The model does not fit the features.
        ValueError: The rows, the labels or a number are invalid.

    Examples:
        >>> from sklearn.datasets import make_blobs
        >>> x, y = make_blobs(60, centers=3, random_state=0)
        >>> def model(features, classes):
        ...     return tg.nn.Sequential(tg.nn.Linear(features, 8), tg.nn.ReLU(), tg.nn.Linear(8, classes))
        >>> classifier = tg.sklearn.Classifier(model, epochs=30, random_state=0).fit(x, y)
        >>> classifier.predict(x[:3]).tolist() == y[:3].tolist()
        True
        >>> classifier.predict_proba(x).shape
        (60, 3)
    """

    def __init__(
        self,
        model: Model = None,
        *,
        loss: Loss = cross_entropy,
        optimizer: Callable[..., Optimizer[Any]] = Adam,
        lr: float = 0.01,
        epochs: int = 100,
        batch_size: int = 32,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            model,
            loss=loss,
            optimizer=optimizer,
            lr=lr,
            epochs=epochs,
            batch_size=batch_size,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Train on rows X `(N, features)` and labels y `(N,)`; returns the estimator."""
        X, y = validate_data(self, X, y, dtype=np.float32)  # noqa: N806  # scikit-learn's name
        check_classification_targets(y)
        self.classes_, indices = np.unique(y, return_inverse=True)
        self._train(X, indices, len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> Any:  # noqa: N803  # scikit-learn's name
        """Return the probabilities of the classes for each row, the softmax of the logits, `(N, classes)`."""
        return softmax(self._values(X), axis=-1).numpy(copy=True)

    def predict(self, X: Any) -> Any:  # noqa: N803  # scikit-learn's name
        """Return the most probable label of each row, `(N,)`."""
        logits = self._values(X)
        return self.classes_[logits.numpy().argmax(axis=1)]


@public_api
class Regressor(RegressorMixin, _Estimator):
    """Regressor of scikit-learn that trains a model by gradient descent.

    Each `fit` starts again: from a copy of the module, or from a module that the function makes. Inputs and targets are
    converted to float32; scale both, because a default learning rate suits targets of about one.

    Args:
        model: A module from `(N, features)` to `(N, targets)`; or a function that makes one from the two numbers of
            features and targets; or None for a linear layer, which is linear regression.
        loss: A function of predictions and targets, both `(N, targets)`, to a scalar.
        optimizer: An optimizer class, or a function that makes an optimizer from a module and `lr`.
        lr: The learning rate.
        epochs: The number of passes over the rows.
        batch_size: Rows per step, at most; the last batch may be smaller.
        random_state: A seed, a generator of NumPy's older kind, or None: it determines the parameters that a function
            makes, the order of the rows and dropout.

    Attributes:
        model_: The trained module.
        loss_curve_: The mean loss of each epoch.

    Raises:
        DTypeError: The model is neither a module nor a function that makes one, or a number is of the wrong kind.
        ShapeError: The model does not fit the features or the targets.
        ValueError: The rows, the targets or a number are invalid.

    Examples:
        >>> x = np.linspace(-1, 1, 64).reshape(32, 2)
        >>> regressor = tg.sklearn.Regressor(epochs=200, random_state=0).fit(x, x.sum(axis=1))
        >>> regressor.predict(x).shape, round(regressor.score(x, x.sum(axis=1)), 1)
        ((32,), 1.0)
    """

    def __init__(
        self,
        model: Model = None,
        *,
        loss: Loss = mse,
        optimizer: Callable[..., Optimizer[Any]] = Adam,
        lr: float = 0.01,
        epochs: int = 100,
        batch_size: int = 32,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            model,
            loss=loss,
            optimizer=optimizer,
            lr=lr,
            epochs=epochs,
            batch_size=batch_size,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Train on rows X `(N, features)` and targets y `(N,)` or `(N, targets)`; returns the estimator."""
        X, y = validate_data(self, X, y, dtype=np.float32, multi_output=True, y_numeric=True)  # noqa: N806  # as above
        self._is_flat = y.ndim == 1
        y = np.asarray(y, np.float32).reshape(len(y), -1)
        self._train(X, y, y.shape[1])
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803  # scikit-learn's name
        """Return the prediction for each row, in the shape of the targets in `fit`."""
        y = self._values(X).numpy().astype(np.float64)  # as the other regressors of scikit-learn
        return y.reshape(-1) if self._is_flat else y

    @override
    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _made(name: str, model: Any, features: int, outputs: int) -> Module:
    if model is None:
        return Linear(features, outputs)
    if isinstance(model, Module):
        return copy.deepcopy(model)
    if not callable(model):
        kind = messages.with_article(type(model).__name__)
        message = f"{name}: model is {kind}, neither a module nor a function that makes one"
        raise DTypeError(message)
    made = model(features, outputs)
    if not isinstance(made, Module):
        message = f"{name}: model({features}, {outputs}) is {messages.with_article(type(made).__name__)}, not a module"
        raise DTypeError(message)
    return made
