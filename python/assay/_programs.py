"""Compiled models: the arguments of their methods."""

from __future__ import annotations

from typing import Any, List

from ._arguments import Count, Positive, replace_method
from ._core import Program

__all__ = ["Program"]


def _time(self: Program, runs: Positive = 1) -> float:
    """Runs again on the inputs of the last call; the mean of as many runs, in seconds."""
    return _time_natively(self, runs)


def _random_inputs(self: Program, seed: Count = 0) -> List[Any]:
    """Arrays of the shapes and types that the program takes."""
    return _random_inputs_natively(self, seed)


_time_natively, _random_inputs_natively = Program.time, Program.random_inputs
replace_method(Program, "time", _time)
replace_method(Program, "random_inputs", _random_inputs)
