"""Checks for the tests of your own ops, shape rules and programs."""

from tapegrad.testing.gradients import check_gradients as check_gradients
from tapegrad.testing.gradients import check_shape_rule as check_shape_rule
from tapegrad.testing.programs import check_programs as check_programs
