"""Keyword arguments that most functions share."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from . import _core
from ._arguments import Shapes
from ._models import named_shapes


def run_options(
    model: _core.Model,
    inputs: Mapping[str, _core.Tensor],
    *,
    batch: Optional[int] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    **engine: Any,
) -> _core.RunOptions:
    return _core.RunOptions(
        batch=batch,
        dims=dict(dims or {}),
        input_shapes=named_shapes(model, input_shapes),
        inputs=dict(inputs),
        **given(engine),
    )


def given(arguments: Dict[str, Any]) -> Dict[str, Any]:
    """Those that the caller gave: None means the default."""
    return {name: value for name, value in arguments.items() if value is not None}


def profile_flags(
    *,
    batch: Optional[int],
    dims: Optional[Mapping[str, int]],
    input_shapes: "Dict[str, List[int]]",
    engine: Mapping[str, Any],
) -> List[str]:
    """The same as flags of `assay profile`, for fresh processes that measure."""
    flags: List[str] = []
    if batch is not None:
        flags += ["--batch", str(batch)]
    for name, size in (dims or {}).items():
        flags += ["--dim", f"{name}={size}"]
    for name, shape in input_shapes.items():
        flags += ["--input", f"{name}={'x'.join(map(str, shape)) or 'scalar'}"]
    names = {"threads": "--threads", "engine": "--engine", "optimize_for": "--optimize-for", "precision": "--precision"}
    names["tuning_file"] = "--tuning"
    names["seed"] = "--seed"
    for name, flag in names.items():
        if engine.get(name) is not None:
            flags += [flag, str(engine[name])]
    return flags
