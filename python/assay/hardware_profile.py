"""The streaming model: what normalising, projecting, activating and deciding cost at a fixed interval."""

from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Optional

from . import _core
from ._arguments import Path, Positive, checked
from ._commands import stream
from ._progress import Choice

__all__ = ["build_hardware_profile_table", "write_hardware_profile_artifacts"]


@checked
def build_hardware_profile_table(
    feature_count: Positive,
    batch_size: Positive,
    stream_interval_ms: float,
    *,
    width: Optional[Positive] = None,
    measured: bool = False,
    progress: Choice = None,
) -> Dict[str, Any]:
    """Latency and memory of the streaming model's operators, totals, precisions and constraints.

    >>> profile = assay.hardware_profile.build_hardware_profile_table(6, 32, 10)
    >>> [row["operator"] for row in profile["operator_profile"]]
    ['input_normalization', 'linear_projection', 'activation', 'decision_head']
    """
    return stream(
        features=feature_count,
        width=width,
        batch=batch_size,
        interval_ms=stream_interval_ms,
        measured=measured,
        progress=progress,
    ).to_dict()


@checked
def write_hardware_profile_artifacts(
    profile: Mapping[str, Any], dir: Optional[Path] = None, *, output_dir: Optional[Path] = None
) -> Dict[str, str]:
    """Writes operator_profile.csv and hardware_totals.csv into the folder, which is made if it is not there.

    ``output_dir`` is another name for ``dir``.
    """
    folder = dir if dir is not None else output_dir
    if folder is None:
        raise _core.UsageError("write_hardware_profile_artifacts needs profile and dir")
    operators, totals = profile.get("operator_profile"), profile.get("totals")
    if not operators or not totals:
        raise _core.BadInputError("the profile has no `operator_profile` and `totals`")
    try:
        return _core.write_hardware_profile_artifacts(list(operators), dict(totals), os.fspath(folder))
    except (TypeError, ValueError, KeyError, RuntimeError) as error:
        if isinstance(error, _core.Error):
            raise
        raise _core.BadInputError(f"the profile is not one of build_hardware_profile_table: {error}") from error
