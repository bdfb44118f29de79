"""Studies: how a cost changes when one thing changes, measured on this machine."""

from __future__ import annotations

from typing import Any, Callable, Dict, Mapping, Optional, Sequence, Union

from . import _core
from ._arguments import Count, Positive, Shapes, checked
from ._models import Model, given_model, load
from ._options import run_options
from ._progress import Choice, Showing
from ._results import Study

__all__ = [
    "study",
    "analyze_model_scaling",
    "analyze_batch_size_effects",
    "benchmark_operation_efficiency",
    "analyze_profiling_overhead",
]


class _Setting:
    """How the settings of a study are measured."""

    def __init__(self, model: Model, shown: Any, measuring: Dict[str, Any], **run: Any) -> None:
        options = run_options(model, {}, **run)
        machine = _core.ceilings(run.get("engine") or "", shown)
        self.native = _core.StudySetting(
            options, machine, measuring.get("warmup", 3), measuring.get("runs", 10), measuring.get("rounds", 5)
        )


@checked
def analyze_model_scaling(
    model: str = "zoo:dense",
    *,
    parameter: str = "width",
    values: Sequence[int] = (64, 128, 256, 512),
    batch: Optional[Positive] = None,
    threads: Optional[Positive] = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    """How parameters, FLOPs, latency and memory grow with a network's size.

    ``model`` is a network of the zoo and ``parameter`` one of its parameters. ``warmup``, ``runs`` and ``rounds`` say how each size
    is measured.
    """
    _check(measuring)
    if not model.startswith("zoo:"):
        raise _core.BadInputError(f"{model}: only networks of the zoo have parameters to vary")
    spec = model[len("zoo:") :]
    usual = 32 if spec == "dense" else None
    with Showing(progress) as shown:
        setting = _Setting(load(model), shown, measuring, threads=threads).native
        return Study(_core.study_scaling(setting, spec, parameter, list(values), batch or usual, shown))


@checked
def analyze_batch_size_effects(
    model: Any = "zoo:dense:width=256",
    inputs: Any = None,
    *,
    batches: Sequence[int] = (1, 8, 32, 128),
    max_mb: Optional[float] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    """Latency, throughput and memory by batch size, and the sweet spot."""
    _check(measuring)
    made, _ = given_model(model, inputs, input_shapes)
    with Showing(progress) as shown:
        setting = _Setting(made, shown, measuring, dims=dims, threads=threads).native
        return Study(_core.study_batch(setting, made, list(batches), max_mb, shown))


@checked
def benchmark_operation_efficiency(
    *,
    sizes: Sequence[int] = (64, 256, 1024),
    threads: Optional[Positive] = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    """Which operations use the machine well: element-wise, reduction, matmul, convolution, attention."""
    _check(measuring)
    with Showing(progress) as shown:
        setting = _Setting(load("zoo:mlp"), shown, measuring, threads=threads).native
        return Study(_core.study_operations(setting, list(sizes), shown))


@checked
def analyze_profiling_overhead(
    model: Any = "zoo:mlp",
    inputs: Any = None,
    *,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    """What measuring itself costs, as a factor of the bare run."""
    _check(measuring)
    made, _ = given_model(model, inputs, input_shapes)
    with Showing(progress) as shown:
        setting = _Setting(made, shown, measuring, input_shapes=input_shapes, threads=threads).native
        return Study(_core.study_overhead(setting, made, shown))


@checked
def _decoding(
    model: Any = "zoo:gpt2_small",
    *,
    cached: Any = None,
    tokens: Positive = 64,
    prompt: Union[Count, Sequence[Count]] = 16,
    threads: Optional[Positive] = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    _check(measuring)
    family = "zoo:gpt2_small"
    if cached is None:
        if not isinstance(model, str) or not (model == family or model.startswith(family + ":")):
            raise _core.UsageError("`cached` is required: the model's form that takes past keys and values")
        cached = family + "_decode" + model[len(family) :]
    words = [(7 * i + 3) % 50 for i in range(prompt)] if isinstance(prompt, int) else list(prompt)
    plain = load(model)
    usual = {"warmup": 1, "runs": 5, "rounds": 1}
    with Showing(progress) as shown:
        setting = _Setting(plain, shown, {**usual, **measuring}, threads=threads).native
        return Study(_core.study_decode(setting, plain, load(cached), tokens, words, shown))


@checked
def _precisions(
    model: Any,
    inputs: Any = None,
    *,
    precisions: Sequence[str] = ("fp32", "bf16", "fp16", "int8"),
    batch: Optional[Positive] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    _check(measuring)
    made, _ = given_model(model, inputs, input_shapes)
    with Showing(progress) as shown:
        setting = _Setting(made, shown, measuring, batch=batch, input_shapes=input_shapes, threads=threads).native
        return Study(_core.study_precision(setting, made, list(precisions), shown))


@checked
def _threads(
    model: Any,
    inputs: Any = None,
    *,
    threads: Sequence[int] = (),
    batch: Optional[Positive] = None,
    input_shapes: Shapes = None,
    progress: Choice = None,
    **measuring: Count,
) -> Study:
    _check(measuring)
    made, _ = given_model(model, inputs, input_shapes)
    with Showing(progress) as shown:
        setting = _Setting(made, shown, measuring, batch=batch, input_shapes=input_shapes).native
        return Study(_core.study_threads(setting, made, list(threads), shown))


_STUDIES: Dict[str, Callable[..., Study]] = {
    "scaling": analyze_model_scaling,
    "batch": analyze_batch_size_effects,
    "operations": benchmark_operation_efficiency,
    "overhead": analyze_profiling_overhead,
    "decode": _decoding,
    "precision": _precisions,
    "threads": _threads,
}


@checked
def study(what: str, *arguments: Any, **options: Any) -> Study:
    """One of the studies by name: scaling, batch, operations, overhead, decode, precision, threads.

    >>> rows = assay.study("batch", batches=[1, 8], runs=3, rounds=1).rows
    >>> [row["batch_size"] for row in rows]
    [1, 8]
    """
    if what not in _STUDIES:
        raise _core.UsageError(f"there is no study '{what}'; there are {', '.join(_STUDIES)}")
    return _STUDIES[what](*arguments, **options)


def _check(measuring: Dict[str, int]) -> None:
    for name in measuring:
        if name not in ("warmup", "runs", "rounds"):
            raise _core.UsageError(f"a study has no argument `{name}`; there are warmup, runs, rounds")
