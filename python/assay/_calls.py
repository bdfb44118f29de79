"""Calls of functions that take arrays: which arrays there are, by name, and where they belong."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Sequence, Tuple

from . import _core

AsTensor = Callable[[Any, str], Any]


@dataclass(frozen=True)
class _Place:
    """Where an array belongs."""

    index: int


class Call(NamedTuple):
    """Arguments in which each array is named and can be replaced by another."""

    positional: Tuple[Any, ...]
    named: Dict[str, Any]
    names: List[str]
    tensors: List[Any]

    def filled(self, tensors: Sequence[Any]) -> "Tuple[Tuple[Any, ...], Dict[str, Any]]":
        """The arguments with these tensors in the places of the call's own."""
        return _filled(self.positional, tensors), _filled(self.named, tensors)


def call_with(function: Any, inputs: Any, described: str, as_tensor: AsTensor) -> Call:
    """A dict gives arguments by name, a tuple or a list several by position, and all else is the only one. Tuples, lists
    and dicts inside of them are arguments of that form; None, switches, numbers and strings stay what they are.
    """
    known, takes_any_name = _parameters(function)
    call = Call((), {}, [], [])
    if isinstance(inputs, Mapping):
        unknown = [name for name in inputs if name not in known]
        if unknown and not takes_any_name:
            raise _core.BadInputError(f"{described}: forward() has no argument '{unknown[0]}'; a dict that is one argument goes in a tuple")
        named = {str(name): _with_places(inputs[name], str(name), call, as_tensor) for name in _ordered(inputs, known)}
        return _with_arrays(call._replace(named=named), described)
    given = as_sequence(inputs)
    names = known[: len(given)] + [f"input_{i}" for i in range(len(known), len(given))]
    positional = tuple(_with_places(value, name, call, as_tensor) for value, name in zip(given, names))
    return _with_arrays(call._replace(positional=positional), described)


def as_sequence(inputs: Any) -> List[Any]:
    """One array, or several in a tuple or list; a list of numbers is one array."""
    if isinstance(inputs, tuple):
        return list(inputs)
    if isinstance(inputs, list) and inputs and not _is_list_of_numbers(inputs):
        return inputs
    return [inputs]


def _is_list_of_numbers(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_is_list_of_numbers(part) for part in value)
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _parameters(function: Any) -> "Tuple[List[str], bool]":
    """Names of parameters, and whether there may be others."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return [], True
    named = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    return named, any(p.kind is p.VAR_KEYWORD for p in parameters)


def _ordered(inputs: Mapping[Any, Any], known: List[str]) -> List[Any]:
    return [name for name in known if name in inputs] + [name for name in inputs if name not in known]


def _with_arrays(call: Call, described: str) -> Call:
    if not call.tensors:
        raise _core.BadInputError(f"{described}: there is no array among the inputs")
    return call


def _with_places(value: Any, name: str, call: Call, as_tensor: AsTensor) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {key: _with_places(part, f"{name}_{key}", call, as_tensor) for key, part in value.items()}
    if isinstance(value, (tuple, list)) and not _is_list_of_numbers(value):
        return _of_kind(value, [_with_places(part, f"{name}_{i}", call, as_tensor) for i, part in enumerate(value)])
    call.names.append(name)
    call.tensors.append(as_tensor(value, f"input '{name}'"))
    return _Place(len(call.tensors) - 1)


def _filled(value: Any, tensors: Sequence[Any]) -> Any:
    if isinstance(value, _Place):
        return tensors[value.index]
    if isinstance(value, dict):
        return {key: _filled(part, tensors) for key, part in value.items()}
    if isinstance(value, (tuple, list)):
        return _of_kind(value, [_filled(part, tensors) for part in value])
    return value


def _of_kind(value: Any, parts: List[Any]) -> Any:
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
