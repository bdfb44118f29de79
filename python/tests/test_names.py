"""The names that users of the command line and the library know are there, and importing is light."""

import functools
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import assay

PACKAGE = pathlib.Path(assay.__file__).parent
SOURCE = pathlib.Path(__file__).parent.parent / "assay"


def test_every_command_is_a_function():
    for name in "count profile compare fit stream train optimize sweep study machine devices".split():
        assert callable(getattr(assay, name)), name


def test_profiler_has_every_method_and_both_passes_are_free_functions():
    for name in "count_parameters count_flops measure_memory measure_latency profile_forward_pass".split():
        assert callable(getattr(assay.Profiler, name)), name
    assert callable(assay.profile_forward_pass) and callable(assay.profile_backward_pass)


def test_studies_and_transformations_are_functions():
    for name in ["analyze_model_scaling", "analyze_batch_size_effects", "benchmark_operation_efficiency",
                 "analyze_profiling_overhead", "structured_channel_prune", "simulate_deployment"]:
        assert callable(getattr(assay, name)), name


def test_modules_have_their_names():
    for name in "LayerEstimate estimate_layerwise_stats summarize_hardware precision_tradeoff_table save_hardware_artifacts".split():
        assert hasattr(assay.hardware, name), name
    for name in ("PerfMetrics collect_metrics evaluate_accuracy measure_latency measure_latency_distribution "
                 "model_memory_mb memory_violations").split():
        assert hasattr(assay.metrics, name), name
    for name in "build_hardware_profile_table write_hardware_profile_artifacts".split():
        assert hasattr(assay.hardware_profile, name), name


def test_everything_that_is_listed_can_be_used():
    for name in dir(assay):
        assert getattr(assay, name) is not None, name


def test_an_unknown_name_is_an_attribute_error():
    try:
        assay.no_such_name
    except AttributeError as error:
        assert "no_such_name" in str(error)
    else:
        raise AssertionError("no error")


def test_importing_loads_neither_numpy_nor_the_native_part():
    code = "import sys, assay; print([m for m in ('numpy', 'pandas', 'torch', 'onnx', 'assay._core') if m in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"


def test_the_stubs_name_what_the_native_part_has():
    from assay import _core

    stub = (SOURCE / "_core.pyi").read_text()
    stubbed = set(re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE)) | {"version"}
    actual = {name for name in dir(_core) if not name.startswith("_")}
    assert stubbed == actual


def test_the_stub_of_the_package_names_what_the_package_has():
    stub = (SOURCE / "__init__.pyi").read_text()
    stubbed = set(re.findall(r" as (\w+)$", stub, re.MULTILINE)) | {"__version__"}
    assert stubbed == set(assay.__all__)


def test_the_package_says_that_it_is_typed():
    assert (PACKAGE / "py.typed").exists()


def test_the_package_runs_as_the_command():
    printed = subprocess.run([sys.executable, "-m", "assay", "--version"], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"assay {assay.__version__}"


# Names and defaults of arguments; None: without a default.
ARGUMENTS = {
    "hardware.estimate_layerwise_stats": {"model": None, "batch_size": None, "input_shape": (1, 28, 28), "activation_bytes_per_value": None},
    "hardware.summarize_hardware": {"layers": None, "latency_ms": None, "memory_bandwidth_gbps": None, "peak_compute_gmacs": None},
    "hardware.precision_tradeoff_table": {"rows": None},
    "hardware.save_hardware_artifacts": {"dir": None, "layers": None, "precision_table": None, "summary": None},
    "metrics.collect_metrics": {"model": None, "loader": None, "device": "cpu", "power_watts": 5.0, "precision": "fp32",
                                "latency_multiplier": 1.0, "benchmark_repeats": 5},
    "metrics.evaluate_accuracy": {"model": None, "loader": None, "device": "cpu", "precision": "fp32"},
    "metrics.measure_latency": {"model": None, "input": None, "num_runs": 100, "warmup": 3},
    "metrics.measure_latency_distribution": {"model": None, "input": None, "repeats": 5, "num_runs": 100, "warmup": 3},
    "metrics.model_memory_mb": {"model": None},
    "metrics.memory_violations": {"memory_mb": None, "budgets": None},
    "Profiler.count_parameters": {"model": None},
    "Profiler.count_flops": {"model": None, "input_shape": None},
    "Profiler.measure_memory": {"model": None, "input_shape": None},
    "Profiler.measure_latency": {"model": None, "input": None, "warmup": 10, "iterations": 100},
    "Profiler.profile_forward_pass": {"model": None, "input": None},
    "Profiler.profile_backward_pass": {"model": None, "input": None, "loss": None},
    "profile_forward_pass": {"model": None, "input": None},
    "profile_backward_pass": {"model": None, "input": None, "loss": None},
    "hardware_profile.build_hardware_profile_table": {"feature_count": None, "batch_size": None, "stream_interval_ms": None},
    "hardware_profile.write_hardware_profile_artifacts": {"profile": None, "dir": None},
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_have_their_names_order_and_defaults(name):
    function = functools.reduce(getattr, name.split("."), assay)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    for parameter, (argument, default) in zip(parameters, ARGUMENTS[name].items()):
        assert parameter.name == argument
        assert parameter.default in ((default,) if default is not None else (None, parameter.empty))


def test_the_command_is_the_native_program():
    code = "import sys; from assay._command import main; sys.argv = ['assay', '--version']; main()"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"assay {assay.__version__}"
