"""The commands of assay as functions."""

from __future__ import annotations

import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Union

from . import _core
from ._arguments import Count as Whole
from ._arguments import Path, Paths, Positive, Shapes, checked, path_list
from ._command import program
from ._devices import chosen_devices
from ._models import Model, given_model, input_names, is_torch_module, loader_batch, named_shapes, on_disk
from ._options import given, profile_flags, run_options
from ._programs import Program
from ._progress import Choice, Showing
from ._results import (
    Comparison,
    Count,
    Devices,
    Fit,
    Machine,
    Optimized,
    Profile,
    Stream,
    Sweep,
    Trained,
    TrainingProfile,
)

Target = Union[float, str, None]


@checked
def count(
    model: Any,
    inputs: Any = None,
    *,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    precision: str = "",
    strict: bool = False,
) -> Count:
    """Parameters, MACs, FLOPs, bytes and peak memory, without running the model.

    ``batch``, ``dims`` (by symbol) and ``input_shapes`` (of the first input, or by name) set shapes that the model leaves
    open. ``precision`` counts bytes as if stored in fp64, fp32, fp16, bf16, fp8, int8 or int4. ``strict`` raises an
    `assay.Error` if an op could not be counted.

    >>> assay.count("zoo:small_cnn").totals["parameters"]
    20490
    >>> assay.count(assay.Linear(128, 64), input_shapes=(32, 128)).totals["macs"]
    262144
    """
    made, tensors = given_model(model, inputs, input_shapes)
    options = run_options(made, tensors, batch=batch, dims=dims, input_shapes=input_shapes)
    result = Count(_core.count(made, options, precision))
    uncounted = result.totals["uncounted"]
    if strict and uncounted:
        first = uncounted[0]
        raise _core.BadInputError(
            f"{made.name}: {len(uncounted)} nodes were not counted, the first is {first['op']} '{first['node']}'"
        )
    return result


def _machine(ceilings: bool, engine: Optional[str], progress: Any) -> Optional[_core.ChosenMachine]:
    return _core.ceilings(engine or "", progress) if ceilings else None


@checked
def profile(
    model: Any,
    inputs: Any = None,
    *,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    engine: Optional[str] = None,
    optimize_for: Optional[str] = None,
    precision: Optional[str] = None,
    tuning_file: Optional[Path] = None,
    seed: Optional[Whole] = None,
    pin_threads: Optional[bool] = None,
    warmup: Optional[Whole] = None,
    runs: Optional[Whole] = None,
    min_time: Optional[float] = None,
    max_time: Optional[float] = None,
    target: Optional[float] = None,
    ceilings: bool = True,
    power_watts: Optional[float] = None,
    energy: bool = False,
    counters: bool = False,
    traced_runs: Whole = 0,
    train: bool = False,
    optimizer: str = "sgd",
    loss: str = "sum-of-squares",
    accumulate: Positive = 1,
    recompute: Positive = 1,
    progress: Choice = None,
) -> Profile:
    """Runs the model and measures it: latency with its interval, the time of every layer, memory, advice.

    ``inputs`` are arrays that the model is fed (random ones without), shared and not copied. The first profile on a
    machine measures its ceilings, once, for about 15 seconds; ``ceilings=False`` skips the comparison with them.
    ``warmup`` and ``runs`` fix how often it runs; otherwise it runs until the interval is narrower than ``target``
    (0.01) or ``max_time`` is over. ``train=True`` profiles a step of training with ``optimizer`` and ``loss``.

    >>> result = assay.profile("zoo:lenet5", runs=20, warmup=3, ceilings=False)
    >>> result.latency_ms > 0
    True
    >>> result.layers[0]["name"]
    'conv1'
    """
    made, tensors = given_model(model, inputs, input_shapes)
    options = run_options(
        made,
        tensors,
        batch=batch,
        dims=dims,
        input_shapes=input_shapes,
        threads=threads,
        engine=engine,
        optimize_for=optimize_for,
        precision=precision,
        tuning_file=os.fspath(tuning_file) if tuning_file is not None else None,
        seed=seed,
        pin_threads=pin_threads,
    )
    timing = _core.TimingOptions(warmup=warmup, runs=runs, min_time=min_time, max_time=max_time, target=target)
    with Showing(progress) as shown:
        machine = _machine(ceilings, engine, shown)
        if train:
            return TrainingProfile(
                _core.profile_training(made, options, timing, machine, optimizer, loss, accumulate, recompute, shown)
            )
        done = _core.profile(
            made, options, timing, machine, power_watts, energy, counters, traced_runs, shown
        )
    return Profile(done.report)


@checked
def compile(
    model: Any,
    inputs: Any = None,
    *,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    engine: Optional[str] = None,
    optimize_for: Optional[str] = None,
    precision: Optional[str] = None,
    tuning_file: Optional[Path] = None,
    progress: Choice = None,
) -> Program:
    """A model made ready to run any number of times, for fixed shapes.

    The program takes one array for each input and returns the outputs as arrays of their own.

    >>> program = assay.compile("zoo:small_cnn_gap", threads=1)
    >>> program(*program.random_inputs()).shape
    (1, 10)
    """
    made, tensors = given_model(model, inputs, input_shapes)
    options = run_options(
        made,
        tensors,
        batch=batch,
        dims=dims,
        input_shapes=input_shapes,
        threads=threads,
        engine=engine,
        optimize_for=optimize_for,
        precision=precision,
        tuning_file=os.fspath(tuning_file) if tuning_file is not None else None,
        pin_threads=False,
    )
    with Showing(progress) as shown:
        return _core.compile(made, options, shown)


def _is_result(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike)) and (
        os.fspath(value).endswith(".json") or os.path.isdir(os.fspath(value))
    )


def _stored_comparison(a: Any, b: Any, setting: _core.CompareSetting) -> Comparison:
    a, b = os.fspath(a), os.fspath(b)
    if _core.is_sweep_folder(a) and _core.is_sweep_folder(b):
        return Comparison(_core.compare_sweeps(a, b, setting))
    paths = [os.path.join(path, "profile.json") if os.path.isdir(path) else path for path in (a, b)]
    return Comparison(_core.compare_stored(paths[0], paths[1], setting))


@checked
def compare(
    a: Any,
    b: Any,
    inputs: Any = None,
    *,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    engine: Optional[str] = None,
    optimize_for: Optional[str] = None,
    precision: Optional[str] = None,
    seed: Optional[Whole] = None,
    max_time: float = 60.0,
    threshold: float = 1.0,
    data: Any = None,
    power_watts: Optional[float] = None,
    fail_if: "Union[str, Iterable[str]]" = (),
    progress: Choice = None,
) -> Comparison:
    """Tells which of two models is faster: FASTER, SLOWER, SAME or UNDECIDED, for ``b`` compared with ``a``.

    Both run in fresh processes that measure in turns, for at most ``max_time`` seconds; a change below ``threshold``
    percent is noise. Two stored profiles (.json) or two folders of sweeps are compared as they are. ``fail_if``
    are gates such as ``"latency>5%"``; ``data`` adds the accuracies of both.

    >>> assay.compare("zoo:lenet5", "zoo:mlp", max_time=1, threads=1).verdict in ("FASTER", "SLOWER", "SAME", "UNDECIDED")
    True
    """
    import tempfile

    gates = [fail_if] if isinstance(fail_if, str) else list(fail_if)
    if _is_result(a) and _is_result(b):
        if data is not None:
            raise _core.UsageError("`data` needs two models that can be run, not stored samples")
        return _stored_comparison(a, b, _core.CompareSetting(max_time, threshold, gates, None, power_watts))
    made_a, tensors = given_model(a, inputs, input_shapes)
    made_b, _ = given_model(b, inputs, input_shapes)
    shapes = named_shapes(made_a, input_shapes)
    shapes.update({name: list(tensor.shape) for name, tensor in tensors.items()})
    settings: Dict[str, Any] = {"threads": threads, "engine": engine, "optimize_for": optimize_for, "precision": precision, "seed": seed}
    run_options(made_a, {}, **settings)  # mistakes show before anything starts
    with Showing(progress) as shown, tempfile.TemporaryDirectory(prefix="assay-") as folder:
        accuracy = _compared_accuracy(made_a, made_b, data, settings, shown) if data is not None else None
        setting = _core.CompareSetting(max_time, threshold, gates, accuracy, power_watts)
        if optimize_for != "memory" and (engine is None or engine == "cpu"):
            settings["tuning_file"] = os.path.join(folder, "tuning")
        flags = profile_flags(batch=batch, dims=dims, input_shapes=shapes, engine=settings)
        paths = on_disk(a, made_a, folder, "a"), on_disk(b, made_b, folder, "b")
        try:
            names = _core.ComparedNames(made_a.name, made_b.name)
            return Comparison(_core.compare(program(), *paths, flags, names, setting, shown))
        except _core.Error as error:
            message = str(error).replace(paths[0], made_a.name).replace(paths[1], made_b.name)
            raise type(error)(message) from None


def _compared_accuracy(a: Model, b: Model, data: Any, settings: Dict[str, Any], progress: Any) -> _core.ComparedAccuracy:
    from ._data import dataset

    samples, _ = dataset(data, a)
    return _core.compared_accuracy(a, b, samples, run_options(a, {}, **settings), progress)


@checked
def fit(
    model: Any,
    inputs: Any = None,
    *,
    devices: Any = (),
    kind: str = "",
    device_files: Paths = (),
    precision: str = "fp32",
    max_ms: Optional[float] = None,
    max_mb: Optional[float] = None,
    max_watts: Optional[float] = None,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    recalibrate: bool = False,
    progress: Choice = None,
) -> Fit:
    """Estimates latency, memory and energy on other devices, and whether the model fits the limits.

    ``devices`` are ids of the catalogue (`assay.devices`), and dicts or objects with the keys of device files, where a
    figure may be a plain number; the result warns that these were given by hand. The first time, built-in networks are run for about two
    minutes to calibrate the estimates.
    """
    made, tensors = given_model(model, inputs, input_shapes)
    options = run_options(made, tensors, batch=batch, dims=dims, input_shapes=input_shapes)
    chosen = chosen_devices(devices)
    files = path_list(device_files)
    _core.count(made, options, precision)  # mistakes show before minutes of calibration
    _core.devices(kind, files)
    with Showing(progress) as shown:
        machine = _core.ceilings(progress=shown)
        return Fit(
            _core.fit(
                made, options, machine, chosen.ids, chosen.described, kind, files, precision, max_ms, max_mb, max_watts, recalibrate, shown
            )
        )


@checked
def stream(
    model: Any = None,
    inputs: Any = None,
    *,
    features: Optional[int] = None,
    width: Optional[int] = None,
    interval_ms: Optional[float] = None,
    measured: bool = False,
    find_interval: bool = False,
    deadline_ms: Optional[float] = None,
    duration: Optional[float] = None,
    deployment: bool = False,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    engine: Optional[str] = None,
    optimize_for: Optional[str] = None,
    precision: Optional[str] = None,
    progress: Choice = None,
) -> Stream:
    """Tells whether a model that is fed every ``interval_ms`` keeps up: estimated, or ``measured`` on a real clock.

    ``features`` streams the built-in model (normalise, project, activate, decide) instead of ``model``.
    """
    if (model is None) == (features is None):
        raise _core.UsageError("give a model, or `features` for the built-in streaming model")
    tensors: Dict[str, _core.Tensor] = {}
    batch_of_model: Optional[int] = None
    if features is not None:
        made = _core.streaming_model(features, batch or 1, width)
    else:
        if width is not None:
            raise _core.UsageError("`width` goes with `features`")
        made, tensors = given_model(model, inputs, input_shapes)
        batch_of_model = batch
    options = run_options(
        made,
        tensors,
        batch=batch_of_model,
        dims=dims,
        input_shapes=input_shapes,
        threads=threads,
        engine=engine,
        optimize_for=optimize_for,
        precision=precision,
    )
    with Showing(progress) as shown:
        machine = _core.ceilings(progress=shown)
        return Stream(
            _core.stream(
                made,
                options,
                machine,
                features,
                batch or 1,
                width,
                interval_ms,
                measured,
                find_interval,
                deadline_ms,
                duration,
                deployment,
                shown,
            )
        )


_USUAL_BATCH = 64


@checked
def train(
    model: Any,
    data: Any,
    *,
    epochs: int = 1,
    batch_size: Optional[int] = None,
    learning_rate: Optional[float] = None,
    optimizer: str = "adam",
    momentum: Optional[float] = None,
    weight_decay: Optional[float] = None,
    loss: str = "cross-entropy",
    schedule: str = "constant",
    shuffle: bool = True,
    early_stop: int = 0,
    train_subset: int = 0,
    val_subset: int = 0,
    checkpoint: Optional[Path] = None,
    resume: bool = False,
    accumulate: Positive = 1,
    recompute: Positive = 1,
    confusion: bool = False,
    seed: Whole = 0,
    threads: Optional[Positive] = None,
    output: Optional[Path] = None,
    input_shapes: Shapes = None,
    progress: Choice = None,
) -> Trained:
    """Trains a model and returns the history; ``.model`` is the trained network, ``output`` writes it.

    ``data`` is a name (``fashion-mnist``, ``synthetic``, a .npz file), a pair of arrays, an iterable of (x, y) batches, or
    a torch DataLoader. Batches are of ``batch_size``, else as large as the loader's, else of 64 or all samples. The same
    seed gives the same weights.

    >>> trained = assay.train("zoo:small_cnn", "synthetic", train_subset=256, val_subset=64)
    >>> len(trained.epochs)
    1
    """
    from ._data import dataset, training_data

    usual_batch = loader_batch(data) or _USUAL_BATCH
    if is_torch_module(model) and input_shapes is None:
        shapes_from, _ = dataset(data, _core.load_model("zoo:small_cnn"), samples=1 if isinstance(data, str) else 0)
        data = data if isinstance(data, str) else shapes_from  # batches may be read once only
        input_shapes = (1, *shapes_from.samples.shape[1:])
    made, _ = given_model(model, None, input_shapes)
    samples = training_data(data, made, seed=seed, training=train_subset, validation=val_subset)
    options = _core.TrainOptions(
        epochs=epochs,
        batch_size=batch_size if batch_size is not None else max(1, min(usual_batch, len(samples.training))),
        learning_rate=learning_rate,
        optimizer=optimizer,
        momentum=momentum,
        weight_decay=weight_decay,
        loss=loss,
        schedule=schedule,
        shuffle=shuffle,
        early_stop=early_stop,
        checkpoint=os.fspath(checkpoint) if checkpoint is not None else "",
        resume=resume,
        accumulate=accumulate,
        recompute=recompute,
        options=run_options(made, {}, threads=threads, seed=seed, optimize_for="memory"),
    )
    with Showing(progress) as shown:
        done = _core.train(made, samples, options, confusion, shown)
        if output is not None:
            done.model.save(os.fspath(output), shown)
    return Trained(done.report, done.model)


def _optimize_data(model: Model, options: _core.RunOptions, data: Any, samples: int, seed: int) -> _core.OptimizeData:
    from ._arrays import tensor
    from ._data import training_data

    if data is None or (isinstance(data, str) and data == "random"):
        return _core.optimize_data_seeded(model, options, seed, data is not None)
    if isinstance(data, str) or not _is_unlabelled(data):
        split = training_data(data, model, seed=seed, training=0, validation=0)
        return _core.optimize_data_labelled(model, split, samples, seed)
    names = input_names(model)
    batches = [[tensor(batch, f"input '{names[0]}'")] for batch in data]
    return _core.optimize_data_unlabelled(model, batches)


def _is_unlabelled(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and not isinstance(data[0], (tuple, list)) and hasattr(data[0], "shape")


@checked
def optimize(
    model: Any,
    output: Optional[Path] = None,
    *,
    prune: Optional[float] = None,
    precision: str = "",
    low_rank: Optional[float] = None,
    target_ms: Target = None,
    target_mb: Target = None,
    max_loss: Optional[float] = None,
    data: Any = None,
    calibration_samples: int = 128,
    calibration: str = "minmax",
    per_channel: bool = True,
    equalize: bool = False,
    criterion: str = "l1",
    ranking: str = "uniform",
    round_to: Optional[int] = None,
    finetune: int = 0,
    finetune_rate: Optional[float] = None,
    device: str = "",
    max_time: float = 60.0,
    inputs: Any = None,
    batch: Optional[Positive] = None,
    dims: Optional[Mapping[str, int]] = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    seed: Whole = 0,
    progress: Choice = None,
) -> Optimized:
    """A smaller or faster version of a model: made as told, or searched for until a target is met.

    ``prune`` and ``precision`` (fp16, bf16, int8, dynamic) make one version. ``target_ms``, ``target_mb`` (numbers, or shares
    such as ``"50%"``) and ``max_loss`` search for one. ``data`` calibrates int8 and judges versions: a name, a pair of
    arrays, batches, or ``"random"``. ``.model`` is the version chosen; ``output`` writes it.
    """
    import tempfile

    made, tensors = given_model(model, inputs, input_shapes)
    options = run_options(
        made, tensors, batch=batch, dims=dims, input_shapes=input_shapes, threads=threads, seed=seed, pin_threads=False
    )
    shapes = named_shapes(made, input_shapes)
    shapes.update({name: list(tensor.shape) for name, tensor in tensors.items()})
    engine = {"threads": threads, "seed": seed}
    with Showing(progress) as shown, tempfile.TemporaryDirectory(prefix="assay-") as folder:
        machine = _core.ceilings(progress=shown) if device else None
        flags = profile_flags(
            batch=batch, dims=dims, input_shapes=shapes, engine={**engine, "tuning_file": os.path.join(folder, "tuning")}
        )
        done = _core.optimize(
            model=made,
            options=options,
            data=_optimize_data(made, options, data, calibration_samples, seed),
            prune=prune,
            precision=precision,
            low_rank=low_rank,
            criterion=criterion,
            ranking=ranking,
            round_to=round_to,
            calibration=calibration,
            per_channel=per_channel,
            equalize=equalize,
            finetune=finetune,
            finetune_rate=finetune_rate,
            target_ms=target_ms,
            target_mb=target_mb,
            max_loss=max_loss,
            device=device,
            machine=machine,
            max_time=max_time,
            program=program(),
            original=on_disk(model, made, folder, "original"),
            output=os.fspath(output) if output is not None else os.path.join(folder, "version.onnx"),
            keeps_output=output is not None,
            flags=flags,
            progress=shown,
        )
    result = Optimized(done.report, done.model, done.met)
    if output is not None and os.path.exists(output):
        result.save(os.fspath(output) + ".json", "record")
    return result


# Numbers of NumPy and paths, as YAML has them.
def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"an object of type {type(value).__name__}")


@checked
def sweep(
    config: "Union[Path, Mapping[str, Any]]",
    output_dir: Optional[Path] = None,
    *,
    retry_errors: bool = False,
    progress: Choice = None,
) -> Sweep:
    """Trains, prunes, converts and measures many versions of a model, and recommends one; resumes by itself.

    ``config`` is a YAML file or a mapping with the same keys.
    """
    if isinstance(config, Mapping):
        import json

        try:
            yaml, described = json.dumps(dict(config), default=_plain), "config"
        except (TypeError, ValueError) as error:
            raise _core.UsageError(f"`config` has a value that cannot be written as YAML: {error}") from None
    else:
        described = os.fspath(config)
        try:
            with open(described, encoding="utf-8") as file:
                yaml = file.read()
        except (OSError, UnicodeDecodeError) as error:
            raise _core.BadInputError(f"{described}: cannot be read: {getattr(error, 'strerror', error)}") from error
    with Showing(progress) as shown:
        folder = os.fspath(output_dir) if output_dir is not None else ""
        done = _core.sweep(yaml, described, folder, retry_errors, shown)
    return Sweep(done.report, done.folder)


@checked
def machine(
    *, refresh: bool = False, quick: bool = False, max_time: Optional[float] = None, progress: Choice = None
) -> Machine:
    """Peaks, bandwidths and caches of this machine: cached, or measured now (about 15 seconds, once)."""
    with Showing(progress) as shown:
        return Machine(_core.machine(refresh, quick, max_time, shown).report())


@checked
def devices(kind: str = "", *, device_files: Paths = ()) -> Devices:
    """The catalogue of devices: memory, bandwidth, peaks and power, each figure with its source.

    >>> any(device["id"] == "jetson-nano" for device in assay.devices().rows)
    True
    """
    return Devices(_core.devices(kind, path_list(device_files)))


@checked
def simulate_deployment(
    model: Any,
    batch_size: int = 32,
    *,
    latency_multiplier: float = 1.0,
    seconds: float = 2.0,
    inputs: Any = None,
    input_shapes: Shapes = None,
    threads: Optional[Positive] = None,
    progress: Choice = None,
) -> Dict[str, Any]:
    """The same samples as one batch and one by one: latency and throughput of each.

    >>> sorted(assay.simulate_deployment("zoo:lenet5", 8, seconds=0.1))[:2]
    ['batch', 'batch_latency_ms']
    """
    if not seconds > 0:
        raise _core.UsageError(f"`seconds` {seconds}: expected more than 0")
    made, tensors = given_model(model, inputs, input_shapes)
    if is_torch_module(model):  # they were needed to export it; `batch_size` says how many samples run
        tensors, input_shapes = {}, None
    options = run_options(made, tensors, input_shapes=input_shapes, threads=threads)
    with Showing(progress) as shown:
        return _core.simulate_deployment(made, batch_size, latency_multiplier, seconds, options, shown)


@checked
def structured_channel_prune(model: Any, level: float, inputs: Any = None, *, input_shapes: Shapes = None) -> Model:
    """The model without its least important channels (L1, the same share of every layer).

    >>> pruned = assay.structured_channel_prune("zoo:small_cnn_gap", 0.5)
    >>> assay.count(pruned).totals["parameters"]
    1418
    """
    made, _ = given_model(model, inputs, input_shapes)
    return _core.structured_channel_prune(made, level)
