"""What cannot be used is one sentence, an assay.Error, and never a crash."""

import numpy as np
import pytest

import assay
from conftest import needs

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


WRONG_CALLS = {
    "a missing argument": (lambda: assay.count(), "count(): `model` is missing"),
    "an unknown argument": (lambda: assay.profile(MODEL, thread=1), "profile() has no argument `thread`; did you mean `threads`?"),
    "too many by position": (lambda: assay.machine(1), "machine() takes 0 arguments by position (none), 1 given: name the others"),
    "an argument given twice": (lambda: assay.count(MODEL, model=MODEL), "count(): `model` is given twice, by position and by name"),
    "a string for a number": (lambda: assay.count(MODEL, batch="x"), "`batch` 'x': expected a whole number"),
    "a fraction for a count": (lambda: assay.profile(MODEL, runs=1.5), "`runs` 1.5: expected a whole number"),
    "a negative count": (lambda: assay.profile(MODEL, warmup=-1), "`warmup` -1: expected at least 0"),
    "a number of 100 bits": (lambda: assay.count(MODEL, batch=2**100), "64 bits"),
    "NaN for a number": (lambda: assay.profile(MODEL, max_time=float("nan")), "`max_time` nan: expected a number"),
    "a string for a switch": (lambda: assay.count(MODEL, strict="yes"), "`strict` 'yes': expected True or False"),
    "a number for a string": (lambda: assay.train(MODEL, "synthetic", optimizer=3), "`optimizer` 3: expected a string"),
    "a number for a path": (lambda: assay.optimize(MODEL, 3, prune=0.5), "`output` 3: expected a string or a path"),
    "a number for a shape": (lambda: assay.Profiler().count_flops(MODEL, 3), "`input_shape` 3: expected a shape"),
    "a number for a list": (lambda: assay.study("batch", batches=3), "`batches` 3: expected a list"),
    "a list of strings": (lambda: assay.metrics.memory_violations(1, ["a"]), "expected a list, each a number"),
    "sizes of a dict": (lambda: assay.count(MODEL, dims={"n": "x"}), "expected a dict with a whole number for each name"),
    "a method's argument": (lambda: assay.load(MODEL).save(3), "`path` 3: expected a string or a path"),
    "a method without it": (lambda: assay.load(MODEL).save(), "Model.save(): `path` is missing"),
    "a constructor": (lambda: assay.Linear("a", 3), "`in_features` 'a': expected a whole number"),
    "a data set": (lambda: assay.Dataset(3, X, X), "`name` 3: expected a string"),
    "an empty path": (lambda: assay.count(""), "'' is not a path"),
    "a path with a NUL": (lambda: assay.count("a\0b"), "is not a path"),
    "parts of a memory": (lambda: assay.count(memoryview(b"abcdef")[::2]), "not contiguous"),
    "a configuration's path with a NUL": (lambda: assay.sweep("a\0b"), "without NUL"),
    "a result's path with a NUL": (lambda: assay.count(MODEL).to_json("a\0b"), "without NUL"),
    "a fit in an unknown precision": (lambda: assay.fit(MODEL, precision="fp12"), "expected one of"),
    "a fit on an unknown kind": (lambda: assay.fit(MODEL, kind="x"), "there are microcontroller"),
    "a fit of an input that is none": (lambda: assay.fit(MODEL, np.zeros(3, np.float32)), "4 dimensions"),
    "a width of nothing": (lambda: assay.count(MODEL).table(None), "`width` None: expected a whole number"),
    "sides that are arrays": (lambda: assay.Conv2d(1, 1, np.zeros((2, 2))), "only squares"),
    "a path that is too long": (lambda: assay.compile(MODEL, tuning_file="a" * 10000), "too long"),
    "an array of no axes for devices": (lambda: assay.fit(MODEL, devices=np.array(3)), "is not a device"),
    "an array of no axes for rows": (lambda: assay.hardware.summarize_hardware(np.array(3), 1, 1), "is not a table"),
    "a sweep of objects": (lambda: assay.sweep({"seed": object()}), "`config` has a value that cannot be written as YAML"),
    "a summary without its keys": (lambda: assay.hardware.interpret_utilization({}, []), "the summary has no `estimated_total_bytes`"),
    "a row that is none": (lambda: assay.hardware.precision_tradeoff_table([3]), "an object of type int is not a row"),
    "a device without a name": (lambda: assay.fit(MODEL, devices=[{"memory_bandwidth_gbps": 4}]), "a device has no `name`"),
    "a device's figure": (lambda: assay.fit(MODEL, devices=[{"name": "a", "memory_bandwidth_gbps": "fast"}]), "not a number"),
    "an input by another name": (lambda: assay.compile(MODEL, threads=1)(x=X), "there is no input 'x'; there are input"),
    "a time of no runs": (lambda: assay.compile(MODEL, threads=1).time(0), "`runs` 0: expected at least 1"),
}


@pytest.mark.parametrize("what", WRONG_CALLS)
def test_wrong_calls_are_one_sentence(what):
    call, sentence = WRONG_CALLS[what]
    with pytest.raises(assay.Error) as raised:
        call()
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value) and "_core" not in str(raised.value)


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


@needs("torch")
def test_tensors_without_numbers():
    import torch

    program = assay.compile(MODEL, threads=1)
    for bad in (torch.zeros(1, 1, 28, 28, device="meta"), torch.zeros(28, 28).to_sparse(), torch.zeros(1, 1, 28, 56)[..., ::2],
                torch.zeros(1, 1, 28, 28, dtype=torch.float64), torch.full((1, 1, 28, 28), float("nan"))):
        with pytest.raises(assay.Error) as raised:
            program(bad)
        assert "\n" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name in assay.__all__ if callable(getattr(assay, name))])
def test_no_function_takes_an_argument_of_no_name(name):
    value = getattr(assay, name)
    if isinstance(value, type) and (issubclass(value, Exception) or name in ("Model", "Layer", "Program", "Result", "Sequential")):
        pytest.skip("is not made by users")
    with pytest.raises((assay.Error, TypeError)) as raised:
        value(no_such_argument=1)
    assert "pybind" not in str(raised.value) and "incompatible" not in str(raised.value)
