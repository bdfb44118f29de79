"""The names that users of the command line and the library know are there, and importing is light."""

import pathlib
import re
import subprocess
import sys

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


def test_the_command_is_the_native_program():
    code = "import sys; from assay._command import main; sys.argv = ['assay', '--version']; main()"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == f"assay {assay.__version__}"
