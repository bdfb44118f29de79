"""Devices to compare with: ids of the catalogue, and devices that the caller describes."""

from __future__ import annotations

import json
import re
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Union

from . import _core

Devices = Union[str, Mapping[str, Any], Iterable[Any]]

BY_HAND = "given by hand"

# Short names of figures, and what one of them is in the figure's own unit.
_ALIASES = {
    "bandwidth_gbps": ("memory_bandwidth_gbps", 1.0),
    "memory_gb": ("memory_bytes", 1024.0**3),
    "memory_mb": ("memory_bytes", 1024.0**2),
}
_PEAKS = {"peak_gflops": 1.0, "peak_compute_gmacs": 2.0}
_FIGURES = (
    "cores",
    "memory_bytes",
    "flash_bytes",
    "memory_bandwidth_gbps",
    "power_watts",
    "idle_watts",
    "step_overhead_us",
)


class Chosen(NamedTuple):
    """The ids to take, and a text in the form of device files with those that are not in the catalogue."""

    ids: List[str]
    described: str


def chosen_devices(devices: Devices) -> Chosen:
    """Ids, mappings and objects with the keys of device files, where a figure may be a plain number."""
    is_one = isinstance(devices, (str, Mapping)) or not hasattr(devices, "__iter__") or getattr(devices, "shape", None) == ()
    several = [devices] if is_one else list(devices)
    ids: List[str] = []
    entries: List[Dict[str, Any]] = []
    for device in several:
        if isinstance(device, str):
            ids.append(device)
        else:
            entries.append(_entry(device))
            ids.append(entries[-1]["id"])
    described = {"schema": "assay.devices/1", "devices": entries}
    return Chosen(ids, json.dumps(described) if entries else "")


def _entry(device: Any) -> Dict[str, Any]:
    keys = _keys(device)
    name = keys.get("name") or keys.get("id")
    if not isinstance(name, str):
        raise _core.BadInputError("a device has no `name`; give for instance name and memory_bandwidth_gbps")
    entry: Dict[str, Any] = {"id": _id(name), "name": name, "kind": "machine"}
    for key, value in keys.items():
        if key in _PEAKS:
            entry["peaks"] = {"fp32": _figure(value, _PEAKS[key], name, key)}
        elif key in _ALIASES:
            full, unit = _ALIASES[key]
            entry[full] = _figure(value, unit, name, key)
        elif key == "peaks" and isinstance(value, Mapping):
            entry[key] = {precision: _figure(peak, 1.0, name, key) for precision, peak in value.items()}
        else:
            entry[key] = _figure(value, 1.0, name, key) if key in _FIGURES else value
    return entry


def _keys(device: Any) -> Dict[str, Any]:
    if isinstance(device, Mapping):
        return {str(key): value for key, value in device.items() if value is not None}
    if hasattr(device, "_asdict"):
        return _keys(device._asdict())
    if not hasattr(device, "__dict__"):
        raise _core.BadInputError(f"an object of type {type(device).__name__} is not a device; give an id, or a dict with its name and figures")
    return {key: value for key, value in vars(device).items() if value is not None and not key.startswith("_")}


def _id(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "device"


def _figure(value: Any, unit: float, name: str, key: str) -> Any:
    if isinstance(value, (Mapping, list, tuple)) or value is None:
        return value
    try:
        number = float(value) * unit
    except (TypeError, ValueError):
        raise _core.BadInputError(f"device '{name}': {key} is {value!r}, not a number") from None
    return {"value": number, "source": BY_HAND, "kind": "theoretical"}
