#!/usr/bin/env python3
"""The command line as people use it: exit codes, messages, streams. Usage: cli_test.py ASSAY"""
import csv
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from report_figures import contradictions

ASSAY = ""


def made_up_machine():
    """Ceilings for one thread and for all, so high that no layer passes them."""
    threads = sorted({1, len(os.sched_getaffinity(0))})
    peaks = [{"precision": precision, "instruction_set": "made up", "threads": count, "gflops": 1e4 * count,
              "spread": 0.01} for count in threads for precision in ("fp32", "int8")]
    bandwidths = [{"level": level, "access": access, "threads": count, "bytes": 1 << 20, "gbps": gbps * count,
                   "spread": 0.01} for count in threads
                  for level, gbps in (("L1", 4e3), ("L2", 2e3), ("DRAM", 1e3))
                  for access in ("read", "write", "copy", "triad")]
    return {"schema": "assay.machine/1", "measured_at": "2026-01-01T00:00:00Z",
            "topology": {"processor": "made up", "packages": 1, "cores": threads[-1], "processors": threads[-1],
                         "usable": list(range(threads[-1])), "numa_nodes": 1, "memory_bytes": 8 << 30,
                         "caches": [{"level": 1, "bytes": 32 << 10, "processors": 1},
                                    {"level": 2, "bytes": 1 << 20, "processors": 1}]},
            "surroundings": {"governor": None, "hypervisor": None, "container": False},
            "meters": [], "meter_notes": [],
            "counters": {"events": [], "available": False, "why_not": None},
            "peaks": peaks, "bandwidths": bandwidths, "measuring_seconds": 1.0, "doubts": []}


def use_made_up_machine():
    """Every assay that is started compares with made-up ceilings, instead of measuring some first."""
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    path = pathlib.Path(folder.name) / "machine.json"
    path.write_text(json.dumps(made_up_machine()))
    os.environ["ASSAY_MACHINE"] = str(path)


def setUpModule():
    use_made_up_machine()


def assay(*words, **options):
    return subprocess.run([ASSAY, *map(str, words)], capture_output=True, text=True, timeout=120,
                          **options)


class Case(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def expect(self, code, message, *words, **options):
        """One clear sentence on stderr, nothing on stdout, the right exit code."""
        result = assay(*words, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(message, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        return result

    def totals(self, *words):
        result = assay("count", "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)["totals"]

    def interrupted(self, is_late_enough, *words, **options):
        """Ctrl-C at a moment when the work is under way: later after a try that came too early, earlier after one that
        found the work finished, so that fast and slow machines are both interrupted in time."""
        too_early, too_late = 0, None
        for _ in range(16):
            seconds = max(1, 2 * too_early) if too_late is None else (too_early + too_late) / 2
            process = subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True, **options)
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            output, complaints = process.communicate(timeout=120)
            if process.returncode not in (130, -signal.SIGINT):
                too_late = seconds
            elif is_late_enough(process.returncode, output, complaints):
                break
            else:
                too_early = seconds
        return process.returncode, output, complaints


class Help(Case):
    def test_every_help_ends_with_examples(self):
        for words in ([], ["count"], ["profile"], ["run"], ["compare"], ["machine"],
                      ["devices"], ["fit"], ["stream"], ["train"], ["evaluate"], ["optimize"], ["zoo"],
                      ["zoo", "export"]):
            result = assay(*words, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Examples:", result.stdout)

    def test_no_line_is_longer_than_80_columns_and_values_have_types(self):
        for words in ([], ["count"], ["profile"], ["run"], ["compare"], ["machine"],
                      ["devices"], ["fit"], ["stream"], ["train"], ["evaluate"], ["optimize"], ["zoo"],
                      ["zoo", "export"], ["sweep"], ["sweep", "init"], ["sweep", "plan"], ["sweep", "worker"],
                      ["sweep", "merge"], ["sweep", "submit"]):
            text = assay(*words, "--help").stdout
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, (words, line))
            self.assertNotIn(" TEXT", text)

    def test_version(self):
        self.assertRegex(assay("--version").stdout, r"^assay \d+\.\d+\.\d+\n$")


class Usage(Case):
    def test_no_command(self):
        self.expect(2, "a command is missing")

    def test_mistyped_command(self):
        self.expect(2, "did you mean 'count'?", "cuont", "model.onnx")

    def test_unknown_flag(self):
        self.expect(2, "--frobnicate", "count", "zoo:mlp", "--frobnicate")
        self.expect(2, "did you mean '--depth'?", "count", "zoo:mlp", "--dept", "1")

    def test_options_without_a_value_or_given_twice(self):
        self.expect(2, "--depth needs a value", "count", "zoo:mlp", "--depth")
        self.expect(2, "--depth is given more than once", "count", "zoo:mlp", "--depth", "1", "--depth", "2")

    def test_names_that_are_nearly_right(self):
        self.expect(3, "did you mean 'zoo:resnet18'?", "count", "resnet18")
        self.expect(3, "raspberry-pi-4", "devices", "rpi4")

    def test_missing_model(self):
        self.expect(2, "MODEL", "count")

    def test_bad_numbers(self):
        for words in (["--batch", "0"], ["--batch", "many"], ["--top", "-1"], ["--dim", "batch"],
                      ["--dim", "batch=0"], ["--dim", "=3"], ["--input", "input=1xax3"],
                      ["--batch", "99999999999999999999999"], ["--input", "input=1x0"],
                      ["--precision", "fp12"], ["--sort", "mcas"]):
            result = assay("count", "zoo:mlp", *words)
            self.assertEqual(result.returncode, 2, (words, result.stderr))
            self.assertEqual(result.stdout, "")

    def test_messages_name_flags_not_the_library_s_arguments(self):
        self.expect(2, "error: --sort mcas: no such column", "count", "zoo:mlp", "--sort", "mcas")
        self.expect(3, "error: zoo:mlp: --input input=1: the input has", "count", "zoo:mlp", "--input", "input=1")
        self.expect(3, "'assay devices' lists them", "devices", "no-such-thing-anywhere")

    def test_json_and_csv_exclude_each_other(self):
        self.expect(2, "excludes", "count", "zoo:mlp", "--json", "--csv")


class BadInput(Case):
    def test_missing_file(self):
        self.expect(3, "No such file", "count", self.folder / "none.onnx")

    def test_directory(self):
        self.expect(3, "directory", "count", self.folder)

    def test_empty_file(self):
        path = self.folder / "empty.onnx"
        path.touch()
        self.expect(3, "empty", "count", path)

    def test_text_file(self):
        path = self.folder / "text.onnx"
        path.write_text("This is not a model.\n" * 20)
        self.expect(3, str(path), "count", path)

    def test_truncated_file(self):
        whole = self.folder / "whole.onnx"
        self.assertEqual(assay("zoo", "export", "lenet5", "-o", whole).returncode, 0)
        broken = self.folder / "broken.onnx"
        data = whole.read_bytes()
        for size in (1, 10, 100, 1000, len(data) // 2, len(data) - 1):
            broken.write_bytes(data[:size])
            self.expect(3, str(broken), "count", broken)

    def test_unknown_zoo_model(self):
        self.expect(3, "resnet50", "count", "zoo:resnet51")

    def test_unknown_dimension(self):
        self.expect(3, "sequence", "count", "zoo:mlp", "--dim", "sequence=8")

    def test_a_batch_beyond_reason(self):
        self.expect(3, "exceeds 64 bits", "count", "zoo:resnet18", "--batch", "100000000000000")

    def test_a_pipe_is_not_replaced(self):
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        self.expect(3, "not a regular file", "zoo", "export", "mlp", "-o", pipe)

    def test_unknown_input(self):
        self.expect(3, "nothing", "count", "zoo:mlp", "--input", "nothing=1x3")

    def test_a_shape_that_does_not_fit(self):
        self.expect(3, "channels", "count", "zoo:resnet18", "--input", "input=1x4x224x224")


class Output(Case):
    def test_counts_a_network(self):
        totals = self.totals("zoo:resnet18")
        self.assertEqual(totals["parameters"], 11689512)
        self.assertEqual(totals["macs"], 1814073344)
        self.assertEqual(totals["uncounted"], [])

    def test_batch_scales_macs_and_not_parameters(self):
        one, eight = self.totals("zoo:resnet18"), self.totals("zoo:resnet18", "--batch", "8")
        self.assertEqual(eight["macs"], 8 * one["macs"])
        self.assertEqual(eight["parameters"], one["parameters"])

    def test_a_flag_takes_one_word_wherever_the_model_stands(self):
        self.assertEqual(self.totals("--input", "input=3x784", "zoo:mlp"),
                         self.totals("zoo:mlp", "--batch", "3"))

    def test_precision_recounts_bytes(self):
        totals = self.totals("zoo:resnet18", "--precision", "int8")
        self.assertEqual(totals["parameter_bytes"], 11689512)

    def test_json_is_one_object_with_the_promised_keys(self):
        document = json.loads(assay("count", "zoo:lenet5", "--json").stdout)
        for key in ("schema", "model", "totals", "layers", "warnings"):
            self.assertIn(key, document)
        for key in ("parameters", "macs", "flops", "parameter_bytes", "activation_bytes",
                    "peak_activation_bytes", "statistics", "constants", "uncounted"):
            self.assertIn(key, document["totals"])
        for key in ("name", "op", "output_shape", "parameters", "macs", "flops", "bytes_read",
                    "bytes_written", "parameter_bytes", "activation_bytes"):
            self.assertIn(key, document["layers"][0])
        for key in ("parameters", "macs", "flops", "bytes_read", "activation_bytes"):
            self.assertEqual(sum(layer[key] for layer in document["layers"]),
                             document["totals"][key])

    def test_hash_is_the_files(self):
        import hashlib
        path = self.folder / "mlp.onnx"
        assay("zoo", "export", "mlp", "-o", path)
        document = json.loads(assay("count", path, "--json", "--hash").stdout)
        self.assertEqual(document["model"]["sha256"], hashlib.sha256(path.read_bytes()).hexdigest())

    def test_export_and_count_agree_with_the_built_in(self):
        for name in ("small_cnn", "mobilenet_v2", "encoder:layers=2", "lstm", "stream_mlp"):
            path = self.folder / "model.onnx"
            self.assertEqual(assay("zoo", "export", name, "-o", path).returncode, 0)
            self.assertEqual(self.totals(path), self.totals("zoo:" + name), name)

    def test_external_data_counts_the_same(self):
        path = self.folder / "model.onnx"
        assay("zoo", "export", "lenet5", "-o", path, "--external-data")
        self.assertTrue((self.folder / "model.onnx.data").exists())
        self.assertEqual(self.totals(path), self.totals("zoo:lenet5"))

    def test_full_disk_behind_stdout_is_a_failure(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([ASSAY, "count", "zoo:mlp"], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 4)
        self.assertIn("standard output", result.stderr)

    def test_a_folder_that_cannot_be_written_leaves_nothing(self):
        missing = self.folder / "no" / "such" / "folder.onnx"
        self.expect(4, "cannot be written", "zoo", "export", "mlp", "-o", missing)
        self.assertEqual(os.listdir(self.folder), [])

    def test_no_colour_and_no_bar_when_not_on_a_terminal(self):
        result = assay("count", "zoo:lenet5")
        self.assertNotIn("\033", result.stdout + result.stderr)

    def test_the_content_of_an_input_gives_its_shape(self):
        path = self.folder / "x.npy"
        write_npy(path, (3, 784))
        self.assertEqual(self.totals("zoo:mlp", "--input", f"input={path}"),
                         self.totals("zoo:mlp", "--batch", "3"))


def write_npy(path, shape, descr="<f4", size=4, fill=b"\0"):
    """A .npy file, version 1.0, without NumPy."""
    header = repr({"descr": descr, "fortran_order": False, "shape": tuple(shape)}).encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    count = 1
    for dim in shape:
        count *= dim
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
                     fill * (count * size))


QUICK = ("--runs", "3", "--warmup", "1", "--no-ceilings")


class Running(Case):
    """What profile and run have in common: bad input is refused in one clear sentence."""

    def both(self, code, message, *words):
        for command in ("profile", "run"):
            self.expect(code, message, command, *words)

    def test_numbers_that_make_no_sense(self):
        for words in (["--threads", "0"], ["--threads", "-1"], ["--threads", "100000"],
                      ["--threads", "many"], ["--batch", "0"], ["--batch", "-3"],
                      ["--engine", "steam"], ["--optimize-for", "fun"], ["--seed", "-1"],
                      ["--input", "input=0x784"], ["--dim", "batch=0"]):
            for command in ("profile", "run"):
                result = assay(command, "zoo:mlp", *words)
                self.assertEqual(result.returncode, 2, (command, words, result.stderr))
                self.assertEqual(result.stdout, "")
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_too_many_threads_says_how_many_there_may_be(self):
        self.both(2, "at most 4 for each", "zoo:mlp", "--threads", "100000")

    def test_missing_model(self):
        self.both(3, "No such file", self.folder / "none.onnx")

    def test_missing_content(self):
        self.both(3, "No such file", "zoo:mlp", "--input", f"input={self.folder / 'none.npy'}")

    def test_corrupt_content(self):
        path = self.folder / "x.npy"
        for data in (b"", b"\x93NUMPY", b"\x93NUMPY\x01\x00\xff\xff{}", b"garbage" * 100):
            path.write_bytes(data)
            self.both(3, str(path), "zoo:mlp", "--input", f"input={path}")

    def test_a_content_that_claims_more_than_it_has(self):
        path = self.folder / "x.npy"
        write_npy(path, (1, 784))
        path.write_bytes(path.read_bytes()[:-8])
        self.both(3, str(path), "zoo:mlp", "--input", f"input={path}")

    def test_content_of_the_wrong_type(self):
        path = self.folder / "x.npy"
        write_npy(path, (1, 784), "<i8", 8)
        self.both(3, "float32", "zoo:mlp", "--input", f"input={path}")

    def test_content_of_the_wrong_shape(self):
        path = self.folder / "x.npy"
        write_npy(path, (1, 783))
        self.both(3, "zoo:mlp", "zoo:mlp", "--input", f"input={path}")
        write_npy(path, (784,))
        self.both(3, "dimensions", "zoo:mlp", "--input", f"input={path}")

    def test_content_without_elements(self):
        path = self.folder / "x.npy"
        write_npy(path, (0, 784))
        self.both(3, "at least 1", "zoo:mlp", "--input", f"input={path}")

    def test_content_for_nobody(self):
        path = self.folder / "x.npy"
        write_npy(path, (1, 784))
        self.both(3, "nobody", "zoo:mlp", "--input", f"nobody={path}")

    def test_an_op_without_a_kernel_is_named(self):
        path = self.folder / "odd.onnx"
        path.write_bytes(model_with_op("Frobnicate"))
        self.both(3, "Frobnicate", path)

    def test_an_input_given_twice(self):
        self.both(2, "twice", "zoo:mlp", "--input", "input=1x784", "--input", "input=2x784")


def model_with_op(op):
    """An ONNX model of one node, written by hand: Y = op(X), float32[2]."""
    def field(number, data):
        data = data.encode() if isinstance(data, str) else data
        return bytes([number << 3 | 2, len(data)]) + data

    def number(field_number, value):
        return bytes([field_number << 3, value])

    def value(name):
        shape = field(2, field(1, number(1, 2)))
        return field(1, name) + field(2, field(1, number(1, 1) + shape))

    node = field(1, "X") + field(2, "Y") + field(3, "the_node") + field(4, op)
    graph = field(1, node) + field(2, "g") + field(11, value("X")) + field(12, value("Y"))
    return number(1, 8) + field(7, graph) + field(8, number(2, 17))


class Profiling(Case):
    def profile(self, *words):
        result = assay("profile", *words, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_the_promised_keys(self):
        document = self.profile("zoo:small_cnn", *QUICK)
        for key in ("schema", "model", "options", "start_up", "latency", "memory", "energy",
                    "machine", "advice", "totals", "layers", "steps", "warnings", "parameters",
                    "flops", "latency_ms", "throughput_sps", "gflops_per_second",
                    "memory_bandwidth_mbs", "computational_efficiency", "is_memory_bound",
                    "is_compute_bound", "bottleneck", "fell_back", "between_steps_ms"):
            self.assertIn(key, document)
        for key in ("median_ms", "mean_ms", "std_ms", "min_ms", "ci95_low_ms", "ci95_high_ms",
                    "samples_ms", "verdict"):
            self.assertIn(key, document["latency"])
        for key in ("parameter_memory_mb", "activation_memory_mb", "peak_memory_mb",
                    "memory_efficiency"):
            self.assertIn(key, document["memory"])
        for key in ("read_ms", "infer_ms", "compile_ms", "first_run_ms"):
            self.assertGreater(document["start_up"][key], 0)
        for key in ("name", "op", "output_shape", "parameters", "macs", "flops", "time_ms", "share",
                    "gflops_per_second", "gbytes_per_second", "bound", "percent_of_ceiling"):
            self.assertIn(key, document["layers"][0])
        self.assertEqual(len(document["latency"]["samples_ms"]), 3)
        self.assertEqual(document["parameters"], 20490)

    def test_layers_and_steps_balance(self):
        document = self.profile("zoo:small_cnn", *QUICK)
        whole = document["typical_run_ms"]
        layers = sum(layer["time_ms"] or 0 for layer in document["layers"])
        steps = sum(step["time_ms"] for step in document["steps"]) + document["between_steps_ms"]
        means = sum(step["mean_ms"] for step in document["steps"])
        means += document["between_steps_mean_ms"]
        self.assertAlmostEqual(layers, whole, delta=whole * 1e-4)
        self.assertAlmostEqual(steps, whole, delta=whole * 1e-4)
        self.assertAlmostEqual(means, document["latency"]["mean_ms"], delta=means * 1e-4)
        for key in ("parameters", "macs", "flops"):
            self.assertEqual(sum(layer[key] for layer in document["layers"]),
                             document["totals"][key])

    def test_threads_are_honoured(self):
        document = self.profile("zoo:mlp", "--threads", "1", *QUICK)
        self.assertEqual(document["options"]["threads"], 1)

    def test_the_batch_scales_work_and_throughput(self):
        document = self.profile("zoo:mlp", "--batch", "4", *QUICK)
        self.assertEqual(document["options"]["batch"], 4)
        self.assertAlmostEqual(document["throughput_sps"], 4000 / document["latency_ms"], places=3)

    def test_engines_and_their_former_names(self):
        for engine, name in (("cpu", "cpu"), ("onednn", "cpu"), ("reference", "reference")):
            document = self.profile("zoo:small_cnn", "--engine", engine, *QUICK)
            self.assertEqual(document["options"]["engine"], name)

    def test_tables(self):
        for words, title in ((["--ops"], "layers"), (["--steps"], "algorithm"), ([], "layer")):
            result = assay("profile", "zoo:small_cnn", *QUICK, *words)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn(title, result.stdout)
            self.assertIn("(between steps)", result.stdout)
            self.assertIn("start-up", result.stdout)

    def test_csv_has_a_row_for_each_layer(self):
        rows = list(csv.DictReader(
            assay("profile", "zoo:mlp", "--csv", *QUICK).stdout.splitlines()))
        self.assertEqual([row["name"] for row in rows][:5],
                         ["fc1", "relu1", "fc2", "relu2", "fc3"])
        self.assertEqual(rows[-1]["name"], "(between steps)")

    def test_usage(self):
        for words in (["--top", "-1"], ["--sort", "speed"], ["--runs", "0"], ["--warmup", "-1"],
                      ["--target", "0"], ["--max-time", "-1"], ["--min-time", "nan"],
                      ["--min-time", "5", "--max-time", "1"], ["--json", "--csv"],
                      ["--ops", "--steps"]):
            result = assay("profile", "zoo:mlp", *words)
            self.assertEqual(result.returncode, 2, (words, result.stderr))
            self.assertEqual(result.stdout, "")

    def test_trace_holds_real_runs(self):
        path = self.folder / "trace.json"
        self.assertEqual(assay("profile", "zoo:mlp", "--trace", path, *QUICK).returncode, 0)
        events = [event for event in json.loads(path.read_text())["traceEvents"]
                  if event["ph"] == "X"]
        runs = [event for event in events if event["cat"] == "run"]
        self.assertEqual(len(runs), 5)
        for event in events:
            for key in ("name", "cat", "ts", "dur", "pid", "tid"):
                self.assertIn(key, event)
        self.assertGreater(len({event["dur"] for event in runs}), 1)

    def test_a_folder_of_results(self):
        folder = self.folder / "a" / "b"
        self.assertEqual(assay("profile", "zoo:mlp", "--out", folder, *QUICK).returncode, 0)
        self.assertEqual(sorted(os.listdir(folder)), ["layer_times.png", "layer_times.svg", "layers.csv", "memory_schedule.png",
                                                      "memory_schedule.svg", "profile.json", "trace.json"])
        json.loads((folder / "profile.json").read_text())

    def test_a_step_of_training(self):
        folder = self.folder / "training"
        document = self.profile("zoo:small_cnn", "--train", "--batch", "4", "--loss", "cross-entropy",
                                "--optimizer", "adam", "--max-mb", "8", "--out", folder, *QUICK)
        self.assertEqual(document["schema"], "assay.profile-train/2")
        for key in ("forward_flops", "loss_flops", "forward_latency_ms", "forward_memory_mb",
                    "backward_flops", "backward_flops_rule",
                    "backward_latency_ms", "gradient_memory_mb", "total_flops", "total_latency_ms",
                    "total_memory_mb", "total_gflops_per_second", "optimizer_memory_estimates",
                    "memory_efficiency", "bottleneck"):
            self.assertIn(key, document)
        self.assertEqual(document["fell_back"], [])
        self.assertEqual([phase["phase"] for phase in document["phases"]],
                         ["forward", "backward", "update"])
        self.assertLessEqual(document["largest_batch"]["step_bytes"], 8 << 20)
        self.assertEqual(sorted(os.listdir(folder)),
                         ["layers.csv", "memory.png", "memory.svg", "profile.json"])

    def test_training_that_repeats_pieces_and_adds_up_parts(self):
        document = self.profile("zoo:lenet5", "--train", "--recompute", "3", "--accumulate", "2", *QUICK)
        self.assertIn("recompute", [phase["phase"] for phase in document["phases"]])

    def test_training_a_model_without_parameters_has_the_gradient_of_its_input(self):
        path = self.folder / "relu.onnx"
        path.write_bytes(model_with_op("Relu"))
        document = self.profile(path, "--train", *QUICK)
        self.assertEqual(document["parameters"], 0)
        self.assertEqual(document["forward_flops"], 2)
        self.assertGreaterEqual(document["backward_flops"], 2)
        self.assertIn("gradient of its input", "".join(document["warnings"]))

    def test_usage_of_training(self):
        self.expect(2, "add --train", "profile", "zoo:mlp", "--optimizer", "adam")
        self.expect(2, "choose from", "profile", "zoo:mlp", "--train", "--optimizer", "adamm")
        self.expect(2, "choose from", "profile", "zoo:mlp", "--train", "--loss", "hinge")
        self.expect(2, "cannot be combined with --train", "profile", "zoo:mlp", "--train", "--ops")
        self.expect(2, "--accumulate", "profile", "zoo:mlp", "--train", "--accumulate", "0")
        self.expect(3, "even with activations recomputed", "profile", "zoo:mlp", "--train",
                    "--memory-budget", "0.1")

    def test_a_trace_that_cannot_be_written_is_told_before_anything_runs(self):
        missing = self.folder / "no" / "such" / "trace.json"
        self.expect(4, "cannot be written", "profile", "zoo:mlp", "--trace", missing)
        self.expect(3, "directory", "profile", "zoo:mlp", "--trace", self.folder)

    def test_full_disk_behind_stdout_is_a_failure(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([ASSAY, "profile", "zoo:mlp", "--json", *QUICK], stdout=full,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 4)
        self.assertIn("standard output", result.stderr)

    def test_strict_fails_when_a_figure_is_not_what_it_seems(self):
        # Three samples are too few for an interval, so the measurement is NOISY.
        result = assay("profile", "zoo:mlp", "--strict", *QUICK)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("--strict", result.stderr)

    def test_ctrl_c_reports_what_was_measured(self):
        code, output, complaints = self.interrupted(
            lambda code, output, _: output != "", "profile", "zoo:mlp", "--json", "--min-time", "100", "--max-time", "100",
            "--no-ceilings")
        self.assertEqual(code, 130, complaints)
        document = json.loads(output)
        self.assertTrue(document["interrupted"])
        self.assertGreater(len(document["latency"]["samples_ms"]), 0)
        self.assertIn("interrupted", complaints)

    def test_ctrl_c_ends_a_comparison_and_its_child(self):
        code, output, complaints = self.interrupted(
            lambda code, output, _: code != -signal.SIGINT, "compare", "zoo:mlp", "zoo:mlp", "--max-time", "1000")
        self.assertEqual(code, 130, complaints)
        self.assertIn("interrupted", complaints)

    def test_a_step_of_decoding(self):
        decoder = "zoo:gpt2_small_decode:layers=1"
        result = assay("profile", decoder, "--decode", "4", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"Decoding: [0-9.]+ ms per token after 4 others, [0-9,.e+]+ tokens/s")
        for words in (["zoo:mlp", "--decode", "4"], [decoder, "--decode", "4", "--capacity", "4"],
                      [decoder, "--capacity", "8"], [decoder, "--decode", "4", "--train"]):
            result = assay("profile", *words, *QUICK)
            self.assertIn(result.returncode, (2, 3), result.stderr)
            self.assertRegex(result.stderr, "--decode|--capacity|past")


class RunOnce(Case):
    def test_outputs_are_written_and_agree_with_themselves(self):
        first = assay("run", "zoo:small_cnn", "-o", self.folder / "out")
        self.assertEqual(first.returncode, 0, first.stderr)
        self.assertEqual(len(os.listdir(self.folder / "out")), 1)
        again = assay("run", "zoo:small_cnn", "--check", self.folder / "out", "--json")
        self.assertEqual(again.returncode, 0, again.stderr)
        check = json.loads(again.stdout)["check"]["outputs"][0]
        self.assertTrue(check["agrees"])
        self.assertEqual(check["elements_outside"], 0)

    def test_engines_agree(self):
        assay("run", "zoo:small_cnn", "-o", self.folder, "--engine", "reference")
        result = assay("run", "zoo:small_cnn", "--check", self.folder)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_another_seed_differs(self):
        assay("run", "zoo:small_cnn", "-o", self.folder)
        result = assay("run", "zoo:small_cnn", "--check", self.folder, "--seed", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("DIFFERS", result.stdout)
        self.assertIn("differs from", result.stderr)

    def test_another_shape_differs(self):
        assay("run", "zoo:small_cnn", "-o", self.folder)
        result = assay("run", "zoo:small_cnn", "--check", self.folder, "--batch", "2")
        self.assertEqual(result.returncode, 1)
        self.assertIn("shape", result.stdout)

    def test_nothing_to_check_against(self):
        self.expect(3, "holds neither", "run", "zoo:small_cnn", "--check", self.folder)

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").touch()
        self.expect(3, "cannot be made", "run", "zoo:mlp", "-o", self.folder / "file" / "out")

    def test_recorded_test_data(self):
        folder = pathlib.Path("/usr/share/libonnx-testdata/data/node/test_relu")
        if not folder.exists():
            self.skipTest("libonnx-testdata is not installed")
        data = folder / "test_data_set_0"
        result = assay("run", folder / "model.onnx", "--input", f"x={data / 'input_0.pb'}",
                       "--check", data)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("output_0.pb", result.stdout)

    def test_names_of_outputs_become_harmless_file_names(self):
        path = self.folder / "odd.onnx"
        data = model_with_op("Relu")
        path.write_bytes(data.replace(b"Y", b"/"))  # the output is called "/"
        result = assay("run", path, "-o", self.folder / "out")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(os.listdir(self.folder / "out"), ["_.npy"])


class MachineCeilings(Case):
    """The one place where ceilings are measured, each time quickly."""

    @classmethod
    def setUpClass(cls):
        cls.environment = {key: value for key, value in os.environ.items() if key != "ASSAY_MACHINE"}
        cls.unused = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.unused.cleanup)
        result = assay("machine", "--quick", "--json",
                       env={**cls.environment, "XDG_CACHE_HOME": cls.unused.name})
        cls.quick = json.loads(result.stdout)

    def setUp(self):
        super().setUp()
        self.environment = {**self.environment, "XDG_CACHE_HOME": str(self.folder)}

    def machine(self, *words):
        result = assay("machine", "--json", *words, env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def refreshed(self):
        return self.machine("--refresh", "--max-time", "0.5")

    def first_note(self, *words):
        """What is said on stderr before ceilings are measured, which is then interrupted."""
        process = subprocess.Popen([ASSAY, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env=self.environment)
        note = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        self.assertEqual((process.returncode, output), (130, ""))
        return note

    def test_quick_ones_are_not_cached(self):
        self.assertEqual(self.quick["schema"], "assay.machine/1")
        self.assertTrue(all(peak["gflops"] > 0 for peak in self.quick["peaks"]))
        self.assertTrue(all(one["spread"] >= 0 for one in self.quick["peaks"] + self.quick["bandwidths"]))
        accesses = {one["access"] for one in self.quick["bandwidths"]}
        self.assertLessEqual({"read", "write", "triad"}, accesses)
        self.assertFalse([access for access in accesses if access.startswith("copy")])
        self.assertEqual(os.listdir(self.unused.name), [])

    def test_names_meters_and_counters_or_says_why_there_are_none(self):
        self.assertTrue(self.quick["meters"] or self.quick["meter_notes"])
        counters = self.quick["counters"]
        self.assertTrue(counters["available"] or counters["why_not"])

    def keep(self, doubts):
        """Ceilings measured quickly stand in for those that would take longer."""
        quick = {**self.quick, "measured_at": "2026-01-01T00:00:00Z", "doubts": doubts}
        file = self.folder / "assay" / kept_under(quick["fingerprint"])
        file.parent.mkdir()
        file.write_text(json.dumps(quick))
        return quick, file

    def test_are_cached_until_asked_for_again(self):
        first, file = self.keep(doubts=["other programs used 60 % of all processor time"])
        self.assertEqual(self.machine()["peaks"], first["peaks"])
        again = self.refreshed()
        self.assertNotEqual(again["peaks"], first["peaks"])
        self.assertEqual(json.loads(file.read_text())["peaks"], again["peaks"])

    def test_are_measured_again_where_the_file_is_damaged(self):
        _, file = self.keep(doubts=[])
        file.write_text(file.read_text()[:-20])
        self.assertIn("measuring this machine's ceilings", self.first_note("machine"))

    def test_measuring_is_announced_with_its_reason_its_time_and_how_to_skip_it(self):
        note = self.first_note("profile", "zoo:mlp")
        for words in ("note: measuring", "layers are compared with", "about 12 s", "once", "--no-ceilings"):
            self.assertIn(words, note)
        self.assertIn("ASSAY_MACHINE", self.first_note("stream", "zoo:mlp", "--interval-ms", "5"))

    def test_measuring_can_be_skipped(self):
        result = assay("profile", "zoo:mlp", *QUICK, env=self.environment)
        self.assertEqual(result.returncode, 0)
        self.assertNotIn("measuring", result.stderr)

    def test_those_measured_beside_other_work_do_not_replace_better_ones(self):
        first, file = self.keep(doubts=[])
        half = (os.cpu_count() + 1) // 2
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(half)]
        try:
            self.assertTrue(self.refreshed()["doubts"])
        finally:
            for other in others:
                other.kill()
                other.wait()
        self.assertEqual(json.loads(file.read_text()), first)

    def test_a_folder_that_cannot_be_written_is_a_warning(self):
        self.environment["XDG_CACHE_HOME"] = "/proc/nowhere"
        result = assay("machine", "--refresh", "--max-time", "0.5", env=self.environment)
        self.assertEqual(result.returncode, 0)
        self.assertIn("ceilings are not cached", result.stderr)

    def test_a_named_file_is_used_instead(self):
        path = self.folder / "machine.json"
        path.write_text(json.dumps(made_up_machine()))
        self.environment["ASSAY_MACHINE"] = str(path)
        self.assertEqual(self.machine()["peaks"], made_up_machine()["peaks"])
        self.assertIn("ceilings of another machine (made up)",
                      assay("machine", env=self.environment).stderr)
        path.write_text("{}")
        self.expect(3, f"{path}: 'schema' is missing", "machine", env=self.environment)
        path.write_text("")
        self.expect(3, "is empty; 'assay machine --json > FILE' writes one", "machine", env=self.environment)
        self.environment["ASSAY_MACHINE"] = str(self.folder / "none.json")
        self.expect(3, "cannot be read", "profile", "zoo:mlp", env=self.environment)

    def test_usage(self):
        self.expect(2, "requires --refresh", "machine", "--max-time", "5")
        self.expect(2, "--max-time", "machine", "--refresh", "--max-time", "0")


def kept_under(fingerprint, kind="machine"):
    """The name under which something is kept: FNV-1a of the machine's fingerprint."""
    number = 0xcbf29ce484222325
    for byte in fingerprint.encode():
        number = (number ^ byte) * 0x100000001b3 % (1 << 64)
    return f"{kind}-{number:016x}.json"


class CacheCase(Case):
    @classmethod
    def setUpClass(cls):
        """A cache folder of its own, and the fingerprint that files in it are named by."""
        holder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(holder.cleanup)
        cls.environment = {**os.environ, "XDG_CACHE_HOME": holder.name}
        cls.cache = pathlib.Path(holder.name) / "assay"
        cls.cache.mkdir()
        cls.machine = json.loads(assay("machine", "--json", env=cls.environment).stdout)
        cls.fingerprint = cls.machine["fingerprint"]


class CalibratedCase(CacheCase):
    @classmethod
    def setUpClass(cls):
        """A made-up calibration: everything runs at half of its roofline."""
        super().setUpClass()
        sample = {"family": "a", "class": "product", "flops": 1e6, "weight_bytes": 1e6,
                  "activation_bytes": 1e4, "roof_ms": 0.5, "time_ms": 1}
        held_out = {"model": "a", "measured_ms": 10, "estimated_ms": 11, "bound_ms": 5}
        ceilings = cls.machine["measured_at"]
        threads = len(cls.machine["topology"]["usable"])
        calibration = {"schema": "assay.calibration/2", "measured_at": "2026-01-01T00:00:00Z",
                       "threads": threads, "ceilings_of": ceilings,
                       "step_overhead_ms": 0.001, "networks": 1, "disturbed": [], "samples": [sample],
                       "held_out": [held_out]}
        (cls.cache / kept_under(cls.fingerprint, "calibration")).write_text(json.dumps(calibration))


class Fitting(CalibratedCase):
    def fit(self, *words, code=0):
        result = assay("fit", *words, env=self.environment)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def test_every_device_has_a_verdict_and_a_reason(self):
        document = json.loads(self.fit("zoo:small_cnn", "--json").stdout)
        self.assertEqual(document["schema"], "assay.fit/1")
        self.assertGreater(len(document["devices"]), 25)
        for device in document["devices"]:
            self.assertIn(device["verdict"], ("fits", "tight", "does not fit", "unknown"))
            self.assertTrue(device["reason"])
            if device["estimate_ms"] is not None:
                self.assertLessEqual(device["bound_ms"], device["estimate_ms"])
                self.assertLessEqual(device["estimate_low_ms"], device["estimate_ms"])
                self.assertLessEqual(device["estimate_ms"], device["estimate_high_ms"])

    def test_a_stream_takes_as_long_as_fit_estimates(self):
        [fit] = json.loads(self.fit("zoo:mlp", "--device", "this-machine", "--json").stdout)["devices"]
        result = assay("stream", "zoo:mlp", "--interval-ms", "1000", "--json", env=self.environment)
        stream = json.loads(result.stdout)
        self.assertEqual(stream["forecast"]["basis"], "calibration")
        self.assertEqual(stream["forecast"]["verdict"], "KEEPS UP")
        self.assertAlmostEqual(stream["totals"]["latency_ms"] / fit["estimate_ms"], 1, places=6)

    def test_a_calibration_goes_with_its_ceilings(self):
        file = self.cache / kept_under(self.fingerprint, "calibration")
        text = file.read_text()
        self.addCleanup(file.write_text, text)
        file.write_text(json.dumps({**json.loads(text), "ceilings_of": "2025-01-01T00:00:00Z"}))
        code, output, complaints = self.interrupted(
            lambda code, output, _: code != -signal.SIGINT, "fit", "--validate", env=self.environment)
        self.assertEqual((code, output), (130, ""), complaints)

    def test_exit_code_1_where_nothing_fits(self):
        self.fit("zoo:vgg16", "--kind", "microcontroller", code=1)
        self.fit("zoo:mlp", "--device", "this-machine", "--max-ms", "1000")
        self.fit("zoo:mlp", "--device", "this-machine", "--max-ms", "0.000001", code=1)
        self.fit("zoo:mlp", "--device", "this-machine", "--max-mb", "0.001", code=1)
        self.fit("zoo:mlp", "--device", "jetson-nano", "--max-watts", "0.5", code=1)

    def test_mistakes_are_found_before_anything_is_measured(self):
        nothing_cached = {**self.environment, "XDG_CACHE_HOME": str(self.folder)}
        for message, words in (("raspberry-pi-4", ["zoo:mlp", "--device", "rpi4"]), ("zoo:mlp", ["mlp"]),
                               ("dim", ["zoo:mlp", "--dim", "rows=2"])):
            self.expect(3, message, "fit", *words, env=nothing_cached)

    def test_lower_precision_needs_less(self):
        need = [json.loads(self.fit("zoo:mlp", "--device", "jetson-nano", "--precision", precision, "--json").stdout)
                ["weight_bytes"] for precision in ("fp32", "fp16", "int8")]
        self.assertEqual(need[0], 2 * need[1])
        self.assertEqual(need[0], 4 * need[2])

    def test_csv_has_a_line_for_each_device(self):
        lines = self.fit("zoo:mlp", "--device", "jetson-nano", "--device", "t4", "--csv").stdout.splitlines()
        self.assertEqual(len(lines), 3)
        self.assertTrue(lines[0].startswith("id,name,bound_ms,estimate_ms"))

    def test_a_table_of_what_was_held_out(self):
        self.assertIn("Median error 10.0 %", self.fit("--validate").stdout)

    def test_what_cannot_be_is_refused(self):
        self.fit(code=2)
        self.fit("zoo:mlp", "--max-ms", "0", code=2)
        self.fit("zoo:mlp", "--max-ms", "soon", code=2)
        self.fit("zoo:mlp", "--precision", "int7", code=2)
        self.fit("zoo:mlp", "--kind", "toaster", code=2)
        self.assertIn("jetson-nano", self.fit("zoo:mlp", "--device", "jetson-nan", code=3).stderr)
        self.fit("nobody.onnx", code=3)


class Judging(CacheCase):
    def profile(self, *words):
        result = assay("profile", *words, "--runs", "5", "--warmup", "2", env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_no_figure_of_the_report_contradicts_another(self):
        for model in ("zoo:lenet5", "zoo:mlp"):
            with tempfile.TemporaryDirectory() as folder:
                result = assay("profile", model, "--threads", "1", "--top", "0", "--runs", "9", "--warmup", "1",
                               "--out", folder, env=self.environment)
                self.assertEqual(result.returncode, 0, result.stderr)
                document = json.loads((pathlib.Path(folder) / "profile.json").read_text())
            self.assertEqual(contradictions(result.stdout, result.stderr, document), [], result.stdout)

    def test_one_sample_has_no_interval(self):
        result = assay("profile", "zoo:mlp", "--runs", "1", "--json", env=self.environment)
        latency = json.loads(result.stdout)["latency"]
        self.assertIsNone(latency["ci95_low_ms"])
        self.assertIsNone(latency["ci95_high_ms"])
        self.assertIn("no 95 % interval", assay("profile", "zoo:mlp", "--runs", "1", env=self.environment).stdout)

    def test_layers_are_compared_with_measured_ceilings(self):
        document = json.loads(self.profile("zoo:small_cnn", "--json"))
        self.assertEqual(document["machine"]["provenance"], "measured")
        self.assertEqual(document["machine"]["levels"][-1]["level"], "DRAM")
        self.assertIn(document["bottleneck"], ("memory", "compute"))
        for layer in document["layers"]:
            if layer["bound"]:
                self.assertIn(layer["bound"], ("compute", "memory", "overhead"))
                self.assertEqual(layer["bound"] == "memory", layer["bound_level"] is not None)
                self.assertGreater(layer["percent_of_ceiling"], 0)
                self.assertGreaterEqual(layer["headroom_ms"], 0)

    def test_ceilings_measured_beside_other_work_come_with_a_warning(self):
        path = self.folder / "machine.json"
        path.write_text(json.dumps({**made_up_machine(), "doubts": ["other programs used 60 % of all processor time"]}))
        result = assay("profile", "zoo:mlp", "--runs", "5", "--warmup", "2", "--explain",
                       env={**self.environment, "ASSAY_MACHINE": str(path)})
        self.assertIn("other programs used 60 %", result.stderr)
        self.assertIn("assay machine --refresh", result.stderr)

    def test_a_roofline_and_a_summary_below_the_table(self):
        text = self.profile("zoo:small_cnn", "--roofline", "--hardware")
        self.assertIn("FLOP per byte", text)
        self.assertIn("Raspberry Pi 4", text)
        self.assertIn("this machine", text)

    def test_the_summary_for_programs(self):
        words = ("zoo:small_cnn", "--hardware", "--memory-bandwidth-gbps", "12.8", "--peak-compute-gmacs", "64")
        hardware = json.loads(self.profile(*words, "--json"))["hardware"]
        self.assertEqual(hardware["configured_memory_bandwidth_gbps"], 12.8)
        self.assertEqual(hardware["configured_peak_compute_gmacs"], 64)
        self.assertEqual(hardware["roofline_knee_macs_per_byte"], 64 / 12.8)
        self.assertIn("one thread is assumed", hardware["limits"])
        names = [row["device"] for row in hardware["devices"]]
        catalogue = json.loads(assay("devices", "--json").stdout)["devices"]
        with_bandwidth = [device["name"] for device in catalogue if device["memory_bandwidth_gbps"]]
        self.assertEqual(sorted(names), sorted(["Raspberry Pi 4", "Jetson Nano", "desktop", "this machine"] +
                                               with_bandwidth))
        rows = list(csv.DictReader(self.profile(*words, "--csv").splitlines()))
        self.assertEqual([row["device"] for row in rows], names)
        self.assertEqual(float(rows[-1]["configured_memory_bandwidth_gbps"]), 12.8)
        self.assertNotIn("hardware", json.loads(self.profile("zoo:small_cnn", "--json")))

    def test_a_given_bandwidth_needs_no_ceilings(self):
        text = self.profile("zoo:small_cnn", "--no-ceilings", "--hardware", "--memory-bandwidth-gbps", "4")
        self.assertIn("4.00 GB/s", text)
        self.expect(2, "--hardware needs a bandwidth", "profile", "zoo:mlp", "--no-ceilings", "--hardware")
        self.expect(2, "need --hardware", "profile", "zoo:mlp", "--memory-bandwidth-gbps", "4")
        self.expect(2, "--peak-compute-gmacs", "profile", "zoo:mlp", "--hardware", "--peak-compute-gmacs", "0")

    def test_energy_is_a_proxy_where_watts_are_given(self):
        document = json.loads(self.profile("zoo:mlp", "--power-watts", "5", "--json"))
        joules = 5 * document["latency_ms"] / 1000
        self.assertAlmostEqual(document["energy"]["energy_proxy_j"], joules)
        self.assertIn("proxy", document["energy"]["energy_note"])

    def test_without_a_meter_or_counters_it_says_why(self):
        document = json.loads(self.profile("zoo:mlp", "--energy", "--counters", "--json"))
        energy = document["energy"]
        self.assertTrue(energy["gross_j_per_run"] is not None or energy["energy_note"])
        has_cycles = any(step.get("counters", {}).get("cycles") is not None for step in document["steps"])
        self.assertTrue(has_cycles or document["uncounted_events"])

    def test_a_folder_of_results_holds_the_pictures(self):
        self.profile("zoo:small_cnn", "--out", str(self.folder / "results"))
        names = {path.name for path in (self.folder / "results").iterdir()}
        self.assertEqual(names, {"profile.json", "layers.csv", "trace.json", "roofline.png", "roofline.svg",
                                 "layer_times.png", "layer_times.svg", "memory_schedule.png", "memory_schedule.svg",
                                 "layerwise_breakdown.csv", "hardware_summary.csv",
                                 "layerwise_activation_memory.png", "layerwise_activation_memory.svg",
                                 "layerwise_macs.png", "layerwise_macs.svg"})


class Streaming(CacheCase):
    def run_stream(self, *words):
        result = assay("stream", *words, env=self.environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def stream(self, *words):
        return json.loads(self.run_stream(*words, "--json"))

    def test_the_promised_keys(self):
        document = self.stream("--features", "64", "--batch", "1", "--interval-ms", "10")
        self.assertEqual(document["schema"], "assay.stream/1")
        self.assertEqual(document["provenance"], "estimated")
        rows = document["operator_profile"]
        self.assertEqual([row["operator"] for row in rows],
                         ["input_normalization", "linear_projection", "activation",
                          "decision_head"])
        for row in rows:
            self.assertGreater(row["latency_ms"], 0)
            self.assertGreater(row["memory_kb"], 0)
        self.assertEqual(rows[1]["memory_kb"], 4 * (64 + 64 * 64 + 64 + 64) / 1024)
        totals = document["totals"]
        self.assertAlmostEqual(totals["memory_kb"], sum(row["memory_kb"] for row in rows))
        self.assertAlmostEqual(totals["latency_ms"], sum(row["latency_ms"] for row in rows))
        self.assertAlmostEqual(totals["stream_utilization"], totals["latency_ms"] / 10)
        precisions = document["precision_tradeoffs"]
        self.assertEqual(precisions["fp32_memory_kb"], totals["memory_kb"])
        self.assertEqual(precisions["fp16_memory_kb"], totals["memory_kb"] / 2)
        self.assertEqual(precisions["int8_memory_kb"], totals["memory_kb"] / 4)
        for key in ("cache_sensitivity", "bottleneck"):
            self.assertTrue(document["edge_constraints"][key].endswith("."))
        self.assertIsNone(document["measured"])
        self.assertEqual(document["forecast"]["basis"], "lower bound")
        self.assertEqual(document["forecast"]["verdict"], "UNKNOWN")
        self.assertIn("'assay fit --validate'", document["forecast"]["reason"])

    def test_finding_the_interval_needs_none(self):
        document = self.stream("zoo:mlp", "--find-interval", "--threads", "1")
        self.assertEqual(document["options"]["stream_interval_ms"], document["shortest_interval"]["interval_ms"])
        self.expect(2, "--interval-ms is required with --measured", "stream", "zoo:mlp", "--find-interval",
                    "--measured")

    def test_sentences_differ_with_the_size(self):
        small = self.stream("--features", "8", "--interval-ms", "10")["edge_constraints"]
        large = self.stream("--features", "16384", "--interval-ms", "10")["edge_constraints"]
        self.assertNotEqual(small, large)
        self.assertIn("starting 4 steps", small["bottleneck"])
        self.assertIn("linear_projection", large["bottleneck"])

    def test_any_model_and_a_table_that_fits(self):
        for words in (["--features", "16", "--width", "64"], ["zoo:small_cnn", "--batch", "4"],
                      ["zoo:mobilenet_v2"]):
            table = self.run_stream(*words, "--interval-ms", "33")
            self.assertLessEqual(max(map(len, table.splitlines())), 80)
            self.assertIn("bottleneck", table)

    def test_csv_and_a_folder_of_results(self):
        folder = self.folder / "a" / "b"
        text = self.run_stream("--features", "8", "--interval-ms", "10", "--csv", "--out", folder)
        rows = list(csv.DictReader(text.splitlines()))
        self.assertEqual(list(rows[0]), ["operator", "latency_ms", "memory_kb"])
        self.assertEqual(len(rows), 4)
        self.assertEqual(sorted(os.listdir(folder)),
                         ["hardware_totals.csv", "operator_profile.csv", "stream.json"])
        self.assertEqual((folder / "operator_profile.csv").read_text(), text)
        [totals] = csv.DictReader((folder / "hardware_totals.csv").read_text().splitlines())
        for key in ("latency_ms", "memory_kb", "estimated_bandwidth_mb_s", "stream_utilization"):
            self.assertGreater(float(totals[key]), 0)

    def test_measured(self):
        measured = self.stream("zoo:mlp", "--interval-ms", "5", "--measured", "--duration", "0.5",
                               "--deadline-ms", "4")["measured"]
        self.assertEqual(measured["arrived"], 100)
        self.assertEqual(measured["served"] + measured["unserved"], 100)
        self.assertEqual(measured["deadline_ms"], 4)
        self.assertIn(measured["verdict"], ("SUSTAINABLE", "OVERLOADED", "UNDECIDED"))
        for key in ("service", "queueing", "response"):
            self.assertIn("median_ms", measured[key])
            self.assertNotIn("p99_ms", measured[key])

    def test_more_than_it_can_do_is_overload(self):
        measured = self.stream("zoo:lenet5", "--engine", "reference", "--interval-ms", "0.001",
                               "--measured", "--duration", "0.1")["measured"]
        self.assertEqual(measured["verdict"], "OVERLOADED")
        self.assertEqual(measured["arrived"], 100_000)
        self.assertGreater(measured["missed_share"], 0.9)

    def test_a_batch_against_its_samples_one_by_one(self):
        deployment = self.stream("zoo:mlp:batch=4", "--interval-ms", "5",
                                 "--deployment")["deployment"]
        self.assertEqual(deployment["batch"], 4)
        for key in ("batch_latency_ms", "batch_throughput_sps", "stream_avg_latency_ms",
                    "stream_throughput_sps"):
            self.assertGreater(deployment[key], 0)

    def test_bad_values_are_refused_by_flag_value_and_range(self):
        for words, message in ((["--interval-ms", "0"], "--interval-ms 0: expected a number from"),
                               (["--interval-ms", "-3"], "from 0.001 to 86400000"),
                               (["--interval-ms", "nan"], "--interval-ms nan"),
                               (["--interval-ms", "1e12"], "--interval-ms 1e12"),
                               ([], "--interval-ms is required")):
            self.expect(2, message, "stream", "--features", "8", *words)
        for words, message in ((["--features", "0"], "--features 0: expected a whole number from 1"),
                               (["--features", "99999"], "from 1 to 16384"),
                               (["--features", "8", "--batch", "0"], "--batch 0"),
                               (["--features", "8", "--width", "x"], "--width x"),
                               (["--features", "8", "--dim", "a=1"], "go with a MODEL"),
                               ([], "no model"),
                               (["zoo:mlp", "--features", "8"], "excludes"),
                               (["zoo:mlp", "--width", "8"], "--features"),
                               (["zoo:mlp", "--duration", "3"], "--measured"),
                               (["zoo:mlp", "--measured", "--duration", "0"], "--duration 0"),
                               (["zoo:mlp", "--deadline-ms", "3"], "--measured")):
            self.expect(2, message, "stream", *words, "--interval-ms", "10")
        self.expect(3, "No such file", "stream", self.folder / "none.onnx", "--interval-ms", "10")

    def test_ctrl_c_reports_what_was_measured(self):
        code, output, complaints = self.interrupted(
            lambda code, output, _: output != "", "stream", "zoo:mlp", "--interval-ms", "20",
            "--measured", "--duration", "300", "--json", env=self.environment)
        self.assertEqual(code, 130, complaints)
        self.assertIn("interrupted", complaints)
        measured = json.loads(output)["measured"]
        self.assertTrue(measured["interrupted"])
        self.assertLess(measured["arrived"], 15_000)


class Devices(Case):
    def devices(self, *words):
        result = assay("devices", "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def own(self, name, **fields):
        figure = {"value": 9.5, "source": "STREAM here", "kind": "measured"}
        device = {"id": "my-board", "name": "My board", "kind": "single-board",
                  "memory_bandwidth_gbps": figure, **fields}
        path = self.folder / name
        path.write_text(json.dumps({"schema": "assay.devices/1", "devices": [device]}))
        return path

    def test_the_table_fits_a_terminal_and_names_every_device(self):
        table = assay("devices").stdout
        self.assertLessEqual(max(map(len, table.splitlines())), 80)
        for device in self.devices()["devices"]:
            self.assertIn(f" {device['id']} ", table)

    def test_one_device_in_full(self):
        text = assay("devices", "Raspberry-Pi-4-4GB").stdout
        for words in ("5.56 GB/s", "12.8 GB/s", "4.30 GB/s", "measured", "product brief"):
            self.assertIn(words, text)

    def test_a_kind(self):
        kinds = {device["kind"] for device in self.devices("--kind", "gpu")["devices"]}
        self.assertEqual(kinds, {"gpu"})
        self.expect(2, "did you mean 'gpu'?", "devices", "--kind", "gpus")
        self.expect(2, "excludes", "devices", "t4", "--kind", "gpu")

    def test_unknown_devices_are_told_with_the_nearest(self):
        self.expect(3, "did you mean 'jetson-nano'?", "devices", "jetson-nanoo")
        self.expect(3, "raspberry-pi-4-1gb, raspberry-pi-4-2gb", "devices", "raspberry-pi-4")

    def test_csv_has_a_row_for_each_device(self):
        rows = list(csv.DictReader(assay("devices", "--csv").stdout.splitlines()))
        self.assertEqual(len(rows), len(self.devices()["devices"]))
        [nano] = [row for row in rows if row["id"] == "jetson-nano"]
        self.assertEqual(float(nano["memory_bandwidth_gbps"]), 25.6)
        self.assertEqual(nano["memory_bandwidth_gbps_kind"], "theoretical")
        self.assertEqual(nano["idle_watts"], "")
        self.expect(2, "excludes", "devices", "--json", "--csv")

    def test_ones_own_files_are_added(self):
        first = self.own("first.json")
        second = self.own("second.json", id="my-pi", like="raspberry-pi-5-8gb")
        found = self.devices("--device-file", first, "--device-file", second)["devices"]
        mine = {device["id"]: device for device in found if device["id"].startswith("my-")}
        self.assertEqual(set(mine), {"my-board", "my-pi"})
        self.assertEqual(mine["my-pi"]["peaks"]["fp32"][0]["value"], 154)
        self.assertEqual(mine["my-pi"]["memory_bandwidth_gbps"][0]["value"], 9.5)

    def test_an_option_takes_one_file_wherever_the_id_stands(self):
        result = assay("devices", "--device-file", self.own("own.json"), "my-board")
        self.assertIn("9.50 GB/s", result.stdout)

    def test_replacing_a_built_in_one_is_said(self):
        path = self.own("own.json", id="jetson-nano")
        result = assay("devices", "jetson-nano", "--device-file", path)
        self.assertEqual(result.returncode, 0)
        self.assertIn("'jetson-nano' is used instead", result.stderr)
        self.assertIn("9.50 GB/s", result.stdout)
        self.assertIn("used instead", self.devices("--device-file", path)["warnings"][0])
        self.assertEqual(assay("devices", "-q", "--device-file", path).stderr, "")

    def test_what_it_prints_can_be_read_back(self):
        path = self.folder / "all.json"
        path.write_text(assay("devices", "--json").stdout)
        self.assertEqual(self.devices("--device-file", path)["devices"], self.devices()["devices"])

    def test_a_machine_measured_elsewhere(self):
        path = self.folder / "kitchen-pi.json"
        path.write_text(json.dumps(made_up_machine()))
        [device] = self.devices("kitchen-pi", "--device-file", path)["devices"]
        self.assertEqual(device["kind"], "machine")
        self.assertEqual(device["memory_bandwidth_gbps"][0]["kind"], "measured")
        self.assertGreater(device["peaks"]["fp32"][0]["value"], 0)

    def test_bad_files(self):
        path = self.own("own.json", power_wats=3)
        self.expect(3, f"{path}: device 'my-board': 'power_wats' is not known; did you mean "
                    "'power_watts'?", "devices", "--device-file", path)
        path.write_text("{")
        self.expect(3, f"{path}: line 1, column 2: this is not JSON", "devices", "--device-file",
                    path)
        self.expect(3, "No such file", "devices", "--device-file", self.folder / "none.json")
        self.expect(3, "directory", "devices", "--device-file", self.folder)


class FewerThreads(Case):
    def test_one_thread_is_never_compared_with_fewer(self):
        result = assay("profile", "zoo:mlp", "--threads", "1", "--runs", "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("thread is faster", result.stderr)

    def test_the_note_names_both_times(self):
        """Whether it appears depends on the machine; without progress or notes nothing is measured for it."""
        result = assay("profile", "zoo:mlp", "--threads", "2", "--runs", "3")
        for line in result.stderr.splitlines():
            if "thread is faster" in line:
                self.assertRegex(line, r"1 thread is faster: [\d.]+ .s, against [\d.]+ .s on 2 threads; use --threads 1")
        self.assertNotIn("thread is faster", assay("-q", "profile", "zoo:mlp", "--threads", "2", "--runs", "3").stderr)


class Tuning(Case):
    def test_tuning_is_kept_and_taken_again(self):
        tuning = self.folder / "tuning"
        words = ["profile", "zoo:small_cnn_gap", "--threads", "1", "--runs", "3", "--json", "--tuning", tuning]
        first = json.loads(assay(*words).stdout)
        kept = tuning.read_text()
        self.assertTrue(kept.startswith("assay tuning 1\n"))
        self.assertGreater(len(kept.splitlines()), 1)
        second = json.loads(assay(*words).stdout)
        self.assertEqual(kept, tuning.read_text())
        algorithms = [[step["algorithm"] for step in run["steps"]] for run in (first, second)]
        self.assertEqual(algorithms[0], algorithms[1])

    def test_what_is_kept_decides(self):
        tuning = self.folder / "tuning"
        words = ["profile", "zoo:small_cnn_gap", "--threads", "1", "--runs", "3", "--json", "--tuning", tuning]
        assay(*words)
        lines = tuning.read_text().splitlines()
        asked = [line.split("\t") for line in lines[1:]]
        changed = [[machine, question, "1 " + question.split("; ")[2].split(" +")[0]]
                   for machine, question, _ in asked if question.count("; ") >= 2]
        self.assertTrue(changed)
        tuning.write_text("\n".join([lines[0]] + ["\t".join(line) for line in changed]) + "\n")
        steps = json.loads(assay(*words).stdout)["steps"]
        self.assertTrue(any(changed[0][2][2:] == step["algorithm"] for step in steps), steps)

    def test_a_wrong_tuning_file_is_refused_and_left_alone(self):
        for content in ("", "not a tuning file\n", "assay tuning 1\nno tabs here\n"):
            wrong = self.folder / "wrong"
            wrong.write_text(content)
            self.expect(3, "wrong", "profile", "zoo:small_cnn_gap", "--tuning", wrong)
            self.assertEqual(content, wrong.read_text())
        for words in (["--engine", "reference"], ["--optimize-for", "memory"]):
            self.expect(2, "--tuning", "run", "zoo:mlp", *words, "--tuning", self.folder / "unused")
        self.expect(4, "nowhere", "run", "zoo:small_cnn_gap", "--tuning", self.folder / "nowhere" / "file")

    def profile_with_cache(self, *words, cache):
        result = assay("profile", "zoo:small_cnn_gap", "--threads", "1", "--runs", "3", "--json", *words,
                       env={**os.environ, "XDG_CACHE_HOME": str(cache)})
        self.assertEqual(result.returncode, 0, result.stderr)
        return [step["algorithm"] for step in json.loads(result.stdout)["steps"]]

    def cached_file(self):
        return next((self.folder / "assay").glob("tuning-*"))

    def test_choices_are_kept_in_the_cache_folder(self):
        first = self.profile_with_cache(cache=self.folder)
        kept = self.cached_file().read_text()
        self.assertGreater(len(kept.splitlines()), 1)
        self.assertEqual(first, self.profile_with_cache(cache=self.folder))
        self.assertEqual(kept, self.cached_file().read_text())

    def test_without_tuning_the_cache_is_neither_read_nor_written(self):
        self.profile_with_cache("--no-tuning", cache=self.folder)
        self.assertEqual([], list(self.folder.glob("assay/tuning-*")))
        self.expect(2, "--no-tuning", "run", "zoo:mlp", "--no-tuning", "--tuning", self.folder / "unused")

    def test_a_damaged_cache_is_made_again_and_what_is_sound_of_it_is_used(self):
        first = self.profile_with_cache(cache=self.folder)
        file = self.cached_file()
        kept = file.read_text()
        cut_off = kept[:-4]
        for content in ("", "something else\n", "\0" * 1000, kept.splitlines()[0] + "\nno tabs\n\t\t\t\n", cut_off):
            file.write_text(content)
            self.profile_with_cache(cache=self.folder)
            again = file.read_text().splitlines()
            self.assertGreater(len(again), 1, repr(content[:40]))
            self.assertTrue(all(line.count("\t") == 2 for line in again[1:]), again)
        file.write_text(kept + "damaged\n")
        self.assertEqual(first, self.profile_with_cache(cache=self.folder))

    def test_a_cache_that_cannot_be_written_does_no_harm(self):
        in_the_way = self.folder / "file"
        in_the_way.write_text("")
        for cache in (in_the_way, "/proc/nowhere", "/dev/full"):
            self.profile_with_cache(cache=cache)

    def test_the_cache_stays_small_and_drops_other_machines_first(self):
        self.profile_with_cache(cache=self.folder)
        file = self.cached_file()
        kept = file.read_text()
        lines = kept.splitlines()
        others = [f"another machine\tquestion {i}\t0 answer" for i in range(6000)]
        file.write_text("\n".join(lines[:-1] + others) + "\n")
        self.profile_with_cache(cache=self.folder)
        self.assertNotIn("another machine", file.read_text())


if __name__ == "__main__":
    ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
