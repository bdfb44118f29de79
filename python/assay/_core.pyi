"""The native part of assay."""

import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

Progress = Optional[Callable[[float, str], None]]
LayerRow = Tuple[str, int, int, int, int]

version: str

class Error(Exception):
    """A request that could not be met. The text says what, where, and what to try."""

class UsageError(Error, ValueError):
    """An argument that does not exist or contradicts another."""

class BadInputError(Error, ValueError):
    """A model, array, file or configuration that cannot be used."""

class RunError(Error, RuntimeError):
    """Something went wrong while running: disk full, out of memory."""

class CancelledError(Error):
    """The work was stopped."""

class Tensor:
    def __init__(self, array: Any, type: str = "") -> None: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def type(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def data(self) -> Any: ...
    def numpy(self) -> Any: ...

class Report:
    @property
    def document(self) -> str: ...
    def table(self, width: int = 80, markdown: bool = False) -> str: ...
    def forms(self) -> List[str]: ...
    def render(self, form: str) -> bytes: ...

class Model:
    name: str
    @property
    def opset(self) -> int: ...
    @property
    def inputs(self) -> List[Dict[str, Any]]: ...
    @property
    def outputs(self) -> List[Dict[str, Any]]: ...
    @property
    def node_count(self) -> int: ...
    def tensors(self) -> Dict[str, Any]: ...
    def with_stored(self, tensors: Mapping[str, Tensor]) -> Model: ...
    def named_by_modules(self, root: str = "") -> Model: ...
    def save(self, path: Union[str, "os.PathLike[str]"], progress: Progress = None) -> None: ...

class Layer:
    @property
    def name(self) -> str: ...
    @property
    def weight(self) -> Optional[Tensor]: ...
    @property
    def bias(self) -> Optional[Tensor]: ...
    def parameters(self) -> List[Tensor]: ...
    def forward(self, x: Any) -> Tensor: ...
    def __call__(self, x: Any) -> Tensor: ...
    def model(self) -> Model: ...

def Linear(in_features: int, out_features: int, bias: bool = True, name: str = "linear") -> Layer: ...
def Conv2d(
    in_channels: int,
    out_channels: int,
    kernel_size: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    bias: bool = True,
    name: str = "conv",
) -> Layer: ...
def MaxPool2d(kernel_size: int, stride: int = 0, padding: int = 0, name: str = "pool") -> Layer: ...
def BatchNorm2d(num_features: int, name: str = "bn") -> Layer: ...
def Sequential(layers: Sequence[Layer]) -> Layer: ...
def Relu(name: str = "relu") -> Layer: ...
def Sigmoid(name: str = "sigmoid") -> Layer: ...
def Tanh(name: str = "tanh") -> Layer: ...
def Gelu(name: str = "gelu") -> Layer: ...
def Flatten(name: str = "flatten") -> Layer: ...
def GlobalAvgPool2d(name: str = "global_pool") -> Layer: ...
def Softmax(axis: int = -1, name: str = "softmax") -> Layer: ...

class RunOptions:
    def __init__(
        self,
        *,
        batch: Optional[int] = None,
        dims: Mapping[str, int] = {},
        input_shapes: Mapping[str, Sequence[int]] = {},
        inputs: Mapping[str, Tensor] = {},
        seed: int = 0,
        engine: str = "",
        optimize_for: str = "latency",
        threads: Optional[int] = None,
        precision: str = "",
        tuning_file: str = "",
        pin_threads: bool = True,
    ) -> None: ...
    @property
    def threads(self) -> int: ...

class Program:
    """A compiled model. Call it with one array for each input, in order or by name; it returns the outputs."""

    def __call__(self, *inputs: Any, **by_name: Any) -> Any: ...
    def time(self, runs: int = 1) -> float:
        """Runs again on the inputs of the last call; the mean of as many runs, in seconds."""
    @property
    def name(self) -> str: ...
    @property
    def engine(self) -> str: ...
    @property
    def threads(self) -> int: ...
    @property
    def inputs(self) -> List[Dict[str, Any]]: ...
    @property
    def outputs(self) -> List[Dict[str, Any]]: ...
    @property
    def steps(self) -> List[Dict[str, Any]]: ...
    def random_inputs(self, seed: int = 0) -> List[Any]: ...

class Dataset:
    """Labelled samples."""

    def __init__(self, name: str, samples: Any, labels: Any, classes: int = 0) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def classes(self) -> int: ...
    @property
    def samples(self) -> Any: ...
    @property
    def labels(self) -> Any: ...
    def __len__(self) -> int: ...

class TrainingData:
    def __init__(self, training: Dataset, validation: Dataset) -> None: ...
    @property
    def training(self) -> Dataset: ...
    @property
    def validation(self) -> Dataset: ...
    @property
    def warnings(self) -> List[str]: ...

class ChosenMachine:
    @property
    def warnings(self) -> List[str]: ...
    def report(self) -> Report: ...

class TimingOptions:
    def __init__(
        self,
        *,
        warmup: Optional[int] = None,
        runs: Optional[int] = None,
        min_time: Optional[float] = None,
        max_time: Optional[float] = None,
        target: Optional[float] = None,
    ) -> None: ...

class ProfileResult:
    @property
    def report(self) -> Report: ...
    def layer_estimates(self) -> List[LayerRow]: ...

class HardwareSummary:
    def keys_and_values(self) -> Dict[str, Any]: ...

class StudySetting:
    def __init__(
        self, options: RunOptions, machine: ChosenMachine, warmup: int, runs: int, rounds: int
    ) -> None: ...

class TrainedModel:
    @property
    def model(self) -> Model: ...
    @property
    def report(self) -> Report: ...

class TrainOptions:
    def __init__(
        self,
        *,
        epochs: int,
        batch_size: int,
        learning_rate: Optional[float],
        optimizer: str,
        momentum: Optional[float],
        weight_decay: Optional[float],
        loss: str,
        schedule: str,
        shuffle: bool,
        early_stop: int,
        checkpoint: str,
        resume: bool,
        accumulate: int,
        recompute: int,
        options: RunOptions,
    ) -> None: ...

class OptimizeData: ...

class OptimizedModel:
    @property
    def model(self) -> Model: ...
    @property
    def met(self) -> bool: ...
    @property
    def report(self) -> Report: ...

class SweepDone:
    @property
    def report(self) -> Report: ...
    @property
    def folder(self) -> str: ...
    @property
    def warnings(self) -> List[str]: ...
    @property
    def interrupted(self) -> bool: ...

class ComparedAccuracy: ...

class CompareSetting:
    def __init__(
        self,
        max_time: float,
        threshold: float,
        fail_if: Sequence[str],
        accuracy: Optional[ComparedAccuracy] = None,
        power_watts: Optional[float] = None,
    ) -> None: ...

def has_page_charts() -> bool: ...
def page_html(document: str, json: str) -> str: ...
def load_model(name: str, progress: Progress = None) -> Model: ...
def read_onnx(bytes: Union[bytes, bytearray, memoryview], name: str, progress: Progress = None) -> Model: ...
def zoo() -> List[Dict[str, Any]]: ...
def engine_names() -> List[str]: ...
def compile(model: Model, options: RunOptions, progress: Progress = None) -> Program: ...
def load_dataset(
    name: str, model: Model, folder: str = "", test: bool = True, count: int = 0, seed: int = 0
) -> Dataset: ...
def load_training_data(
    name: str,
    model: Model,
    folder: str = "",
    training_samples: int = 0,
    validation_samples: int = 0,
    seed: int = 0,
) -> TrainingData: ...
def split_dataset(dataset: Dataset, validation_samples: int = 0, seed: int = 0) -> TrainingData: ...
def machine(
    refresh: bool = False, quick: bool = False, max_time: Optional[float] = None, progress: Progress = None
) -> ChosenMachine: ...
def ceilings(engine: str = "", progress: Progress = None) -> ChosenMachine: ...
def devices(kind: str = "", device_files: Sequence[str] = ()) -> Report: ...
def count(model: Model, options: RunOptions, precision: str = "", progress: Progress = None) -> Report: ...
def profile(
    model: Model,
    options: RunOptions,
    timing: TimingOptions,
    machine: Optional[ChosenMachine] = None,
    power_watts: Optional[float] = None,
    measure_energy: bool = False,
    count_events: bool = False,
    traced_runs: int = 0,
    progress: Progress = None,
) -> ProfileResult: ...
def profile_training(
    model: Model,
    options: RunOptions,
    timing: TimingOptions,
    machine: Optional[ChosenMachine] = None,
    optimizer: str = "sgd",
    loss: str = "sum-of-squares",
    accumulate: int = 1,
    recompute: int = 1,
    progress: Progress = None,
) -> Report: ...
def count_parameters(model: Model) -> int: ...
def count_flops(model: Model, input_shape: Sequence[int]) -> int: ...
def measure_memory(
    model: Model, input_shape: Sequence[int], options: RunOptions, progress: Progress
) -> Dict[str, Any]: ...
def measure_median_latency(
    model: Model, inputs: Sequence[Tensor], warmup: int, iterations: int, options: RunOptions, progress: Progress
) -> float: ...
def profile_forward_pass(
    model: Model, inputs: Sequence[Tensor], options: RunOptions, progress: Progress
) -> Dict[str, Any]: ...
def profile_backward_pass(
    model: Model, inputs: Sequence[Tensor], loss: str, options: RunOptions, progress: Progress
) -> Dict[str, Any]: ...
def estimate_layerwise_stats(
    model: Model, batch_size: int, input_shape: Sequence[int], activation_bytes_per_value: Optional[int]
) -> List[LayerRow]: ...
def summarize_hardware(
    layers: Sequence[LayerRow], latency_ms: float, memory_bandwidth_gbps: float, peak_compute_gmacs: Optional[float]
) -> HardwareSummary: ...
def hardware_summary_limits() -> List[str]: ...
def interpret_utilization(summary: HardwareSummary, layers: Sequence[LayerRow]) -> Dict[str, Any]: ...
def precision_tradeoff_table(rows: Sequence[Dict[str, Any]]) -> List[Dict[str, Any]]: ...
def save_hardware_artifacts(
    folder: str, layers: Sequence[LayerRow], precision_table: Sequence[Any], summary: HardwareSummary, model: str
) -> List[str]: ...
def compare_devices(
    layers: Sequence[LayerRow],
    latency_ms: float,
    ids: Sequence[str],
    described: str,
    machine: Optional[ChosenMachine],
) -> List[Dict[str, Any]]: ...
def compare_summaries(before: HardwareSummary, after: HardwareSummary) -> List[Dict[str, Any]]: ...
def collect_metrics(
    model: Model,
    data: Dataset,
    batch_size: int,
    device: str,
    power_watts: float,
    precision: str,
    latency_multiplier: float,
    benchmark_repeats: int,
    num_runs: int,
    warmup: int,
    options: RunOptions,
    progress: Progress,
) -> Dict[str, Any]: ...
def evaluate_accuracy(
    model: Model, data: Dataset, batch_size: int, device: str, precision: str, progress: Progress
) -> float: ...
def measure_latency(
    model: Model, inputs: Sequence[Tensor], num_runs: int, warmup: int, options: RunOptions, progress: Progress
) -> float: ...
def measure_latency_distribution(
    model: Model,
    inputs: Sequence[Tensor],
    repeats: int,
    num_runs: int,
    warmup: int,
    options: RunOptions,
    progress: Progress,
) -> Dict[str, Any]: ...
def model_memory_mb(model: Model) -> float: ...
def memory_violations(memory_mb: float, budgets: Sequence[float]) -> Dict[str, bool]: ...
def streaming_model(features: int, batch: int = 1, width: Optional[int] = None) -> Model: ...
def stream(
    model: Model,
    options: RunOptions,
    machine: ChosenMachine,
    features: Optional[int] = None,
    batch: int = 1,
    width: Optional[int] = None,
    interval_ms: Optional[float] = None,
    measured: bool = False,
    find_interval: bool = False,
    deadline_ms: Optional[float] = None,
    duration: Optional[float] = None,
    deployment: bool = False,
    progress: Progress = None,
) -> Report: ...
def write_hardware_profile_artifacts(
    operators: List[Any], totals: Dict[str, Any], folder: str
) -> Dict[str, str]: ...
def simulate_deployment(
    model: Model,
    batch_size: int,
    latency_multiplier: float,
    seconds: float,
    options: RunOptions,
    progress: Progress = None,
) -> Dict[str, Any]: ...
def fit(
    model: Model,
    options: RunOptions,
    machine: ChosenMachine,
    devices: Sequence[str] = (),
    described: str = "",
    kind: str = "",
    device_files: Sequence[str] = (),
    precision: str = "fp32",
    max_ms: Optional[float] = None,
    max_mb: Optional[float] = None,
    max_watts: Optional[float] = None,
    recalibrate: bool = False,
    progress: Progress = None,
) -> Report: ...
def study_scaling(
    setting: StudySetting,
    model: str,
    parameter: str,
    values: Sequence[int],
    batch: Optional[int],
    progress: Progress,
) -> Report: ...
def study_batch(
    setting: StudySetting, model: Model, batches: Sequence[int], max_mb: Optional[float], progress: Progress
) -> Report: ...
def study_operations(setting: StudySetting, sizes: Sequence[int], progress: Progress) -> Report: ...
def study_overhead(setting: StudySetting, model: Model, progress: Progress) -> Report: ...
def study_decode(
    setting: StudySetting, plain: Model, cached: Model, tokens: int, prompt: Sequence[int], progress: Progress
) -> Report: ...
def study_precision(setting: StudySetting, model: Model, precisions: Sequence[str], progress: Progress) -> Report: ...
def study_threads(setting: StudySetting, model: Model, threads: Sequence[int], progress: Progress) -> Report: ...
def train(
    model: Model, data: TrainingData, options: TrainOptions, confusion: bool, progress: Progress
) -> TrainedModel: ...
def structured_channel_prune(model: Model, level: float) -> Model: ...
def optimize_data_labelled(
    model: Model, data: TrainingData, calibration_samples: int, seed: int
) -> OptimizeData: ...
def optimize_data_unlabelled(model: Model, batches: Sequence[Sequence[Tensor]]) -> OptimizeData: ...
def optimize_data_seeded(model: Model, options: RunOptions, seed: int, calibrate: bool) -> OptimizeData: ...
def optimize(
    *,
    model: Model,
    options: RunOptions,
    data: OptimizeData,
    prune: Optional[float],
    precision: str,
    low_rank: Optional[float],
    criterion: str,
    ranking: str,
    round_to: Optional[int],
    calibration: str,
    per_channel: bool,
    equalize: bool,
    finetune: int,
    finetune_rate: Optional[float],
    target_ms: Union[float, str, None],
    target_mb: Union[float, str, None],
    max_loss: Optional[float],
    device: str,
    machine: Optional[ChosenMachine],
    max_time: float,
    program: str,
    original: str,
    output: str,
    keeps_output: bool,
    flags: Sequence[str],
    progress: Progress = None,
) -> OptimizedModel: ...
def sweep(
    yaml: str, described_as: str, output_dir: str = "", retry_errors: bool = False, progress: Progress = None
) -> SweepDone: ...
def sweep_config_template() -> str: ...
def compared_accuracy(
    a: Model, b: Model, data: Dataset, options: RunOptions, progress: Progress
) -> ComparedAccuracy: ...
def is_sweep_folder(path: str) -> bool: ...
def compare_stored(a: str, b: str, setting: CompareSetting) -> Report: ...
def compare_sweeps(a: str, b: str, setting: CompareSetting) -> Report: ...
class ComparedNames:
    def __init__(self, a: str, b: str) -> None: ...

def compare(
    program: str,
    a: str,
    b: str,
    flags: Sequence[str],
    names: ComparedNames,
    setting: CompareSetting,
    progress: Progress = None,
) -> Report: ...
