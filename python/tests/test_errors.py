"""What cannot be used is one sentence, an assay.Error, and never a crash."""

import numpy as np
import pytest

import assay

X = np.zeros((1, 1, 28, 28), np.float32)
MODEL = "zoo:small_cnn_gap"
BAD_ARRAYS = {
    "another type": X.astype(np.float64),
    "whole numbers": X.astype(np.int64),
    "complex numbers": X.astype(np.complex64),
    "texts": np.array([["a"]]),
    "objects": np.array([[object()]]),
    "not contiguous": np.zeros((1, 1, 28, 56), np.float32)[..., ::2],
    "transposed": np.zeros((28, 28, 1, 1), np.float32).T,
    "NaN": X * np.nan,
    "another shape": np.zeros((1, 3, 28, 28), np.float32),
    "another rank": np.zeros((28, 28), np.float32),
    "nothing": np.zeros((0, 1, 28, 28), np.float32),
    "the other byte order": X.astype(">f4"),
    "a text": "abc",
    "None": None,
    "an object": object(),
}


@pytest.mark.parametrize("what", BAD_ARRAYS)
def test_arrays_that_do_not_fit(what):
    bad = BAD_ARRAYS[what]
    program = assay.compile(MODEL, threads=1)
    calls = [lambda: program(bad), lambda: assay.Profiler().measure_latency(MODEL, bad, 1, 1),
             lambda: assay.profile_forward_pass(MODEL, bad)]
    for call in calls:
        with pytest.raises(assay.Error) as raised:
            call()
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 400


def test_what_is_no_model():
    closed = open(__file__, "rb")
    closed.close()
    for bad in (closed, 42, None, object(), b"", b"\0\1\2", "no/such/file.onnx", "zoo:nothing", "resnet18", __file__, []):
        with pytest.raises(assay.Error):
            assay.count(bad)
        with pytest.raises(assay.Error):
            assay.profile(bad, ceilings=False)


def test_a_truncated_model(tmp_path):
    path = tmp_path / "model.onnx"
    assay.load("zoo:lenet5").save(str(path))
    content = path.read_bytes()
    for length in (10, len(content) // 2, len(content) - 1):
        with pytest.raises(assay.Error):
            assay.count(content[:length])


def test_the_sentence_is_the_library_s():
    with pytest.raises(assay.BadInputError, match="did you mean 'zoo:resnet18'"):
        assay.count("resnet18")
    with pytest.raises(assay.UsageError, match="`threads`"):
        assay.profile(MODEL, threads=0)


def test_bad_arguments():
    bad = [lambda: assay.profile(MODEL, engine="none"), lambda: assay.profile(MODEL, precision="fp12"),
           lambda: assay.count(MODEL, precision="fp12"), lambda: assay.count(MODEL, batch=0),
           lambda: assay.count(MODEL, input_shapes="big"), lambda: assay.compile(MODEL, optimize_for="fun"),
           lambda: assay.compare(MODEL, MODEL, max_time=0), lambda: assay.compare(MODEL, MODEL, fail_if="latency"),
           lambda: assay.stream(MODEL), lambda: assay.stream(MODEL, interval_ms=-1), lambda: assay.stream(interval_ms=1),
           lambda: assay.optimize(MODEL), lambda: assay.optimize(MODEL, prune=2), lambda: assay.optimize(MODEL, target_ms="half"),
           lambda: assay.train(MODEL, "synthetic", epochs=0), lambda: assay.train(MODEL, "nothing"),
           lambda: assay.structured_channel_prune(MODEL, 1.5), lambda: assay.study("nothing"),
           lambda: assay.study("batch", speed=1), lambda: assay.devices("toaster"), lambda: assay.sweep("no/such.yaml"),
           lambda: assay.sweep({"epochs": "many"}), lambda: assay.sweep({"epocs": 1}),
           lambda: assay.Profiler(engine="none").measure_memory(MODEL, (1, 1, 28, 28)),
           lambda: assay.Profiler().count_flops(MODEL, (1, 3)), lambda: assay.hardware.summarize_hardware([], 1, 1),
           lambda: assay.hardware.summarize_hardware([{"macs": 1}], 1, 1), lambda: assay.hardware.summarize_hardware(3, 1, 1),
           lambda: assay.hardware.precision_tradeoff_table([{"precision": "fp32"}]),
           lambda: assay.hardware_profile.write_hardware_profile_artifacts({}, "x"),
           lambda: assay.hardware_profile.build_hardware_profile_table(0, 1, 10)]
    for number, call in enumerate(bad):
        with pytest.raises(assay.Error) as raised:
            call()
        assert str(raised.value), number


def test_bad_data():
    labels = np.zeros(4, int)
    samples = np.zeros((4, 1, 28, 28), np.float32)
    bad = [[], iter(()), (samples, labels[:3]), (samples * np.nan, labels), (samples, labels - 1), (samples, np.array(["a"] * 4)),
           [1, 2, 3], 7, [(samples, labels), (samples[:, :, :20], labels)], "no-such-data"]
    for number, data in enumerate(bad):
        with pytest.raises(assay.Error) as raised:
            assay.metrics.evaluate_accuracy(MODEL, data)
        assert "\n" not in str(raised.value), number


def test_an_empty_loader_is_named():
    with pytest.raises(assay.Error, match="is empty"):
        assay.metrics.collect_metrics(MODEL, [], "cpu", 5.0, "fp32")


def test_devices_that_are_not_there():
    data = (np.zeros((4, 1, 28, 28), np.float32), np.zeros(4, int))
    for device in ("mps", "toaster"):
        with pytest.raises(assay.Error, match=device):
            assay.metrics.evaluate_accuracy(MODEL, data, device)


def test_errors_are_values_or_runtime_errors_too():
    assert issubclass(assay.BadInputError, ValueError) and issubclass(assay.UsageError, ValueError)
    assert issubclass(assay.RunError, RuntimeError)
    for kind in (assay.BadInputError, assay.UsageError, assay.RunError, assay.CancelledError):
        assert issubclass(kind, assay.Error)


def test_a_file_that_cannot_be_written():
    with pytest.raises(assay.Error):
        assay.count(MODEL).save_html("/no/such/folder/page.html")
    with pytest.raises(assay.Error):
        assay.load(MODEL).save("/no/such/folder/model.onnx")
