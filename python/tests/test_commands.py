"""Commands that make models and files."""

import json

import numpy as np
import pytest

import assay


def test_training_writes_a_model_that_does_better(tmp_path):
    path = tmp_path / "trained.onnx"
    trained = assay.train("zoo:small_cnn", "synthetic", epochs=2, train_subset=1024, val_subset=256, output=path)
    assert trained.epochs[1]["val_accuracy"] > 0.2
    assert assay.count(path).totals["parameters"] == 20_490
    assert trained.to_pandas() is not None


def test_training_on_arrays_is_reproducible():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(256, 1, 28, 28)).astype(np.float32), random.integers(0, 10, 256)
    first = assay.train("zoo:small_cnn_gap", (x, y), threads=1)
    again = assay.train("zoo:small_cnn_gap", (x, y), threads=1)
    assert all(np.array_equal(a, b) for a, b in zip(first.model.tensors().values(), again.model.tensors().values()))


def test_pruning_removes_channels(tmp_path):
    pruned = assay.structured_channel_prune("zoo:small_cnn_gap", 0.5)
    assert assay.count(pruned).totals["parameters"] == 8 * 9 + 8 + 16 * 8 * 9 + 16 + 16 * 10 + 10
    pruned.save(str(tmp_path / "pruned.onnx"))
    assert assay.count(tmp_path / "pruned.onnx").totals == assay.count(pruned).totals


def test_optimizing_writes_a_version_and_its_record(tmp_path):
    path = tmp_path / "half.onnx"
    made = assay.optimize("zoo:small_cnn", path, precision="fp16", max_time=1)
    assert made.model.node_count > 0 and path.exists()
    assert json.loads((tmp_path / "half.onnx.json").read_text())["schema"].startswith("assay.optimize")


def test_int8_is_calibrated_on_arrays():
    random = np.random.default_rng(0)
    data = (random.normal(size=(128, 1, 28, 28)).astype(np.float32), random.integers(0, 10, 128))
    made = assay.optimize("zoo:small_cnn", precision="int8", data=data, max_time=1)
    assert made["after"]["memory_mb"] < 0.5 * made["before"]["memory_mb"]


def test_int8_without_data_is_an_error():
    with pytest.raises(assay.UsageError, match="calibrate"):
        assay.optimize("zoo:small_cnn", precision="int8")


def test_a_size_target_is_met():
    made = assay.optimize("zoo:small_cnn", target_mb="60%", max_time=1)
    assert made.met and made["after"]["memory_mb"] <= 0.6 * made["before"]["memory_mb"]


def test_a_sweep_resumes_by_itself(tmp_path):
    config = {"model": "SmallCNN", "dataset": "synthetic", "epochs": 1, "batch_size": 64, "train_subset": 256,
              "val_subset": 128, "pruning_levels": [0.0, 0.5], "precisions": ["fp32"], "benchmark_repeats": 2,
              "benchmark_trials": 1, "seed": 7}
    swept = assay.sweep(config, tmp_path / "out")
    assert swept["study_rows"] == 2 and len(swept.rows) == 2
    assert swept.rows[0]["precision"] == "fp32" and swept.baseline["accuracy"] >= 0
    assert (tmp_path / "out" / "summary.json").exists()
    assert swept._repr_html_().startswith("<iframe")
    again = assay.sweep(config, tmp_path / "out")
    assert again.rows == swept.rows


def test_deployment_has_its_keys():
    result = assay.simulate_deployment("zoo:lenet5", 4, seconds=0.1, latency_multiplier=2.0)
    for key in ("batch_latency_ms", "batch_throughput_sps", "stream_avg_latency_ms", "stream_throughput_sps"):
        assert result[key] > 0
    assert result["batch_throughput_sps"] == pytest.approx(4000 / result["batch_latency_ms"])


def test_the_machine_and_the_devices():
    machine = assay.machine()
    assert machine["topology"]["processor"] and machine.rows
    devices = assay.devices()
    assert len(devices.rows) > 40 and "jetson-nano" in str(devices)
    assert all(row["kind"] == "gpu" for row in assay.devices("gpu").rows)


def test_a_training_step_is_profiled():
    step = assay.profile("zoo:small_cnn", batch=8, train=True, optimizer="adam", runs=3, warmup=1)
    assert step["schema"].startswith("assay.") and "adam" in json.dumps(dict(step))


def test_a_stream_is_measured():
    streamed = assay.stream("zoo:lenet5", interval_ms=5, measured=True, duration=0.3)
    assert streamed["measured"]["verdict"] in ("SUSTAINABLE", "OVERLOADED", "UNDECIDED")


def test_the_zoo_is_listed():
    assert "resnet18" in [network["name"] for network in assay.zoo()]


def test_programs_tell_their_steps():
    program = assay.compile("zoo:lenet5", threads=1)
    assert program.engine == "cpu" and program.threads == 1
    assert program.inputs[0]["shape"] == (1, 1, 28, 28) and program.outputs[0]["shape"] == (1, 10)
    assert sum(step["executed_flops"] for step in program.steps) > 0
    program(*program.random_inputs())
    assert program.time(10) > 0
