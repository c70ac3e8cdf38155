"""Ten steps of every optimizer give the numbers of PyTorch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapegrad.autograd.gradients import Gradients
from tapegrad.nn import Param
from tapegrad.ops import tensor
from tapegrad.optim import SGD, Adadelta, Adam, AdamW, Optimizer, RMSprop

GRADIENTS = [
    [0.5, -1.0, 0.0],
    [-0.25, 2.0, 4.0],
    [1.0, 1e-6, -3.0],
    [0.125, -0.5, 1.5],
    [2.0, 0.75, -0.5],
    [-1.5, 0.25, 0.0],
    [0.0, -3.0, 1.0],
    [0.375, 1.25, -2.0],
    [-0.75, 0.5, 0.25],
    [1.75, -0.125, 3.0],
]


def start() -> Param[Any, Any]:
    x: Any = tensor([1.0, -2.0, 3.0])
    return Param(x)


def run(make: Callable[[Any], Optimizer[Any]]) -> list[Any]:
    x = start()
    optimizer, seen = make([x]), []
    for gradient in GRADIENTS:
        grads, dx = Gradients(), tensor(gradient)
        grads.add(x, dx.data)
        optimizer.step(grads)
        seen.append(x.tolist())
    return seen


# torch 2.13: the optimizer of the same name with the same options, x = [1, -2, 3] and these gradients;
# the last one in float64, because the mean square and the squared mean cancel in it
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (
            lambda x: AdamW(x, lr=0.1),
            [
                [0.89900005, -1.898, 2.997],
                [0.87146735, -1.9327124, 2.9195893],
                [0.8047847, -1.9590796, 2.9090016],
                [0.7440823, -1.9670477, 2.8833654],
                [0.67080665, -1.990047, 2.8665676],
                [0.6461967, -2.014855, 2.8517087],
                [0.6246444, -1.9881012, 2.8290641],
                [0.5990571, -1.9806744, 2.827334],
                [0.58982885, -1.9798948, 2.8233337],
                [0.5574488, -1.9775014, 2.7969835],
            ],
        ),
        (
            lambda x: AdamW(x, lr=0.1, weight_decay=0.5, betas=(0.5, 0.75), eps=0.25),
            [
                [0.8833333, -1.8199999, 2.85],
                [0.83916664, -1.7817006, 2.626043],
                [0.7380908, -1.7213559, 2.5122507],
                [0.6608164, -1.6300949, 2.3676968],
                [0.547592, -1.5781575, 2.249312],
                [0.5313087, -1.5278506, 2.1368463],
                [0.5110822, -1.3832948, 2.002578],
                [0.47362593, -1.3114116, 1.9408243],
                [0.47597986, -1.2593772, 1.8583611],
                [0.4020361, -1.1998165, 1.7040598],
            ],
        ),
        (
            lambda x: Adam(x, lr=0.1, weight_decay=0.5),
            [
                [0.90000004, -1.9, 2.9],
                [0.81969595, -1.8752831, 2.8104792],
                [0.73156065, -1.8331299, 2.7612357],
                [0.64629316, -1.7741065, 2.6994164],
                [0.55899596, -1.7216312, 2.640566],
                [0.5095177, -1.6663891, 2.5805702],
                [0.4624053, -1.5969152, 2.5146308],
                [0.4123502, -1.5405854, 2.4619832],
                [0.37659982, -1.4879191, 2.4062767],
                [0.32452014, -1.4330679, 2.338992],
            ],
        ),
        (
            lambda x: SGD(x, lr=0.1, momentum=0.9),
            [
                [0.95, -1.9, 3.0],
                [0.93, -2.01, 2.6],
                [0.81200004, -2.1090002, 2.54],
                [0.69330007, -2.1481004, 2.336],
                [0.38647008, -2.2582905, 2.2024],
                [0.2603231, -2.3824615, 2.08216],
                [0.14679085, -2.1942155, 1.873944],
                [0.0071118185, -2.149794, 1.8865497],
                [-0.0435993, -2.1598148, 1.8728948],
                [-0.2642393, -2.1563334, 1.5606053],
            ],
        ),
        (
            lambda x: SGD(x, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.5),
            [
                [0.81, -1.62, 2.715],
                [0.69955003, -1.6841, 1.5755749],
                [0.3576378, -1.4747007, 1.4525877],
                [0.113670945, -1.1269292, 0.71980447],
                [-0.46935424, -0.96073806, 0.2872845],
                [-0.47937307, -0.7506078, -0.14188431],
                [-0.59897053, 0.059084035, -0.69172937],
                [-0.74252784, 0.2409163, -0.6572604],
                [-0.6518929, 0.40183705, -0.82242644],
                [-0.9418054, 0.58808243, -1.4700221],
            ],
        ),
        (
            lambda x: SGD(x, lr=0.1, weight_decay=0.5),
            [
                [0.9, -1.8, 2.85],
                [0.88, -1.91, 2.3075],
                [0.736, -1.8145001, 2.4921248],
                [0.6867, -1.6737751, 2.2175186],
                [0.45236498, -1.6650863, 2.1566427],
                [0.5797467, -1.6068319, 2.0488105],
                [0.5507594, -1.2264903, 1.84637],
                [0.4857214, -1.2901658, 1.9540515],
                [0.53643537, -1.2756575, 1.8313489],
                [0.3346136, -1.1993747, 1.4397814],
            ],
        ),
        (
            lambda x: SGD(x, lr=0.1),
            [
                [0.95, -1.9, 3.0],
                [0.97499996, -2.1, 2.6],
                [0.87499994, -2.1, 2.8999999],
                [0.86249995, -2.05, 2.7499998],
                [0.66249996, -2.125, 2.7999997],
                [0.81249994, -2.15, 2.7999997],
                [0.81249994, -1.8500001, 2.6999998],
                [0.7749999, -1.9750001, 2.8999999],
                [0.8499999, -2.025, 2.8749998],
                [0.6749999, -2.0125, 2.5749998],
            ],
        ),
        (
            lambda x: Adam(x, lr=0.1),
            [
                [0.90000004, -1.9, 3.0],
                [0.87336636, -1.9366103, 2.9255862],
                [0.8075552, -1.9649103, 2.917918],
                [0.74765754, -1.9748374, 2.8951907],
                [0.67512596, -1.9998038, 2.8812764],
                [0.6511868, -2.0266018, 2.869284],
                [0.6302807, -2.001863, 2.8494911],
                [0.605318, -1.9964242, 2.85059],
                [0.5966888, -1.9976252, 2.8494172],
                [0.5648986, -1.9972117, 2.8258903],
            ],
        ),
        (
            lambda x: SGD(x, lr=0.1, momentum=0.9, nesterov=True),
            [
                [0.905, -1.81, 3.0],
                [0.912, -2.109, 2.24],
                [0.7058, -2.1981, 2.486],
                [0.58647, -2.1832902, 2.1524],
                [0.11032302, -2.3574612, 2.08216],
                [0.14679076, -2.4942153, 1.973944],
                [0.04461173, -2.0247939, 1.6865495],
                [-0.11859939, -2.1098146, 1.8978946],
                [-0.089239396, -2.1688333, 1.8606051],
                [-0.4628154, -2.1532, 1.2795446],
            ],
        ),
        (
            lambda x: RMSprop(x, lr=0.1),
            [
                [2.3841858e-07, -1.0, 3.0],
                [0.44901344, -1.895323, 2.0],
                [-0.4257262, -1.8953235, 2.6019292],
                [-0.5349619, -1.674798, 2.3124034],
                [-1.4040046, -1.9902754, 2.408945],
                [-0.8560408, -2.0953789, 2.408945],
                [-0.8560408, -1.3102751, 2.217518],
                [-0.99310946, -1.6226025, 2.576633],
                [-0.7274884, -1.7471846, 2.5315633],
                [-1.256208, -1.7158976, 2.053994],
            ],
        ),
        (
            lambda x: RMSprop(x, lr=0.1, alpha=0.5, eps=0.25, momentum=0.9, weight_decay=0.5),
            [
                [0.8955184, -1.8798231, 2.8855538],
                [0.77577484, -1.8423479, 2.652062],
                [0.56106436, -1.7402751, 2.4931946],
                [0.32899815, -1.5565449, 2.2625682],
                [0.0050284457, -1.3886815, 2.0279968],
                [-0.20405364, -1.1906275, 1.7632588],
                [-0.3847212, -0.88575876, 1.431632],
                [-0.5648012, -0.6486074, 1.2047638],
                [-0.6387342, -0.4460715, 0.94363856],
                [-0.80371845, -0.23581018, 0.5871687],
            ],
        ),
        (
            Adadelta,
            [
                [0.9968378, -1.9968377, 3.0],
                [0.9989229, -2.0008783, 2.9968376],
                [0.99461615, -2.0008783, 2.9996111],
                [0.9938733, -1.9994843, 2.998006],
                [0.9883741, -2.0015306, 2.9985762],
                [0.993036, -2.002265, 2.9985762],
                [0.993036, -1.9974445, 2.9974146],
                [0.9916721, -1.9999906, 2.9996052],
                [0.9943147, -2.0010738, 2.9992979],
                [0.9891468, -2.0007975, 2.9962656],
            ],
        ),
        (
            lambda x: Adadelta(x, lr=0.1, rho=0.5, eps=0.25, weight_decay=0.5),
            [
                [0.942265, -1.9333333, 2.9360397],
                [0.9225546, -1.9864987, 2.8431833],
                [0.8506004, -1.9292085, 2.8891132],
                [0.80948985, -1.8521646, 2.8120606],
                [0.7197812, -1.8383046, 2.7776406],
                [0.7827173, -1.7896041, 2.723536],
                [0.75552243, -1.6947801, 2.6432266],
                [0.70490974, -1.7123493, 2.6781545],
                [0.7371949, -1.6950736, 2.6072845],
                [0.6532529, -1.6479445, 2.5015593],
            ],
        ),
        (
            lambda x: RMSprop(x, lr=0.1, centered=True),
            [
                [-0.0050376654, -0.9949622, 3.0],
                [0.44441086, -1.8912017, 1.9949621],
                [-0.43554193, -1.8912022, 2.597003],
                [-0.5455517, -1.6706252, 2.307153],
                [-1.4239028, -1.9865291, 2.4037614],
                [-0.8747396, -2.0918345, 2.4037614],
                [-0.8747396, -1.3060907, 2.2120414],
                [-1.0122323, -1.6184256, 2.571199],
                [-0.7462954, -1.7430098, 2.5261204],
                [-1.2773674, -1.7117226, 2.0475361],
            ],
        ),
        (
            lambda x: RMSprop(x, lr=0.1, alpha=0.5, eps=0.25, momentum=0.5, weight_decay=0.5, centered=True),
            [
                [0.8666667, -1.84, 2.85],
                [0.7712368, -1.8316362, 2.5700438],
                [0.5584662, -1.7547446, 2.4838412],
                [0.39639622, -1.5915984, 2.3339903],
                [0.1157898, -1.5054091, 2.225225],
                [0.055570826, -1.3974456, 2.0950296],
                [0.023398157, -1.1484743, 1.8621751],
                [-0.029574396, -1.0568007, 1.8068155],
                [0.021066198, -1.0091594, 1.6967556],
                [-0.079468265, -0.9326659, 1.4509938],
            ],
        ),
    ],
    ids=[
        "AdamW",
        "AdamW, other options",
        "Adam with decay",
        "momentum",
        "nesterov with decay",
        "SGD with decay",
        "SGD",
        "Adam",
        "nesterov",
        "RMSprop",
        "RMSprop, other options",
        "Adadelta",
        "Adadelta, other options",
        "centered RMSprop",
        "centered RMSprop, other options",
    ],
)
def test_ten_steps_equal_torch(make: Any, expected: list[list[float]]) -> None:
    np.testing.assert_allclose(run(make), expected, rtol=2e-6, atol=1e-7)


def test_decoupled_decay_shrinks_the_parameter_and_does_not_affect_momentum() -> None:
    x, grads = start(), Gradients()
    optimizer = SGD([x], lr=0.5, momentum=0.5, weight_decay=0.25, decoupled=True)
    grads.add(x, tensor([1.0, 0.0, 0.0]).data)

    optimizer.step(grads)

    # x (1 - 0.5 · 0.25) - 0.5 dx
    assert x.tolist() == [0.375, -1.75, 2.625]
    assert optimizer.state[x].velocity.tolist() == [1, 0, 0]  # type: ignore[union-attr]  # with momentum there is one


def test_adamw_without_decay_equals_adam() -> None:
    assert run(lambda x: AdamW(x, lr=0.1, weight_decay=0.0)) == run(lambda x: Adam(x, lr=0.1))


def test_centered_rmsprop_divides_by_the_variance_of_all_gradients_where_it_is_small() -> None:
    x = Param(tensor([0.0]))
    optimizer = RMSprop([x], lr=0.0, alpha=0.5, centered=True)
    dxs = [1000 + 2**-10 * step for step in range(40)]
    for dx in dxs:
        grads = Gradients()
        grads.add(x, tensor([dx]).data)
        optimizer.step(grads)

    # In float32 the mean of the squares minus the square of the mean would be off by 1e6 / 2**24 = 0.06.
    state: Any = optimizer.state[x]
    weights = 0.5 ** np.arange(len(dxs), 0, -1)
    mean = weights @ np.asarray(dxs)
    assert state.mean[0] == pytest.approx(mean, rel=1e-6)
    assert state.square[0] == pytest.approx(weights @ np.asarray(dxs) ** 2 - mean**2, rel=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: SGD(x, lr=0.1, momentum=1.0), "SGD: momentum is 1.0 but must be from 0 to below 1"),  # type: ignore[arg-type]  # out of range
        (lambda x: SGD(x, lr=0.1, nesterov=True), "SGD: nesterov needs momentum above 0"),
        (lambda x: SGD(x, lr=0.1, weight_decay=-1.0), "SGD: weight_decay is -1.0 but must be at least 0"),  # type: ignore[arg-type]  # out of range
        (lambda x: AdamW(x, weight_decay=float("nan")), "AdamW: weight_decay is nan but must be at least 0"),
        (lambda x: AdamW(x, betas=(0.9, 1.0)), "AdamW: beta 2 is 1.0 but must be from 0 to below 1"),  # type: ignore[arg-type]  # out of range
        (lambda x: AdamW(x, eps=-1.0), "AdamW: eps is -1.0 but must be at least 0"),  # type: ignore[arg-type]  # out of range
        (lambda x: RMSprop(x, alpha=1.0), "RMSprop: alpha is 1.0 but must be from 0 to below 1"),  # type: ignore[arg-type]  # out of range
        (lambda x: RMSprop(x, momentum=-0.5), "RMSprop: momentum is -0.5 but must be from 0 to below 1"),  # type: ignore[arg-type]  # out of range
        (lambda x: RMSprop(x, eps=-1.0), "RMSprop: eps is -1.0 but must be at least 0"),  # type: ignore[arg-type]  # out of range
        (lambda x: Adadelta(x, rho=1.0), "Adadelta: rho is 1.0 but must be from 0 to below 1"),  # type: ignore[arg-type]  # out of range
        (lambda x: Adadelta(x, eps=0.0), "Adadelta: eps is 0.0 but must be above 0"),  # type: ignore[arg-type]  # out of range
        (lambda x: Adadelta(x, lr=-1.0), "Adadelta: lr is -1.0 but must be at least 0"),  # type: ignore[arg-type]  # out of range
    ],
)
def test_options_out_of_range_are_rejected(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make([start()])
