"""A model's layers compared with one latency and one memory bandwidth.

>>> from assay.hardware import estimate_layerwise_stats, summarize_hardware
>>> layers = estimate_layerwise_stats("zoo:small_cnn_gap", batch_size=1)
>>> summary = summarize_hardware(layers, latency_ms=1.0, memory_bandwidth_gbps=4.3)
>>> summary["estimated_total_macs"]
1016384
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple

from . import _core
from ._arguments import Path, Positive, Shape, checked
from ._devices import Chosen, chosen_devices
from ._models import given_model
from ._progress import Choice, Showing
from ._results import rows_as_frame

__all__ = [
    "LayerEstimate",
    "estimate_layerwise_stats",
    "summarize_hardware",
    "hardware_summary_limits",
    "interpret_utilization",
    "compare_devices",
    "compare_summaries",
    "precision_tradeoff_table",
    "save_hardware_artifacts",
]


@dataclass(frozen=True)
class LayerEstimate:
    """What one layer with parameters or MACs holds and does."""

    layer: str
    output_elements: int
    parameter_bytes: int
    activation_bytes: int
    macs: int


_COLUMNS = ("layer", "output_elements", "parameter_bytes", "activation_bytes", "macs")
_LayerRow = Tuple[str, int, int, int, int]


@checked
def estimate_layerwise_stats(
    model: Any,
    batch_size: Positive,
    input_shape: Shape = (1, 28, 28),
    activation_bytes_per_value: Optional[Positive] = None,
) -> Any:
    """One row for each node with parameters or MACs, in execution order, as a DataFrame (without pandas, a list of dicts).

    ``input_shape`` is one sample's, without the batch.

    >>> rows = assay.hardware.estimate_layerwise_stats("zoo:small_cnn_gap", 1)
    >>> list(rows["layer"]) if hasattr(rows, "columns") else [row["layer"] for row in rows]
    ['conv1', 'conv2', 'classifier']
    """
    made, _ = given_model(model, None, (batch_size, *input_shape))
    rows = _core.estimate_layerwise_stats(made, batch_size, input_shape, activation_bytes_per_value)
    return rows_as_frame([dict(zip(_COLUMNS, row)) for row in rows])


def _records(table: Any, what: str) -> List[Mapping[str, Any]]:
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        return [dict(row) for row in table.to_dict("records")]
    if isinstance(table, Mapping) or isinstance(table, str) or not hasattr(table, "__iter__") or getattr(table, "shape", None) == ():
        raise _core.BadInputError(f"{what}: an object of type {type(table).__name__} is not a table; give a DataFrame or a list of dicts")
    return [_record(row, what) for row in table]


def _record(row: Any, what: str) -> Mapping[str, Any]:
    if isinstance(row, Mapping):
        return row
    if not hasattr(row, "__dict__"):
        raise _core.BadInputError(f"{what}: an object of type {type(row).__name__} is not a row; give a dict with the names of columns")
    return dict(vars(row))


def _optional_number(row: Mapping[str, Any], column: str, what: str) -> Optional[float]:
    value = row.get(column)
    if value is None or value == "" or value != value:
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise _core.BadInputError(f"{what}: {column} is {value!r}, not a number") from None


def _layer_rows(layers: Any) -> List[_LayerRow]:
    rows: List[_LayerRow] = []
    for number, record in enumerate(_records(layers, "layers")):
        missing = [column for column in ("parameter_bytes", "activation_bytes", "macs") if column not in record]
        if missing:
            raise _core.BadInputError(f"layers: there is no column '{missing[0]}'")
        try:
            rows.append(
                (
                    str(record.get("layer", f"layer {number}")),
                    int(record.get("output_elements", 0)),
                    int(record["parameter_bytes"]),
                    int(record["activation_bytes"]),
                    int(record["macs"]),
                )
            )
        except (TypeError, ValueError) as error:
            raise _core.BadInputError(f"layers: row {number} is not made of numbers: {error}") from error
    return rows


@checked
def summarize_hardware(
    layers: Any = None,
    latency_ms: Optional[float] = None,
    memory_bandwidth_gbps: Optional[float] = None,
    peak_compute_gmacs: Optional[float] = None,
    *,
    layerwise_df: Any = None,
) -> Dict[str, Any]:
    """Bytes and MACs per second at this latency, and how much of the bandwidth that is.

    ``layers`` (or ``layerwise_df``) is what `estimate_layerwise_stats` returned. With a peak, also the roofline's knee and
    ``bound_regime``.
    """
    table = layers if layers is not None else layerwise_df
    if table is None or latency_ms is None or memory_bandwidth_gbps is None:
        raise _core.UsageError("summarize_hardware needs layers, latency_ms and memory_bandwidth_gbps")
    summary = _core.summarize_hardware(_layer_rows(table), latency_ms, memory_bandwidth_gbps, peak_compute_gmacs)
    return summary.keys_and_values()


def hardware_summary_limits() -> List[str]:
    """What a summary leaves out, to print beside it.

    >>> len(assay.hardware.hardware_summary_limits()) >= 4
    True
    """
    return _core.hardware_summary_limits()


@checked
def interpret_utilization(summary: Mapping[str, Any], layers: Any) -> Dict[str, Any]:
    """Whether the bandwidth's use says memory-bound, balanced or compute-bound, with advice that names layers."""
    return _core.interpret_utilization(_native(summary), _layer_rows(layers))


def _native(summary: Mapping[str, Any]) -> _core.HardwareSummary:
    keys = ("estimated_total_bytes", "estimated_total_macs", "configured_memory_bandwidth_gbps", "achieved_bandwidth_gbps")
    missing = [key for key in keys if key not in summary]
    if missing:
        raise _core.BadInputError(f"the summary has no `{missing[0]}`; summarize_hardware makes one")
    try:
        moved, macs, configured, achieved = (float(summary[key]) for key in keys)
        latency = summary.get("latency_ms", moved / max(achieved, 1e-9) / 1e6)
        peak = summary.get("configured_peak_compute_gmacs")
        return _core.summarize_hardware([("all", 0, int(moved), 0, int(macs))], float(latency), configured, peak)
    except (TypeError, ValueError) as error:
        if isinstance(error, _core.Error):
            raise
        raise _core.BadInputError(f"the summary is not made of numbers: {error}") from None


@checked
def compare_devices(
    layers: Any, latency_ms: float, devices: Any = None, *, this_machine: bool = True, progress: Choice = None
) -> Any:
    """The same layers on a Raspberry Pi 4, a Jetson Nano, a desktop, every device of the catalogue and this machine.

    ``devices`` are compared instead: ids of the catalogue, and dicts or objects with a name, ``memory_bandwidth_gbps`` and
    perhaps ``peak_compute_gmacs``. The column ``note`` tells where figures come from. This machine is measured the first time;
    ``this_machine=False`` leaves it out.

    >>> layers = assay.hardware.estimate_layerwise_stats("zoo:small_cnn_gap", 1)
    >>> mine = {"name": "my board", "memory_bandwidth_gbps": 4.3}
    >>> table = assay.hardware.compare_devices(layers, 1.0, ["jetson-nano", mine], this_machine=False)
    >>> list(table["note"])[1] if hasattr(table, "columns") else table[1]["note"]
    'theoretical, given by hand'
    """
    chosen = chosen_devices(devices) if devices is not None else Chosen([], "")
    rows = _layer_rows(layers)
    with Showing(progress) as shown:
        machine = _core.ceilings(progress=shown) if this_machine else None
    return rows_as_frame(_core.compare_devices(rows, latency_ms, chosen.ids, chosen.described, machine))


@checked
def compare_summaries(before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    """What a change did: bytes, MACs, latency and bandwidth of two summaries, each with its change in percent.

    >>> layers = assay.hardware.estimate_layerwise_stats("zoo:small_cnn_gap", 1)
    >>> slow, fast = (assay.hardware.summarize_hardware(layers, ms, 4.3) for ms in (100, 75))
    >>> table = assay.hardware.compare_summaries(slow, fast)
    >>> float((table["change_percent"] if hasattr(table, "columns") else [row["change_percent"] for row in table])[2])
    -25.0
    """
    return rows_as_frame(_core.compare_summaries(_native(before), _native(after)))


_TRADEOFFS = ("precision", "accuracy_mean", "latency_ms_mean", "memory_mb_mean", "energy_proxy_j_mean", "accepted_ratio")


@checked
def precision_tradeoff_table(rows: Any) -> Any:
    """Sweep rows grouped by precision, the lowest mean latency first.

    >>> rows = [dict(precision="fp32", accuracy=0.9, latency_ms=2.0, memory_mb=1.0, energy_proxy_j=0.1, accepted=True)]
    >>> table = assay.hardware.precision_tradeoff_table(rows)
    >>> float((table["accepted_ratio"] if hasattr(table, "columns") else [table[0]["accepted_ratio"]])[0])
    1.0
    """
    figures = ("accuracy", "latency_ms", "memory_mb", "energy_proxy_j")
    cleaned = []
    for record in _records(rows, "rows"):
        for column in ("precision", "accepted"):
            if column not in record:
                raise _core.BadInputError(f"rows: there is no column '{column}'")
        row: Dict[str, Any] = {"precision": str(record["precision"]), "accepted": bool(record["accepted"])}
        for figure in figures:
            row[figure] = _optional_number(record, figure, "rows")
        error = record.get("error")
        row["error"] = error if isinstance(error, str) else ""
        cleaned.append(row)
    return rows_as_frame(_core.precision_tradeoff_table(cleaned))


@checked
def save_hardware_artifacts(
    dir: Optional[Path] = None,
    layers: Any = None,
    precision_table: Any = None,
    summary: Optional[Mapping[str, Any]] = None,
    model: str = "",
    *,
    output_dir: Optional[Path] = None,
    layerwise_df: Any = None,
) -> List[str]:
    """Writes layerwise_breakdown.csv, precision_tradeoffs.csv, hardware_summary.csv and two bar charts; returns their paths.

    ``output_dir`` is another name for ``dir``, and ``layerwise_df`` for ``layers``.
    """
    folder, table = (dir if dir is not None else output_dir), (layers if layers is not None else layerwise_df)
    if folder is None or table is None or precision_table is None or summary is None:
        raise _core.UsageError("save_hardware_artifacts needs dir, layers, precision_table and summary")
    tradeoffs = []
    for record in _records(precision_table, "precision_table"):
        means = [_optional_number(record, column, "precision_table") for column in _TRADEOFFS[1:-1]]
        ratio = _optional_number(record, "accepted_ratio", "precision_table") or 0.0
        tradeoffs.append((str(record.get("precision", "")), *means, ratio))
    return _core.save_hardware_artifacts(
        os.fspath(folder), _layer_rows(table), tradeoffs, _native(summary), model
    )
