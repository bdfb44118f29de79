"""What the comparisons with ONNX Runtime share: the same random inputs for both, and outputs of `assay run`."""
import pathlib
import re
import subprocess
import tempfile

import numpy

TYPES = {"tensor(float)": numpy.float32, "tensor(double)": numpy.float64, "tensor(int64)": numpy.int64,
         "tensor(int32)": numpy.int32, "tensor(bool)": numpy.bool_}


class AssayFailed(Exception):
    """Bears the last line that assay printed."""


def named_sizes(words):
    """NAME=SIZE words of --dim."""
    return {name: int(size) for name, size in (word.split("=") for word in words)}


def random_inputs(session, sizes):
    """The same ones in every run. An open dimension is 1 unless sizes has its name."""
    generator = numpy.random.default_rng(0)
    inputs = {}
    for one in session.get_inputs():
        shape = [size if isinstance(size, int) else sizes.get(size, 1) for size in one.shape]
        kind = TYPES[one.type]
        if kind in (numpy.float32, numpy.float64):
            inputs[one.name] = generator.standard_normal(shape).astype(kind)
        elif "length" in one.name and sizes:  # of sequences: as long as they are, as assay draws them
            inputs[one.name] = numpy.full(shape, max(sizes.values()), kind)
        elif shape == []:
            inputs[one.name] = numpy.array(16000, dtype=kind)  # a rate, a length
        else:
            inputs[one.name] = generator.integers(0, 2, shape).astype(kind)
    return inputs


def told_by(command):
    """What a command of assay prints."""
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode != 0:
        lines = result.stderr.strip().splitlines() or [f"exit status {result.returncode}"]
        raise AssayFailed(lines[-1])
    return result.stdout


def file_name(name):
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".npy"


def assay_outputs(assay, engine, model, inputs, names):
    """Of one run, in the order of the names."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        command = [assay, "run", str(model), "--engine", engine, "-o", str(folder / "out")]
        for i, (input_name, values) in enumerate(inputs.items()):
            numpy.save(folder / f"{i}.npy", values)
            command += ["--input", f"{input_name}={folder / f'{i}.npy'}"]
        told_by(command)
        return [numpy.load(folder / "out" / file_name(one)) for one in names]
