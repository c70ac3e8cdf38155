"""Error messages: the text of each function that writes one."""

from tapegrad.errors.messages import (
    ANY_NUMBER,
    RESULT,
    UNNAMED,
    callee,
    conflict,
    layer,
    mixed_dtypes,
    no_tensor,
    of_layer,
    shown,
    tape_missing,
    tape_unwanted,
    too_small,
    with_article,
    wrong_dtype,
    wrong_number,
    wrong_rank,
    wrong_size,
)
from tapegrad.sizes import named

N = named("N")


def test_a_wrong_rank_is_reported_with_the_expected_one() -> None:
    assert wrong_rank("f", "x", (3, 4), (3, 5, N)) == "f: x is (3, 4) but (3, 5, N) is expected: rank 2, not 3"


def test_with_any_number_of_sizes_a_minimum_rank_is_expected() -> None:
    assert wrong_rank("f", "x", (), (ANY_NUMBER, 5)) == "f: x is () but (..., 5) is expected: rank 0, not at least 1"


def test_a_size_is_named_by_its_axis() -> None:
    assert wrong_size("f", "x", (3, 4), (3, 5), 1) == "f: x is (3, 4) but (3, 5) is expected: axis 1 is 4, not 5"


def test_a_size_after_any_number_of_sizes_is_counted_from_the_end() -> None:
    expected = "f: x is (2, 3, 4) but (..., 5) is expected: axis -1 is 4, not 5"

    assert wrong_size("f", "x", (2, 3, 4), (ANY_NUMBER, 5), -1) == expected


def test_a_computed_size_is_shown_with_its_value() -> None:
    expected = "f: the result is (3, 5) but (N, N + 1) is expected: axis 1 is 5, not N + 1 = 4"

    assert wrong_size("f", RESULT, (3, 5), (N, N + 1), 1, 4) == expected


def test_a_computed_size_that_is_a_number_already_is_shown_once() -> None:
    assert wrong_size("f", "x", (3,), (4,), 0, 4) == "f: x is (3,) but (4,) is expected: axis 0 is 3, not 4"


def test_two_sizes_of_one_name_are_distinguished() -> None:
    expected = "f: x is (3, N) but (3, N) is expected: axis 1 is N, not the N of another class or function"

    assert wrong_size("f", "x", (3, named("N", scope="g")), (3, N), 1) == expected


def test_a_number_is_compared_with_a_size() -> None:
    assert wrong_number("f", "n", 5, 3) == "f: n is 5 but 3 is expected"
    assert wrong_number("f", "n", 5, N + 1, 4) == "f: n is 5 but N + 1 = 4 is expected"


def test_a_conflict_names_both_places() -> None:
    assert conflict("f", "N", 3, "x", 4, "y") == "f: N is 3 in x but 4 in y"
    assert conflict("f", "S", (3, 5), "x", (5, 3), "y") == "f: S is (3, 5) in x but (5, 3) in y"
    assert conflict("f", "D", "float32", "x", "float64", "y") == "f: D is float32 in x but float64 in y"


def test_a_conflict_within_one_place_names_it_once() -> None:
    assert conflict("f", "N", 3, "x", 4, "x") == "f: N is both 3 and 4 in x"


def test_a_named_size_below_one_is_too_small() -> None:
    assert too_small("f", "N", 0, "x") == "f: N is 0 in x but a named size is at least 1"
    assert too_small("f", "P", -1, "x", 0) == "f: P is -1 in x but a size of this name is at least 0"


def test_a_tape_is_missing_or_unwanted() -> None:
    assert tape_missing("f", "x") == "f: x has no tape but needs one"
    assert tape_unwanted("f", RESULT) == "f: the result has a tape but must have none"


def test_a_wrong_dtype_is_reported() -> None:
    assert wrong_dtype("f", "x", "float64", "float32") == "f: x is float64 but float32 is expected"
    assert mixed_dtypes("f", "float32", "x", "int64", "y") == "f: x is float32 but y is int64"
    assert mixed_dtypes("f", with_article("int"), "y", "bool", "x") == "f: y is an int but x is bool"


def test_the_decorator_adds_the_name_of_the_op() -> None:
    assert wrong_dtype(UNNAMED, "x", "int64", "floating") == "x is int64 but floating is expected"
    assert mixed_dtypes(UNNAMED, "float32", "x", "int64", "y") == "x is float32 but y is int64"
    assert tape_unwanted(UNNAMED, "target") == "target has a tape but must have none"


def test_one_operand_must_be_a_tensor() -> None:
    assert no_tensor("f", with_article("float"), with_article("int")) == "f: neither a float nor an int is a tensor"


def test_a_function_is_named_as_its_caller_writes_it() -> None:
    assert callee("test_it.<locals>.f") == "f"
    assert callee("Linear.forward") == "Linear.forward"
    assert callee("test_it.<locals>.Linear.__init__") == "Linear"


def test_a_layer_is_named_by_its_path_and_its_sizes() -> None:
    said = "Linear.forward: x is (2, 5) but (..., 3) is expected: axis -1 is 5, not 3"

    assert [layer("ReLU", []), layer("Linear", [N, 4])] == ["ReLU", "Linear(N, 4)"]
    assert of_layer("Net.fall", "Linear(3, 4)", said) == f"Net.fall Linear(3, 4){said.removeprefix('Linear.forward')}"
    assert of_layer("", "ReLU", "relu: x is bool but number is expected") == "ReLU: x is bool but number is expected"


def test_a_shape_is_written_as_python_writes_a_tuple() -> None:
    assert [shown(()), shown((3,)), shown([3, N]), shown([ANY_NUMBER])] == ["()", "(3,)", "(3, N)", "(...)"]
