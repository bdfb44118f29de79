"""Arguments are checked by their type hints before anything starts: a mistake is one sentence and an `assay.Error`."""

from __future__ import annotations

import difflib
import functools
import inspect
import operator
import os
import typing
from collections import abc
from typing import Annotated, Any, Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypeVar, Union

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])


class AtLeast(NamedTuple):
    """The smallest number that an argument may be."""

    least: int


class Described(NamedTuple):
    """What was expected, in words that say more than the type."""

    expected: str


Count = Annotated[int, AtLeast(0)]
Positive = Annotated[int, AtLeast(1)]
Path = Union[str, "os.PathLike[str]"]
Paths = Union[Path, Iterable[Path]]
Shape = Annotated[Sequence[Count], Described("a shape such as (1, 3, 224, 224)")]
Shapes = Union[Shape, Mapping[str, Shape], None]

_LARGEST = 2**63 - 1


class _Mismatch(Exception):
    """What was expected instead."""


def checked(function: Function) -> Function:
    """The function, which raises `assay.UsageError` for arguments that its signature or its type hints do not allow."""

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return _with_checked(function, arguments, named)

    return typing.cast(Function, call)


def replace_method(owner: type, name: str, function: Callable[..., Any]) -> None:
    """Puts a checked function in place of a native method."""
    function.__qualname__ = f"{owner.__name__}.{name}"
    setattr(owner, name, checked(function))


def path_list(paths: Paths) -> List[str]:
    """One path or several, as texts."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return [os.fspath(path) for path in several]


def _with_checked(function: Callable[..., Any], arguments: "Tuple[Any, ...]", named: Dict[str, Any]) -> Any:
    signature, hints = _described(function)
    try:
        bound = signature.bind(*arguments, **named)
    except TypeError:
        raise _core.UsageError(_what_does_not_fit(function, signature, arguments, named)) from None
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if name in hints and parameter.kind is parameter.VAR_KEYWORD:
            bound.arguments[name] = {key: _argument(key, each, hints[name], _NOTHING) for key, each in value.items()}
        elif name in hints and parameter.kind is not parameter.VAR_POSITIONAL:
            bound.arguments[name] = _argument(name, value, hints[name], parameter.default)
    try:
        return function(*bound.args, **bound.kwargs)
    except TypeError as error:
        if "argument types are supported" not in str(error):
            raise
        raise _core.UsageError(f"{_called(function)}: an argument is of a type or size that it does not take") from None


@functools.lru_cache(maxsize=None)
def _described(function: Callable[..., Any]) -> "Tuple[inspect.Signature, Dict[str, Any]]":
    return inspect.signature(function), typing.get_type_hints(function, include_extras=True)


_NOTHING = object()


def _argument(name: str, value: Any, hint: Any, default: Any) -> Any:
    if value is default:
        return value
    try:
        return _converted(value, hint)
    except _Mismatch as expected:
        raise _core.UsageError(f"`{name}` {shown(value)}: expected {expected}") from None


def shown(value: Any) -> str:
    """A value as errors quote it."""
    text = " ".join(repr(value).split()) if not hasattr(value, "shape") else f"of type {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


# --- calls that do not fit the signature

def _what_does_not_fit(
    function: Callable[..., Any], signature: inspect.Signature, arguments: "Tuple[Any, ...]", named: Mapping[str, Any]
) -> str:
    known = [name for name in signature.parameters if name != "self"]
    called = _called(function)
    for name in named:
        if name not in known:
            return f"{called} has no argument `{name}`{_nearest(name, known)}"
    parameters = [p for p in signature.parameters.values() if p.name != "self"]
    by_position = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    given = len(arguments) - (1 if "self" in signature.parameters else 0)
    if given > len(by_position):
        takes = ", ".join(f"`{name}`" for name in by_position) or "none"
        return f"{called} takes {len(by_position)} arguments by position ({takes}), {given} given: name the others"
    twice = [name for name in by_position[:given] if name in named]
    if twice:
        return f"{called}: `{twice[0]}` is given twice, by position and by name"
    missing = [p.name for p in parameters[given:] if p.default is p.empty and p.name not in named]
    return f"{called}: `{missing[0]}` is missing" if missing else f"{called}: the arguments do not fit"


def _called(function: Callable[..., Any]) -> str:
    return function.__qualname__.replace(".__init__", "").lstrip("_") + "()"


_LISTED = 12  # names in one sentence


def _nearest(name: str, known: List[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; there are {', '.join(known)}" if 0 < len(known) <= _LISTED else ""


# --- values as their type hints have them

def _converted(value: Any, hint: Any) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _limited(value, inner[0], inner[1])
    if origin is Union:
        return _one_of(value, inner)
    if origin in (abc.Mapping, dict):
        return _mapping(value, inner)
    if origin in (abc.Iterable, abc.Sequence, list):
        return _list(value, inner[0])
    simple = _SIMPLE.get(origin or hint)
    return simple(value) if simple is not None else value


def _limited(value: Any, hint: Any, limit: Any) -> Any:
    if isinstance(limit, Described):
        try:
            return _converted(value, hint)
        except _Mismatch:
            raise _Mismatch(limit.expected) from None
    number = _converted(value, hint)
    if number < limit.least:
        raise _Mismatch(f"at least {limit.least}")
    return number


def _one_of(value: Any, hints: "Tuple[Any, ...]") -> Any:
    expected: List[str] = []
    for hint in hints:
        try:
            return _converted(value, hint)
        except _Mismatch as mismatch:
            expected.append(str(mismatch))
    texts = [text for text in dict.fromkeys(expected) if text != "None"] or ["None"]
    raise _Mismatch(" or ".join(texts))


def _mapping(value: Any, inner: "Tuple[Any, ...]") -> Any:
    if not isinstance(value, abc.Mapping):
        raise _Mismatch("a dict")
    try:
        return {_converted(key, inner[0]): _converted(item, inner[1]) for key, item in value.items()}
    except _Mismatch as mismatch:
        raise _Mismatch(f"a dict with {mismatch} for each name") from None


def _list(value: Any, inner: Any) -> List[Any]:
    if isinstance(value, (str, bytes, abc.Mapping)) or not hasattr(value, "__iter__"):
        raise _Mismatch("a list")
    try:
        return [_converted(item, inner) for item in value]
    except _Mismatch as mismatch:
        raise _Mismatch(f"a list, each {mismatch}") from None
    except TypeError:
        raise _Mismatch("a list") from None


def _whole(value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise _Mismatch("a whole number") from None
    if isinstance(value, bool):
        raise _Mismatch("a whole number")
    if abs(number) > _LARGEST:
        raise _Mismatch("a whole number of at most 64 bits")
    return number


def _number(value: Any) -> float:
    if isinstance(value, (str, bytes, bool)) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise _Mismatch("a number")
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise _Mismatch("a number") from None
    if number != number:
        raise _Mismatch("a number")
    return number


def _truth(value: Any) -> bool:
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):
        raise _Mismatch("True or False")
    return bool(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Mismatch("a string")
    if "\0" in value:
        raise _Mismatch("a string without NUL")
    return value


def _path(value: Any) -> Any:
    if not isinstance(value, os.PathLike):
        raise _Mismatch("a path")
    path = os.fspath(value)
    if not isinstance(path, str) or "\0" in path:
        raise _Mismatch("a path of text without NUL")
    return value


def _callable(value: Any) -> Any:
    if not callable(value):
        raise _Mismatch("a function")
    return value


def _none(value: Any) -> None:
    if value is not None:
        raise _Mismatch("None")


_SIMPLE: Dict[Optional[Any], Callable[[Any], Any]] = {
    int: _whole,
    float: _number,
    bool: _truth,
    str: _text,
    os.PathLike: _path,
    abc.Callable: _callable,
    type(None): _none,
}
