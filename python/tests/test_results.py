"""Results are mappings, tables, frames, pages and files."""

import copy
import json
import pickle

import numpy as np
import pytest

import assay
from conftest import needs


@pytest.fixture(scope="module")
def count():
    return assay.count("zoo:lenet5")


@pytest.fixture(scope="module")
def profile():
    return assay.profile("zoo:lenet5", runs=5, warmup=1, traced_runs=2)


def test_a_result_has_the_keys_of_the_command(count):
    assert count["schema"].startswith("assay.count/")
    assert count.totals["macs"] == 416_520
    assert dict(count) == json.loads(count.to_json())


def test_layers_sum_to_the_totals(count):
    assert sum(layer["macs"] for layer in count.layers) == count.totals["macs"]


def test_steps_sum_to_the_run(profile):
    total = sum(step["time_ms"] for step in profile["steps"]) + profile["between_steps_ms"]
    assert total == pytest.approx(profile.latency_ms, rel=1e-6)


def test_a_result_prints_as_the_command_s_table(count):
    assert "zoo:lenet5" in str(count) and "conv1" in repr(count)
    assert "| conv1 |" in count.table(markdown=True)


@needs("pandas")
def test_rows_are_a_frame(count, profile):
    frame = count.to_pandas()
    assert list(frame["name"])[0] == "conv1" and int(frame["macs"].sum()) == 416_520
    assert "time_ms" in profile.to_pandas().columns


def test_without_pandas_rows_are_a_list(count, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert count.to_pandas()[0]["name"] == "conv1"
    assert assay.hardware.estimate_layerwise_stats("zoo:small_cnn", 1)[0]["layer"] == "conv1"


def test_a_notebook_shows_the_page_in_a_frame(count, profile):
    for result in (count, profile):
        html = result._repr_html_()
        assert html.startswith("<iframe srcdoc=") and 'sandbox="allow-scripts"' in html
        assert "<script" not in html and ("&lt;script" in html) == assay._core.has_page_charts()


def test_pages_of_comparisons_and_studies(tmp_path):
    comparison = assay.compare("zoo:lenet5", "zoo:mlp", max_time=1, threads=1)
    assert comparison.verdict in ("FASTER", "SLOWER", "SAME", "UNDECIDED")
    assert comparison._repr_html_().startswith("<iframe")
    study = assay.study("batch", batches=[1, 2], runs=1, rounds=1)
    assert study._repr_html_().startswith("<iframe")


def test_results_are_written_by_their_ending(profile, tmp_path):
    for name, start in {"a.json": b"{", "a.csv": b"", "a.html": b"<!", "a.png": b"\x89PNG", "a.svg": b"<"}.items():
        profile.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    profile.save_html(tmp_path / "page.html")
    profile.save_trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())
    with pytest.raises(assay.UsageError, match="there are"):
        profile.save(tmp_path / "a.docx")


def test_stored_profiles_are_compared(profile, tmp_path):
    path = tmp_path / "profile.json"
    assay.profile("zoo:lenet5", runs=20, warmup=1, ceilings=False).to_json(path)
    comparison = assay.compare(path, path)
    assert comparison.ratio == 1


def test_results_travel_between_processes(count, profile):
    for result in (count, profile):
        other = pickle.loads(pickle.dumps(result))
        assert other == result and str(other) == str(result) and type(other) is type(result)


def test_results_keep_their_models():
    optimized = assay.optimize("zoo:small_cnn_gap", prune=0.5, max_time=0.1)
    trained = assay.train("zoo:small_cnn_gap", "synthetic", train_subset=64, val_subset=16)
    for result in (optimized, trained):
        other = pickle.loads(pickle.dumps(result))
        assert other == result and list(other.model.tensors()) == list(result.model.tensors())
    assert pickle.loads(pickle.dumps(optimized)).met is optimized.met


def test_copies_of_results_are_results(profile, tmp_path):
    for duplicate in (copy.copy(profile), copy.deepcopy(profile)):
        assert duplicate == profile and type(duplicate) is type(profile)
        duplicate.save(tmp_path / "a.png")
    changed = copy.deepcopy(profile)
    changed["latency"]["median_ms"] = -1
    assert profile.latency_ms > 0


def test_models_arrays_and_data_travel_between_processes():
    model = assay.load("zoo:lenet5")
    other = pickle.loads(pickle.dumps(model))
    assert other.name == model.name and assay.count(other).layers == assay.count(model).layers
    tensor = pickle.loads(pickle.dumps(assay.Tensor([[1.0, 2.0]])))
    assert tensor.dtype == np.float32 and tensor.ndim == 2 and len(tensor) == 1 and list(tensor[0]) == [1, 2]
    data = pickle.loads(pickle.dumps(assay.Dataset("d", np.ones((2, 1, 2, 2), np.float32), np.array([0, 1]))))
    assert (len(data), data.name, data.classes, data.samples.sum()) == (2, "d", 2, 8)


def test_gates_can_fail():
    comparison = assay.compare("zoo:mlp", "zoo:lenet5", max_time=1, threads=1, fail_if=["parameters<-10%"])
    assert comparison.failed
