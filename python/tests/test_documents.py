"""Facts that users already know from profiling documents, under our imports."""

import csv
import math
from pathlib import Path

import numpy as np
import pytest

import assay
from assay import Conv2d, Linear, Profiler, Sequential, Tensor, profile_backward_pass, profile_forward_pass
from assay.hardware import estimate_layerwise_stats, precision_tradeoff_table, save_hardware_artifacts, summarize_hardware
from assay.hardware_profile import build_hardware_profile_table, write_hardware_profile_artifacts
from assay.metrics import collect_metrics, memory_violations, model_memory_mb
from conftest import needs


def column(table, name):
    return list(table[name]) if hasattr(table, "columns") else [row[name] for row in table]


# --- counting

def test_parameters_of_linear_layers():
    profiler = Profiler()
    assert profiler.count_parameters(Linear(128, 64)) == 128 * 64 + 64
    assert profiler.count_parameters(Linear(768, 3072)) == 2_362_368


def test_parameters_of_objects_with_the_usual_attributes():
    class Simple:
        def __init__(self):
            self.weight = Tensor(np.random.randn(10, 5))
            self.bias = Tensor(np.random.randn(5))

        def parameters(self):
            return [self.weight, self.bias]

    class Nothing:
        pass

    assert Profiler().count_parameters(Simple()) == 10 * 5 + 5
    assert Profiler().count_parameters(Nothing()) == 0
    assert Profiler().count_parameters(Tensor(np.random.randn(2, 3))) == 0


def test_flops_are_for_one_sample():
    profiler = Profiler()
    assert profiler.count_flops(Linear(128, 64), (1, 128)) == 128 * 64 * 2
    assert profiler.count_flops(Linear(128, 64), (32, 128)) == 128 * 64 * 2
    assert profiler.count_flops(Conv2d(3, 64, 7, stride=2, padding=3), (1, 3, 224, 224)) == 236_027_904
    assert profiler.count_flops(Tensor(np.random.randn(4, 8)), (4, 8)) == 32


def test_flops_of_a_layer_known_by_its_name():
    class Layer:
        def __init__(self, inputs, outputs):
            self.weight = Tensor(np.random.randn(inputs, outputs))
            self.__class__.__name__ = "Linear"

    assert Profiler().count_flops(Layer(128, 64), (1, 128)) == 16_384


def test_flops_of_a_sequence_are_the_sum():
    model = Sequential([Linear(128, 64), assay.Relu(), Linear(64, 10)])
    assert Profiler().count_flops(model, (1, 128)) == 2 * 128 * 64 + 64 + 2 * 64 * 10


# --- measuring

def test_memory_has_its_keys_and_grows_with_the_input():
    memory = Profiler().measure_memory(Tensor(np.random.randn(10, 20)), (10, 20))
    for key in ("parameter_memory_mb", "activation_memory_mb", "peak_memory_mb", "memory_efficiency"):
        assert memory[key] >= 0, key
    assert memory["memory_efficiency"] <= 1
    small = Profiler().measure_memory(Tensor(np.random.randn(5, 5)), (5, 5))
    large = Profiler().measure_memory(Tensor(np.random.randn(50, 50)), (50, 50))
    assert large["activation_memory_mb"] >= small["activation_memory_mb"]


def test_memory_of_a_large_linear_layer():
    memory = Profiler().measure_memory(Linear(1024, 512), (32, 1024))
    assert f"{memory['parameter_memory_mb']:.2f}" == "2.00"


def test_latency_is_a_time():
    x = Tensor(np.random.randn(4, 8))
    latency = Profiler().measure_latency(x, x, warmup=2, iterations=5)
    assert 0 <= latency < 1000
    assert Profiler().measure_latency(Linear(128, 64), Tensor(np.random.randn(1, 128)), iterations=5) > 0


def test_forward_pass_has_its_keys():
    profile = Profiler().profile_forward_pass(Linear(256, 128), Tensor(np.random.randn(32, 256)))
    for key in ("parameters flops latency_ms parameter_memory_mb activation_memory_mb peak_memory_mb memory_efficiency "
                "gflops_per_second memory_bandwidth_mbs computational_efficiency is_memory_bound is_compute_bound "
                "bottleneck").split():
        assert key in profile, key
    assert profile["gflops_per_second"] == pytest.approx(profile["flops"] / 1e9 / (profile["latency_ms"] / 1000))
    assert profile["bottleneck"] in ("memory", "compute", None)


def test_backward_pass_is_counted_and_not_guessed():
    x = Tensor(np.random.randn(16, 128))
    profile = profile_backward_pass(Linear(128, 64), x)
    assert profile["forward_flops"] == profile_forward_pass(Linear(128, 64), x)["flops"]
    assert profile["total_flops"] >= profile["forward_flops"]
    assert profile["total_latency_ms"] >= profile["forward_latency_ms"]
    gradients = profile["gradient_memory_mb"]
    assert profile["optimizer_memory_estimates"] == pytest.approx(
        {"sgd": 0, "momentum": gradients, "adam": 2 * gradients, "adamw": 2 * gradients})
    assert profile["backward_flops_rule"] == 2 * profile["forward_flops"]


def test_a_model_without_parameters_has_the_gradient_of_its_input():
    x = Tensor(np.random.randn(4, 8))
    profile = profile_backward_pass(x, x)
    assert profile["backward_flops"] >= profile["forward_flops"]
    assert profile["gradient_memory_mb"] >= 0


# --- layers and their summary

def test_layers_of_the_small_network():
    layers = estimate_layerwise_stats("zoo:small_cnn", batch_size=32)
    assert column(layers, "layer") == ["conv1", "conv2", "classifier"]
    assert column(layers, "output_elements") == [32 * 16 * 28 * 28, 32 * 32 * 14 * 14, 32 * 10]
    assert column(layers, "macs") == [32 * 16 * 28 * 28 * 9, 32 * 32 * 14 * 14 * 9 * 16, 32 * 1568 * 10]


def test_the_small_network_is_there_by_its_name():
    assert column(estimate_layerwise_stats(assay.SmallCNN(), batch_size=32), "layer") == ["conv1", "conv2", "classifier"]


def test_a_summary_is_bytes_and_macs_over_time():
    layers = estimate_layerwise_stats("zoo:small_cnn", batch_size=32)
    summary = summarize_hardware(layerwise_df=layers, latency_ms=2.0, memory_bandwidth_gbps=4.3)
    total = sum(column(layers, "parameter_bytes")) + sum(column(layers, "activation_bytes"))
    assert summary["estimated_total_bytes"] == total
    assert summary["achieved_bandwidth_gbps"] == pytest.approx(total / 0.002 / 1e9)
    assert summary["bandwidth_utilization"] == pytest.approx(total / 0.002 / 1e9 / 4.3)
    assert summary["achieved_gmacs"] == pytest.approx(sum(column(layers, "macs")) / 0.002 / 1e9)
    assert summary["configured_memory_bandwidth_gbps"] == 4.3
    assert "bound_regime" not in summary


def test_a_peak_adds_the_knee():
    layers = [{"layer": "a", "output_elements": 1, "parameter_bytes": 100, "activation_bytes": 100, "macs": 1000}]
    summary = summarize_hardware(layers, 1.0, 12.8, 64.0)
    assert summary["roofline_knee_macs_per_byte"] == pytest.approx(5.0)
    assert summary["bound_regime"] == "compute-bound" or summary["arithmetic_intensity_macs_per_byte"] < 5


def test_a_latency_of_zero_is_clamped_to_a_nanosecond():
    layers = [{"layer": "a", "output_elements": 1, "parameter_bytes": 1, "activation_bytes": 0, "macs": 0}]
    summary = summarize_hardware(layers, 0.0, 4.3)
    assert summary["achieved_bandwidth_gbps"] == pytest.approx(1.0)
    assert summary["clamped"] == "latency"


def test_precisions_are_grouped_and_sorted_by_latency():
    rows = [
        {"precision": "fp32", "accuracy": 0.9, "latency_ms": 4.0, "memory_mb": 2.0, "energy_proxy_j": 0.4, "accepted": True},
        {"precision": "fp32", "accuracy": 0.8, "latency_ms": 2.0, "memory_mb": 1.0, "energy_proxy_j": 0.2, "accepted": False},
        {"precision": "int8", "accuracy": 0.7, "latency_ms": 1.0, "memory_mb": 0.5, "energy_proxy_j": 0.1, "accepted": True},
    ]
    table = precision_tradeoff_table(rows)
    assert column(table, "precision") == ["int8", "fp32"]
    assert column(table, "latency_ms_mean") == [1.0, 3.0]
    assert column(table, "accepted_ratio") == [1.0, 0.5]


def test_artifacts_are_five_files(tmp_path):
    layers = estimate_layerwise_stats("zoo:small_cnn", batch_size=1)
    rows = [{"precision": "fp32", "accuracy": 0.9, "latency_ms": 4.0, "memory_mb": 2.0, "energy_proxy_j": 0.4, "accepted": True}]
    made = layers, precision_tradeoff_table(rows), summarize_hardware(layers, 1.0, 4.3)
    save_hardware_artifacts(tmp_path / "new", *made)
    for folder in ({"dir": tmp_path / "new"}, {"output_dir": tmp_path / "new"}):
        save_hardware_artifacts(layers=made[0], precision_table=made[1], summary=made[2], **folder)
    names = {path.name for path in (tmp_path / "new").iterdir()}
    assert names == {"layerwise_breakdown.csv", "precision_tradeoffs.csv", "hardware_summary.csv",
                     "layerwise_activation_memory.png", "layerwise_macs.png"}
    with open(tmp_path / "new" / "layerwise_breakdown.csv", encoding="utf-8") as file:
        assert [row["layer"] for row in csv.DictReader(file)] == ["conv1", "conv2", "classifier"]


@needs("torch")
def test_metrics_of_a_torch_network_with_its_loader():
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    class SmallCNN(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = torch.nn.Conv2d(1, 16, 3, padding=1)
            self.conv2 = torch.nn.Conv2d(16, 32, 3, padding=1)
            self.classifier = torch.nn.Linear(32 * 7 * 7, 10)

        def forward(self, x):
            x = torch.nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
            x = torch.nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
            return self.classifier(torch.flatten(x, 1))

    model = SmallCNN()
    data = TensorDataset(torch.randn(100, 1, 28, 28), torch.randint(0, 10, (100,)))
    metrics = collect_metrics(model, DataLoader(data, batch_size=32), torch.device("cpu"), power_watts=2.0,
                              precision="fp32", latency_multiplier=1.0, benchmark_repeats=2, num_runs=5)
    assert 0 <= metrics.accuracy <= 1
    assert metrics.energy_proxy_j == pytest.approx(metrics.latency_ms / 1000 * 2.0)
    assert metrics.throughput_sps == pytest.approx(32 / metrics.latency_ms * 1000)
    layers = estimate_layerwise_stats(model, batch_size=32)
    assert column(layers, "layer") == ["conv1", "conv2", "classifier"]
    for bandwidth in (4.3, 25.6, 50.0):
        summary = summarize_hardware(layers, latency_ms=metrics.latency_ms, memory_bandwidth_gbps=bandwidth)
        assert summary["bandwidth_utilization"] == pytest.approx(summary["achieved_bandwidth_gbps"] / bandwidth)


# --- metrics

def test_violations_name_their_budgets():
    assert memory_violations(1.5, [1.0, 2.0, 4]) == {
        "violates_1.0mb": True, "violates_2.0mb": False, "violates_4.0mb": False}


def test_memory_is_that_of_stored_tensors():
    assert model_memory_mb("zoo:small_cnn") == pytest.approx(20_490 * 4 / 1024**2)


# --- streaming

def test_the_streaming_profile_has_its_keys():
    profile = build_hardware_profile_table(feature_count=6, batch_size=32, stream_interval_ms=10)
    assert [row["operator"] for row in profile["operator_profile"]] == [
        "input_normalization", "linear_projection", "activation", "decision_head"]
    totals = profile["totals"]
    assert totals["memory_kb"] == pytest.approx(sum(row["memory_kb"] for row in profile["operator_profile"]))
    assert 0 <= totals["stream_utilization"] <= 1
    precisions = profile["precision_tradeoffs"]
    assert precisions["fp16_memory_kb"] == pytest.approx(precisions["fp32_memory_kb"] / 2)
    assert precisions["int8_memory_kb"] == pytest.approx(precisions["fp32_memory_kb"] / 4)
    assert precisions["note"] and profile["edge_constraints"]["cache_sensitivity"]
    assert profile["edge_constraints"]["bottleneck"]
    assert math.isfinite(totals["estimated_bandwidth_mb_s"])


def test_the_streaming_profile_is_written_as_two_files(tmp_path):
    profile = build_hardware_profile_table(feature_count=6, batch_size=32, stream_interval_ms=10)
    paths = write_hardware_profile_artifacts(profile=profile, output_dir=tmp_path / "hardware")
    with open(paths["operator_profile_csv"], encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 4
    with open(paths["hardware_totals_csv"], encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == 1
    assert Path(paths["hardware_totals_csv"]).name == "hardware_totals.csv"


# --- studies

def test_studies_have_the_rows_of_their_settings():
    quick = {"runs": 2, "rounds": 1, "warmup": 1}
    assert [row["size"] for row in assay.analyze_model_scaling(**quick).rows] == [64, 128, 256, 512]
    assert [row["batch_size"] for row in assay.analyze_batch_size_effects(**quick).rows] == [1, 8, 32, 128]
    operations = assay.benchmark_operation_efficiency(sizes=[64], **quick)
    assert {row["operation"] for row in operations.rows} == {
        "element-wise", "matmul", "reduction", "convolution", "attention"}
    overhead = assay.analyze_profiling_overhead(**quick)
    assert overhead["overhead_class"] in ("low", "moderate", "high")
