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
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from . import _core
from ._models import given_model
from ._results import rows_as_frame

__all__ = [
    "LayerEstimate",
    "estimate_layerwise_stats",
    "summarize_hardware",
    "hardware_summary_limits",
    "interpret_utilization",
    "compare_devices",
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


def estimate_layerwise_stats(
    model: Any,
    batch_size: int,
    input_shape: Sequence[int] = (1, 28, 28),
    activation_bytes_per_value: Optional[int] = None,
) -> Any:
    """One row for each node with parameters or MACs, in execution order, as a DataFrame (without pandas, a list of dicts).

    ``input_shape`` is one sample's, without the batch.

    >>> rows = assay.hardware.estimate_layerwise_stats("zoo:small_cnn_gap", 1)
    >>> list(rows["layer"]) if hasattr(rows, "columns") else [row["layer"] for row in rows]
    ['conv1', 'conv2', 'classifier']
    """
    made, _ = given_model(model, None, (batch_size, *input_shape))
    rows = _core.estimate_layerwise_stats(made, batch_size, [int(n) for n in input_shape], activation_bytes_per_value)
    return rows_as_frame([dict(zip(_COLUMNS, row)) for row in rows])


def _records(table: Any, what: str) -> List[Mapping[str, Any]]:
    if hasattr(table, "to_dict") and hasattr(table, "columns"):
        return [dict(row) for row in table.to_dict("records")]
    if isinstance(table, Mapping) or isinstance(table, str) or not hasattr(table, "__iter__"):
        raise _core.BadInputError(f"{what}: a {type(table).__name__} is not a table; give a DataFrame or a list of dicts")
    return [row if isinstance(row, Mapping) else vars(row) for row in table]


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


def _summary(
    layers: Any, latency_ms: float, memory_bandwidth_gbps: float, peak_compute_gmacs: Optional[float]
) -> _core.HardwareSummary:
    return _core.summarize_hardware(
        _layer_rows(layers), float(latency_ms), float(memory_bandwidth_gbps), peak_compute_gmacs
    )


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
    return _core.HardwareSummary.keys_and_values(_summary(table, latency_ms, memory_bandwidth_gbps, peak_compute_gmacs))


def hardware_summary_limits() -> List[str]:
    """What a summary leaves out, to print beside it.

    >>> len(assay.hardware.hardware_summary_limits()) >= 4
    True
    """
    return _core.hardware_summary_limits()


def interpret_utilization(summary: Mapping[str, Any], layers: Any) -> Dict[str, Any]:
    """Whether the bandwidth's use says memory-bound, balanced or compute-bound, with advice that names layers."""
    return _core.interpret_utilization(_native(summary, layers), _layer_rows(layers))


def _native(summary: Mapping[str, Any], layers: Any) -> _core.HardwareSummary:
    return _summary(
        layers,
        summary["latency_ms"],
        summary["configured_memory_bandwidth_gbps"],
        summary.get("configured_peak_compute_gmacs"),
    )


def compare_devices(layers: Any, latency_ms: float) -> Any:
    """The same layers on a Raspberry Pi 4, a Jetson Nano, a desktop and every device of the catalogue."""
    return rows_as_frame(_core.compare_devices(_layer_rows(layers), float(latency_ms)))


_TRADEOFFS = ("precision", "accuracy_mean", "latency_ms_mean", "memory_mb_mean", "energy_proxy_j_mean", "accepted_ratio")


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value


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
            value = record.get(figure)
            row[figure] = None if _is_missing(value) else float(value)  # type: ignore[arg-type]
        error = record.get("error")
        row["error"] = "" if _is_missing(error) else str(error)
        cleaned.append(row)
    return rows_as_frame(_core.precision_tradeoff_table(cleaned))


def save_hardware_artifacts(
    output_dir: "str | os.PathLike[str]", layers: Any, precision_table: Any, summary: Mapping[str, Any], model: str = ""
) -> List[str]:
    """Writes layerwise_breakdown.csv, precision_tradeoffs.csv, hardware_summary.csv and two bar charts; returns their paths."""
    tradeoffs = []
    for record in _records(precision_table, "precision_table"):
        values = [record.get(column) for column in _TRADEOFFS]
        figures = [None if _is_missing(value) else float(value) for value in values[1:]]  # type: ignore[arg-type]
        tradeoffs.append((str(values[0]), *figures))
    return _core.save_hardware_artifacts(
        os.fspath(output_dir), _layer_rows(layers), tradeoffs, _native(summary, layers), model
    )
