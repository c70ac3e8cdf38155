"""Dictionaries of tensors with constant keys: functions that return or take them, and programs that change them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, assert_type
from typing import Literal as L

import numpy as np

import tapegrad as tg
from tapegrad import NoneTape, Shape, Tensor, nn

row = tg.ones((5, 4))


class Encoder(nn.Module):
    """Returns two tensors by name."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 8)
        self.mean = nn.Linear(4, 3)

    def forward(self, x: Tensor[Any, Any]) -> dict[str, Tensor[Any, Any]]:
        return {"hidden": self.linear(x), "mean": self.mean(x)}

    def with_input(self, x: Tensor[Any, Any]) -> dict[str, Tensor[Any, Any]]:
        return {**self(x), "input": x}

    def encode(self, x: Tensor[Any, Any]) -> tuple[dict[str, Tensor[Any, Any]], Tensor[Any, Any]]:
        outputs = self(x)
        outputs["norm"] = tg.norm(x, axis=1)
        return outputs, outputs["mean"]


encoder = Encoder()


def loss(outputs: dict[str, Tensor[Any, Any]], batch: Mapping[str, Tensor[Any, Any]]) -> Tensor[Any, Any]:
    """Reads both dictionaries."""
    return tg.mse(outputs["mean"], batch["target"])


def sized(outputs: dict[str, Tensor[Any, Any]], state: dict[str, Tensor[Any, Any]]) -> Tensor[Any, Any]:
    """Multiplies items of two dictionaries."""
    return outputs["hidden"] @ state["weights"]


def total(terms: dict[str, Tensor[Any, Any]]) -> Tensor[Any, Any]:
    """Adds the items of a dictionary."""
    result = tg.zeros(())
    for term in terms.values():
        result = result + term
    return result


class Trainer:
    """Passes a batch on to a method."""

    def __init__(self, model: Encoder) -> None:
        self.model = model

    def errors(self, outputs: dict[str, Tensor[Any, Any]], batch: dict[str, Tensor[Any, Any]]) -> Tensor[Any, Any]:
        return outputs["mean"] - batch["target"]

    def step(self, batch: dict[str, Tensor[Any, Any]]) -> Tensor[Any, Any]:
        outputs = self.model(batch["input"])
        return self.errors(outputs, batch)


trainer = Trainer(encoder)


def batches(images: Tensor[Any, Any], size: int) -> Iterator[dict[str, Tensor[Any, Any]]]:
    """Yields dictionaries."""
    for start in range(0, 64, size):
        batch = images[start : start + size]
        yield {"images": batch, "means": batch.mean(axis=1)}


def parted(x: Tensor[Any, Any], *, flag: bool) -> dict[str, Tensor[Any, Any]]:
    """Returns one of two dictionaries with the same keys."""
    if flag:
        return {"first": x[:2], "last": x[-1]}
    return {"first": x, "last": x[0]}


def collected(x: Tensor[Any, Any]) -> dict[str, Tensor[Any, Any]]:
    """Fills a dictionary key by key."""
    found: dict[str, Tensor[Any, Any]] = {}
    found["rows"] = x
    found["columns"] = x.T
    return found


def accept_entries_of_a_result() -> None:
    outputs = encoder(row)
    assert_type(outputs["hidden"], Tensor[Shape[L[5], L[8]], NoneTape])
    assert_type(outputs.get("mean"), Tensor[Shape[L[5], L[3]], NoneTape] | None)
    assert_type(encoder.with_input(row)["input"], Tensor[Shape[L[5], L[4]], NoneTape])
    encoded, mean = encoder.encode(row)
    assert_type(encoded["norm"], Tensor[Shape[L[5]], NoneTape])
    assert_type(mean, Tensor[Shape[L[5], L[3]], NoneTape])
    assert_type(collected(row)["columns"], Tensor[Shape[L[4], L[5]], NoneTape])


def accept_entries_of_an_argument() -> None:
    outputs = encoder(row)
    assert_type(loss(outputs, {"target": tg.ones((5, 3))}), Tensor[Shape[()], NoneTape])
    assert_type(total({"rows": row.sum(), "mean": row.mean()}), Tensor[Shape[()], NoneTape])
    batch = {"input": row, "target": tg.ones((5, 3))}
    assert_type(batch["target"], Tensor[Shape[L[5], L[3]], NoneTape])
    loss(encoder(batch["input"]), batch)


def accept_entries_of_two_results(*, flag: bool = True) -> None:
    parts = parted(row, flag=flag)
    assert_type(parts["first"], Tensor[Shape[Any, L[4]], NoneTape])
    assert_type(parts["last"], Tensor[Shape[L[4]], NoneTape])


def reject_an_entry_of_a_result() -> None:
    outputs = encoder(row)
    outputs["hidden"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (5, 8) has 8 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_an_entry_of_a_result_in_a_tuple() -> None:
    encoded, _ = encoder.encode(row)
    encoded["mean"] @ tg.ones((8, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (8, 2) has 8 rows [tapegrad-shape]


def reject_an_entry_of_a_filled_dictionary() -> None:
    collected(row)["columns"] @ row.T  # E: matmul: inner sizes differ: x (4, 5) has 5 columns but y (4, 5) has 4 rows [tapegrad-shape]


def reject_an_entry_of_an_argument() -> None:
    sized(encoder(row), {"weights": tg.ones((8, 2))}) @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (5, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


def accept_entries_that_a_generator_yields() -> None:
    for batch in batches(tg.ones((64, 4)), 16):
        assert_type(batch["images"], Tensor[Shape[L[16], L[4]], NoneTape])
    loader = batches(tg.ones((64, 4)), 16)
    for _, named in enumerate(loader):
        named["images"] = named["means"]
        assert_type(named["means"], Tensor[Shape[L[16]], NoneTape])
        named["images"] + tg.ones((16,))


def reject_an_entry_that_a_generator_yields() -> None:
    for batch in batches(tg.ones((64, 4)), 16):
        batch["images"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (16, 4) has 4 columns but y (3, 2) has 3 rows [tapegrad-shape]


def accept_entries_that_are_passed_on() -> None:
    assert_type(trainer.step({"input": row, "target": tg.ones((1, 3))}), Tensor[Shape[L[5], L[3]], NoneTape])


def reject_an_entry_that_is_passed_on() -> None:
    trainer.step({"input": row, "target": tg.ones((5, 3))}) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (5, 2) has 5 rows [tapegrad-shape]


def accept_entries_that_are_assigned_again() -> None:
    outputs = encoder(row)
    outputs["mean"] = tg.ones((2,))
    outputs["mean"] + tg.ones((2,))
    assert_type(outputs["hidden"], Tensor[Shape[L[5], L[8]], NoneTape])


def reject_an_entry_beside_one_that_is_assigned_again() -> None:
    outputs = encoder(row)
    outputs["mean"] = outputs["mean"][0]
    outputs["hidden"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (5, 8) has 8 columns but y (3, 2) has 3 rows [tapegrad-shape]


def loaded(count: int) -> dict[str, Tensor[Any, Any]]:
    """Returns a batch."""
    return {"x": tg.ones((count, 8)), "y": tg.ones((count, 2))}


def accept_a_variable_with_one_dictionary_after_another() -> None:
    for _ in range(2):
        batch = loaded(4)
        assert_type(batch["x"], Tensor[Shape[L[4], L[8]], NoneTape])
    batch = loaded(6)
    assert_type(batch["y"], Tensor[Shape[L[6], L[2]], NoneTape])


def reject_an_entry_of_the_second_dictionary() -> None:
    batch = loaded(4)
    batch = loaded(6)
    batch["y"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (6, 2) has 2 columns but y (3, 2) has 3 rows [tapegrad-shape]


class Tower(nn.Module):
    """Reads entries of a batch that another model passes on."""

    def __init__(self, table: nn.Embedding[Any, Any], names: list[str]) -> None:
        self.table = table
        self.names = names
        self.linear = nn.Linear(8, 3)

    def forward(self, batch: dict[str, Tensor[Any, Any, Any]]) -> Tensor[Any, Any]:
        return self.linear(self.table(batch["rows"]) + batch["x"])


class Towers(nn.Module):
    """Two models that share a table."""

    def __init__(self, width: int) -> None:
        table = nn.Embedding(5, width)
        self.users = Tower(table, ["a"])
        self.items = Tower(table, ["b"])
        self.heads = {"mean": nn.Linear(3, 4), "scale": nn.Linear(3, 1, bias=False)}

    def forward(self, batch, other):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201  # under test
        users, items = self.users(batch), self.items(other)
        return {"scores": users @ items.T, "mean": self.heads["mean"](users), "scale": self.heads["scale"](items)}


def rows(count: int) -> dict[str, Tensor[Any, Any, Any]]:
    """Returns a batch of rows of a table."""
    return {"rows": tg.tensor(np.zeros(count, np.int64)), "x": tg.ones((count, 8))}


def reported(model: Towers, batch: dict[str, Tensor[Any, Any, Any]]) -> Tensor[Any, Any]:
    """Calls a part of a model."""
    return model.users(batch)


def accept_entries_that_layers_read() -> None:
    model = Towers(8)
    batch, other = rows(4), rows(6)
    out = model(batch, other)
    assert_type(out["scores"], Tensor[Shape[L[4], L[6]], NoneTape])
    assert_type(out["mean"], Tensor[Shape[L[4], L[4]], NoneTape])
    assert_type(out["scale"], Tensor[Shape[L[6], L[1]], NoneTape])
    assert_type(reported(model, batch), Tensor[Shape[L[4], L[3]], NoneTape])
    tests = model({**batch, "x": tg.zeros((4, 8))}, {"rows": tg.tensor(np.zeros(2, np.int64)), "x": tg.ones((2, 8))})
    assert_type(tests["scores"], Tensor[Shape[L[4], L[2]], NoneTape])


def reject_an_entry_that_layers_read() -> None:
    Towers(8)(rows(4), rows(6))["scores"] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 6) has 6 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_layer_of_a_dictionary() -> None:
    Towers(8)(rows(4), rows(6))["scale"] @ tg.ones((2, 2))  # E: matmul: inner sizes differ: x (6, 1) has 1 columns but y (2, 2) has 2 rows [tapegrad-shape]


class Buffer:
    """Keeps tensors of several shapes in a dictionary, and replaces elements of them."""

    def __init__(self, steps: int, width: int) -> None:
        self.width = width
        self.data: dict[str, Tensor[Any, Any, Any]] = {
            "x": tg.zeros((steps, width)),
            "actions": tg.zeros((steps,), np.int64),
            "values": tg.zeros((steps + 1,)),
        }

    def put(self, name: str, step: int, value: Tensor) -> None:
        self.data[name] = self.data[name].at_set(step, value)

    def returns(self) -> Tensor:
        data, scale = self.data, 0.5
        return data["values"][:-1] + scale * data["x"].sum(axis=1)

    def batch(self) -> dict[str, Tensor]:
        return {"x": self.data["x"], "returns": self.returns()}


def accept_entries_of_an_attribute() -> None:
    for _ in range(2):
        buffer = Buffer(5, 3)
        buffer.put("x", 0, tg.ones((3,)))
        buffer.put("values", 5, tg.ones(()))
        assert_type(buffer.batch()["x"], Tensor[Shape[L[5], L[3]], Any])
        assert_type(buffer.returns(), Tensor[Shape[L[5]], Any])


def reject_an_entry_of_an_attribute() -> None:
    buffer = Buffer(5, 3)
    buffer.returns() + tg.ones((6,))  # E: add: x (5,) and y (6,) do not broadcast: axis -1 is 5 in x but 6 in y [tapegrad-shape]


def reject_an_entry_of_an_object_made_in_a_loop() -> None:
    for _ in range(2):
        buffer = Buffer(5, 3)
        buffer.batch()["x"] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (5, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


class Heads(nn.Module):
    """Calls layers of several sizes by comprehensions."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.heads = {name: nn.Linear(3, size) for name, size in sizes.items()}
        self.others = {}
        for name, size in sizes.items():
            self.others[name] = nn.Linear(3, size + 1)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {name: head(x) for name, head in self.heads.items()}

    def joined(self, x: Tensor) -> Tensor:
        return tg.concat([head(x) for head in self.heads.values()], axis=1)

    def other(self, x: Tensor) -> Tensor:
        return self.others["scale"](x)


def accept_a_comprehension_over_layers() -> None:
    model = Heads({"mean": 4, "scale": 1})
    out = model(tg.ones((2, 3)))
    assert_type(out["mean"], Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(out["scale"], Tensor[Shape[L[2], L[1]], NoneTape])
    assert_type(model.joined(tg.ones((2, 3))), Tensor[Shape[L[2], L[5]], NoneTape])
    assert_type(model.other(tg.ones((2, 3))), Tensor[Shape[L[2], L[2]], NoneTape])


def reject_an_item_of_a_comprehension() -> None:
    out = Heads({"mean": 4, "scale": 1})(tg.ones((2, 3)))
    out["mean"] @ tg.ones((1, 2))  # E: matmul: inner sizes differ: x (2, 4) has 4 columns but y (1, 2) has 1 rows [tapegrad-shape]


def reject_layers_that_are_joined() -> None:
    Heads({"mean": 4, "scale": 1}).joined(tg.ones((2, 3))) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]


class Part(nn.Module):
    """Reads one part of a batch."""

    def __init__(self, width: int) -> None:
        self.linear = nn.Linear(width, 3)

    def forward(self, part: dict[str, Tensor]) -> Tensor:
        return self.linear(part["x"])


class Parts(nn.Module):
    """Passes on each part of a batch."""

    def __init__(self) -> None:
        self.users = Part(4)
        self.items = Part(5)

    def forward(self, batch: dict[str, dict[str, Tensor]]) -> Tensor:
        return self.users(batch["user"]) @ self.items(batch["item"]).T


def nested(count: int) -> dict[str, dict[str, Tensor]]:
    """Returns a batch with two parts."""
    return {"user": {"x": tg.ones((count, 4))}, "item": {"x": tg.ones((2 * count, 5))}}


def accept_entries_of_entries() -> None:
    batch = nested(3)
    assert_type(batch["user"]["x"], Tensor[Shape[L[3], L[4]], NoneTape])
    assert_type(Parts()(batch), Tensor[Shape[L[3], L[6]], NoneTape])


def reject_an_entry_of_an_entry() -> None:
    nested(3)["item"]["x"] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (6, 5) has 5 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_an_entry_of_an_entry_that_is_passed_on() -> None:
    Parts()(nested(3)) @ tg.ones((5, 2))  # E: matmul: inner sizes differ: x (3, 6) has 6 columns but y (5, 2) has 5 rows [tapegrad-shape]


class Filled(nn.Module):
    """Fills dictionaries in loops."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self.heads = {name: nn.Linear(3, n) for name, n in sizes.items()}

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        out = {}
        for name, head in self.heads.items():
            out[name] = head(x)
        return out

    def scaled(self, x: Tensor) -> dict[str, Tensor]:
        out: dict[str, Tensor] = {"input": x}
        for name, head in self.heads.items():
            out[name] = head(x)
        out["scale"] *= 2.0
        return out

    def total(self, x: Tensor) -> Tensor:
        losses = {}
        for name, head in self.heads.items():
            losses[name] = head(x).mean(axis=1)
        return tg.stack(list(losses.values()))

    def passed_on(self, x: Tensor, target: Tensor) -> dict[str, Tensor]:
        out = {"mean": self.heads["mean"](x)}
        out["scale"] = self.heads["scale"](x)
        out["loss"] = loss(out, {"target": target})
        return out

    def perhaps(self, x: Tensor, count: int) -> dict[str, Tensor]:
        out = {}
        if count > 2:
            out["mean"] = self.heads["mean"](x)
        else:
            out["scale"] = self.heads["scale"](x)
        return out


filled = Filled({"mean": 4, "scale": 1})


def accept_a_dictionary_filled_in_a_loop() -> None:
    out = filled(tg.ones((2, 3)))
    assert_type(out["mean"], Tensor[Shape[L[2], L[4]], NoneTape])
    assert_type(out["scale"], Tensor[Shape[L[2], L[1]], NoneTape])
    for one in out.values():
        assert_type(one, Tensor[Shape[L[2], Any], NoneTape])
    more = filled.scaled(tg.ones((2, 3)))
    assert_type(more["input"], Tensor[Shape[L[2], L[3]], NoneTape])
    assert_type(more["scale"], Tensor[Shape[L[2], L[1]], NoneTape])
    assert_type(filled.total(tg.ones((2, 3))), Tensor[Shape[Any, L[2]], NoneTape])


def accept_a_filled_dictionary_that_is_passed_on() -> None:
    out = filled.passed_on(tg.ones((2, 3)), tg.ones((2, 4)))
    assert_type(out["scale"], Tensor[Shape[L[2], L[1]], NoneTape])


def accept_a_dictionary_filled_in_a_branch() -> None:
    assert_type(filled.perhaps(tg.ones((2, 3)), 3)["mean"], Tensor[Shape[L[2], L[4]], NoneTape])


def reject_an_item_of_a_dictionary_filled_in_a_loop() -> None:
    filled(tg.ones((2, 3)))["scale"] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 1) has 1 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_an_item_of_a_filled_dictionary() -> None:
    filled.scaled(tg.ones((2, 3)))["input"] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (2, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_filled_dictionary_that_is_passed_on() -> None:
    filled.passed_on(tg.ones((2, 3)), tg.ones((2, 4)))["mean"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (2, 4) has 4 columns but y (3, 2) has 3 rows [tapegrad-shape]


def reject_an_item_filled_in_a_branch() -> None:
    filled.perhaps(tg.ones((2, 3)), 3)["mean"] @ tg.ones((3, 2))  # E: matmul: inner sizes differ: x (2, 4) has 4 columns but y (3, 2) has 3 rows [tapegrad-shape]



def error(batch: dict[str, Tensor]) -> Tensor:
    """Reads one batch."""
    return batch["x"].mean(axis=1, keepdims=True) - batch["y"]


def accept_a_list_of_dictionaries() -> None:
    several = [{"x": tg.ones((4, 3)), "y": tg.ones((4, 1))} for _ in range(3)]
    written = [{"x": tg.ones((4, 3)), "y": tg.ones((4, 1))}, {"x": tg.ones((4, 3)), "y": tg.ones((4, 1))}]
    for batch in several:
        assert_type(batch["x"], Tensor[Shape[L[4], L[3]], NoneTape])
        assert_type(error(batch), Tensor[Shape[L[4], L[1]], NoneTape])
    for _, batch in enumerate(several):
        assert_type(batch["y"], Tensor[Shape[L[4], L[1]], NoneTape])
    assert_type(written[0]["y"], Tensor[Shape[L[4], L[1]], NoneTape])
    assert_type(tg.concat([one["x"] for one in written], axis=1), Tensor[Shape[L[4], Any], NoneTape])


def reject_an_item_of_a_list_of_dictionaries() -> None:
    several = [{"x": tg.ones((4, 3)), "y": tg.ones((4, 1))} for _ in range(3)]
    for batch in several:
        batch["x"] @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 3) has 3 columns but y (4, 2) has 4 rows [tapegrad-shape]


def reject_a_call_with_an_item_of_a_list() -> None:
    several = [{"x": tg.ones((4, 3)), "y": tg.ones((4, 1))} for _ in range(3)]
    for _, batch in enumerate(several):
        error(batch) @ tg.ones((4, 2))  # E: matmul: inner sizes differ: x (4, 1) has 1 columns but y (4, 2) has 4 rows [tapegrad-shape]
