"""How well a model does and what that costs: accuracy, latency, memory, energy."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Dict, Iterable, List, Optional, Tuple

from . import _core
from ._arguments import Count, Positive, checked
from ._data import dataset
from ._models import Model, given_model, in_order, is_torch_module
from ._options import run_options
from ._progress import Choice, Showing

__all__ = [
    "PerfMetrics",
    "collect_metrics",
    "evaluate_accuracy",
    "measure_latency",
    "measure_latency_distribution",
    "latency_distribution",
    "model_memory_mb",
    "memory_violations",
]


@dataclass
class PerfMetrics:
    """Times and energies are for one batch; mb is 1024²."""

    accuracy: float
    accuracy_ci95_low: float
    accuracy_ci95_high: float
    latency_ms: float
    latency_median_ms: float
    latency_std_ms: float
    latency_p95_ms: float
    latency_ci95_low_ms: float
    latency_ci95_high_ms: float
    throughput_sps: float
    memory_mb: float
    runtime_memory_mb: float
    energy_proxy_j: float
    energy_measured_j: Optional[float] = None
    energy_note: str = ""

    def to_dict(self) -> Dict[str, Any]:
        """All figures by name."""
        return asdict(self)


# A torch module is exported for the first batch of the data.
def _model_and_data(model: Any, loader: Any) -> "Tuple[Model, _core.Dataset, int]":
    if not is_torch_module(model):
        made, _ = given_model(model)
        data, batch = dataset(loader, made)
        return made, data, batch
    any_model = _core.load_model("zoo:small_cnn")  # gives synthetic data its shape; batches have their own
    data, batch = dataset(loader, any_model)
    count = min(batch, len(data))
    return given_model(model, data.samples[:count].astype("float32"))[0], data, batch


@checked
def collect_metrics(
    model: Any,
    loader: Any,
    device: Any = "cpu",
    power_watts: float = 5.0,
    precision: str = "fp32",
    latency_multiplier: float = 1.0,
    benchmark_repeats: Positive = 5,
    *,
    num_runs: Positive = 100,
    warmup: Count = 3,
    threads: Optional[Positive] = None,
    progress: Choice = None,
) -> PerfMetrics:
    """Accuracy, latency, memory and energy of a model on data, in one row.

    ``loader`` is a torch DataLoader, an iterable of (x, y) batches, a pair of arrays or the name of a data set.

    >>> import numpy
    >>> x = numpy.zeros((8, 1, 28, 28), numpy.float32)
    >>> metrics = assay.metrics.collect_metrics("zoo:small_cnn_gap", (x, numpy.zeros(8, int)), num_runs=2, benchmark_repeats=2)
    >>> round(metrics.memory_mb, 4)
    0.0196
    """
    made, data, batch = _model_and_data(model, loader)
    options = run_options(made, {}, threads=threads, pin_threads=False)
    with Showing(progress) as shown:
        return PerfMetrics(
            **_core.collect_metrics(
                made,
                data,
                batch,
                str(device),
                float(power_watts),
                precision,
                float(latency_multiplier),
                benchmark_repeats,
                num_runs,
                warmup,
                options,
                shown,
            )
        )


@checked
def evaluate_accuracy(
    model: Any, loader: Any, device: Any = "cpu", precision: str = "fp32", *, progress: Choice = None
) -> float:
    """Correct / total, from 0 to 1."""
    made, data, batch = _model_and_data(model, loader)
    with Showing(progress) as shown:
        return _core.evaluate_accuracy(made, data, batch, str(device), precision, shown)


def _fed(model: Any, input: Any) -> "Tuple[Model, List[_core.Tensor], _core.RunOptions]":
    made, given = given_model(model, input)
    return made, in_order(made, given), run_options(made, {}, pin_threads=False)


@checked
def measure_latency(model: Any, input: Any, num_runs: Positive = 100, warmup: Count = 3, *, progress: Choice = None) -> float:
    """The mean of ``num_runs`` runs, ms."""
    made, tensors, options = _fed(model, input)
    with Showing(progress) as shown:
        return _core.measure_latency(made, tensors, num_runs, warmup, options, shown)


@checked
def latency_distribution(
    model: Any, input: Any, repeats: Positive = 5, num_runs: Positive = 100, warmup: Count = 3, *, progress: Choice = None
) -> Dict[str, Any]:
    """`measure_latency_distribution` with median, extremes, interval and every sample."""
    made, tensors, options = _fed(model, input)
    with Showing(progress) as shown:
        return _core.measure_latency_distribution(made, tensors, repeats, num_runs, warmup, options, shown)


@checked
def measure_latency_distribution(
    model: Any, input: Any, repeats: Positive = 5, num_runs: Positive = 100, warmup: Count = 3, *, progress: Choice = None
) -> Tuple[float, float, float]:
    """Mean, standard deviation and 95th percentile over the repeats' means, ms."""
    all_of_it = latency_distribution(model, input, repeats, num_runs, warmup, progress=progress)
    return all_of_it["mean_ms"], all_of_it["std_ms"], all_of_it["p95_ms"]


@checked
def model_memory_mb(model: Any) -> float:
    """Stored tensors, each in its own type, in units of 1024² bytes.

    >>> round(assay.metrics.model_memory_mb("zoo:small_cnn"), 4)
    0.0782
    """
    if is_torch_module(model):
        tensors = model.state_dict().values()
        return float(sum(value.numel() * value.element_size() for value in tensors)) / 1024**2
    return _core.model_memory_mb(given_model(model)[0])


@checked
def memory_violations(memory_mb: float, budgets: Iterable[float]) -> Dict[str, bool]:
    """Which budgets the memory exceeds.

    >>> assay.metrics.memory_violations(1.5, [1, 2.0, 0.25])
    {'violates_1.0mb': True, 'violates_2.0mb': False, 'violates_0.25mb': True}
    """
    return _core.memory_violations(float(memory_mb), [float(budget) for budget in budgets])
