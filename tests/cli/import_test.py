#!/usr/bin/env python3
"""Profiles of other runtimes (--import), and files for other tools. Usage: import_test.py ASSAY

samples/ holds profiles that ONNX Runtime and OpenVINO wrote of zoo:small_cnn, without the fields that are not read.
"""
import json
import pathlib
import sys
import unittest

import onnx

import cli_test
from cli_test import Case, assay

SAMPLES = pathlib.Path(__file__).resolve().parent / "samples"
MODEL = "zoo:small_cnn"
# conv1 relu1 pool1 conv2 relu2 pool2 flatten classifier
LITERT = """Operator-wise Profiling Info for Model Initialization:
============================== Run Order ==============================
node type, start, first, avg_ms, %, cdf%, mem KB, times called, name
AllocateTensors, 0, 0.029, 0.029, 100%, 100%, 0, 1, AllocateTensors/0

Operator-wise Profiling Info for Regular Benchmark Runs:
============================== Run Order ==============================
node type, start, first, avg_ms, %, cdf%, mem KB, times called, name
CONV_2D, 0, 0.11, 0.09, 45%, 45%, 0, 1, [relu1;conv1]:0
MAX_POOL_2D, 0.09, 0.02, 0.02, 10%, 55%, 0, 1, [pool1]:1
CONV_2D, 0.11, 0.05, 0.06, 30%, 85%, 0, 1, [relu2;conv2]:2
MAX_POOL_2D, 0.17, 0.01, 0.01, 5%, 90%, 0, 1, [pool2]:3
FULLY_CONNECTED, 0.18, 0.02, 0.02, 10%, 100%, 0, 1, [classifier]:4

============================== Top by Computation Time ==============================
node type, start, first, avg_ms, %, cdf%, mem KB, times called, name
CONV_2D, 0, 0.11, 0.09, 45%, 45%, 0, 1, [relu1;conv1]:0
"""
TRTEXEC = [
    {"count": 300},
    {"name": "Reformatting CopyNode for Input Tensor 0 to conv1 + relu1", "timeMs": 0.6, "averageMs": 0.002,
     "medianMs": 0.002, "percentage": 4.0},
    {"name": "conv1 + relu1", "timeMs": 6, "averageMs": 0.02, "medianMs": 0.02, "percentage": 40},
    {"name": "pool1", "timeMs": 1.5, "averageMs": 0.005, "medianMs": 0.005, "percentage": 10},
    {"name": "{ForeignNode[conv2...flatten]}", "timeMs": 6, "averageMs": 0.02, "medianMs": 0.02, "percentage": 40},
    {"name": "PWN(classifier)", "timeMs": 0.6, "averageMs": 0.002, "medianMs": 0.002, "percentage": 4},
    {"name": "strange [DeviceToHostCopy]", "timeMs": 0.3, "averageMs": 0.001, "medianMs": 0.001, "percentage": 2},
]


def setUpModule():
    cli_test.use_made_up_machine()


def torch_trace(runs=3):
    """conv2d calls convolution: only the outer one counts."""
    events, at = [], 0.0
    for _ in range(runs):
        for name, took in [("aten::conv2d", 40), ("aten::relu", 5), ("aten::max_pool2d", 6), ("aten::conv2d", 30),
                           ("aten::relu", 3), ("aten::max_pool2d", 4), ("aten::flatten", 1), ("aten::linear", 11)]:
            event = {"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, "ts": at, "dur": took, "args": {}}
            events.append(dict(event, name=name))
            if name == "aten::conv2d":
                events.append(dict(event, name="aten::convolution", ts=at + 1, dur=took - 2))
            at += took + 1
    return {"schemaVersion": 1, "traceEvents": events}


class ImportCase(Case):
    def imported(self, file, *words, model=MODEL):
        result = assay("profile", model, "--import", file, "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def written(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def expect_sums(self, profile):
        """Layers, what is between them and the kernels add up to the run."""
        times = [layer["time_ms"] or 0 for layer in profile["layers"]]
        self.assertAlmostEqual(sum(times), profile["latency_ms"], delta=1e-6 * profile["latency_ms"])
        source = profile["imported"]
        self.assertAlmostEqual(source["by_name_ms"] + source["by_position_ms"] + source["unattributed_ms"],
                               source["kernel_ms"], places=9)
        self.assertAlmostEqual(source["kernel_ms"] + profile["between_steps_ms"], profile["latency_ms"], places=6)

    def expect_plan(self, profile):
        """The tensors alive at the peak are those of assay's plan, whose steps are nodes."""
        memory = profile["memory"]
        self.assertEqual(memory["provenance"], "planned")
        alive = [sum(buffer["bytes"] for buffer in memory["buffers"] if buffer["first_step"] <= i <= buffer["last_step"])
                 for i in range(len(memory["steps"]))]
        self.assertGreater(max(alive), 0)
        self.assertLessEqual(max(alive), memory["arena_bytes"])

    def times(self, profile):
        return {layer["name"]: layer["time_ms"] for layer in profile["layers"] if layer["time_ms"] is not None}


class OnnxRuntime(ImportCase):
    FILE = SAMPLES / "onnxruntime_small_cnn.json"

    def test_all_kernel_time_belongs_to_nodes(self):
        profile = self.imported(self.FILE)
        self.expect_sums(profile)
        self.expect_plan(profile)
        self.assertEqual(profile["provenance"], "imported")
        source = profile["imported"]
        self.assertEqual(source["runtime"], "ONNX Runtime")
        self.assertLess(source["unattributed_ms"], 0.01 * source["kernel_ms"])
        self.assertEqual(source["threads"], 2)

    def test_samples_are_the_runs_but_the_first(self):
        runs = [event["dur"] / 1000 for event in json.loads(self.FILE.read_text()) if event["name"] == "model_run"]
        latency = self.imported(self.FILE)["latency"]
        self.assertEqual(latency["samples_ms"], runs[1:])
        self.assertEqual(latency["warmup_runs"], 1)

    def test_a_fused_activation_is_part_of_its_convolution(self):
        profile = self.imported(self.FILE)
        layers = {layer["name"]: layer for layer in profile["layers"]}
        self.assertIsNone(layers["relu1"]["time_ms"])
        self.assertEqual(layers["relu1"]["detail"], "in conv1")
        step = next(step for step in profile["steps"] if step["name"] == "relu1_nchwc")
        self.assertEqual(step["layers"], ["conv1", "relu1"])
        # 28·28 outputs of 16 channels: 9 MACs each, a bias, a comparison.
        self.assertEqual(step["executed_flops"], 28 * 28 * 16 * (2 * 9 + 1 + 1))

    def test_what_was_not_measured_is_absent(self):
        profile = self.imported(self.FILE)
        self.assertIsNone(profile["start_up"])
        self.assertIsNone(profile["energy"])
        self.assertEqual(profile["memory"]["provenance"], "planned")
        self.assertFalse(any("counters" in step for step in profile["steps"]))
        text = assay("profile", MODEL, "--import", self.FILE).stdout
        self.assertIn("ONNX Runtime profile", text)
        self.assertIn("as planned by assay", " ".join(text.split()))
        self.assertNotIn("start-up", text)

    def test_every_output_can_be_written(self):
        result = assay("profile", MODEL, "--import", self.FILE, "--out", self.folder / "out", "--html",
                       self.folder / "page.html", "--roofline", "--hardware", "--trace", self.folder / "trace.json")
        self.assertEqual(result.returncode, 0, result.stderr)
        names = {path.name for path in (self.folder / "out").iterdir()}
        self.assertLessEqual({"profile.json", "layers.csv", "trace.json", "roofline.svg", "layer_times.svg"}, names)
        self.assertIn("ONNX Runtime", (self.folder / "page.html").read_text())
        self.assertIn("relu1_nchwc", (self.folder / "trace.json").read_text())

    def test_kernels_of_no_node_are_rows(self):
        events = json.loads(self.FILE.read_text())
        run = [event for event in events if event["name"] == "model_run"]
        for event in run:
            events.append({"cat": "Node", "pid": event["pid"], "tid": event["tid"], "ph": "X", "dur": 4,
                           "ts": event["ts"] + event["dur"] + 1, "name": "NonMaxSuppression_token_9_kernel_time",
                           "args": {"op_name": "Telemetry", "node_index": "99"}})
            event["dur"] += 5
        profile = self.imported(self.written("more.json", events))
        self.expect_sums(profile)
        self.assertEqual(profile["imported"]["unattributed_kernels"], 1)
        row = next(layer for layer in profile["layers"] if layer["name"] == "NonMaxSuppression_token_9")
        self.assertIn("not attributed", row["doubts"])
        self.assertGreater(row["time_ms"], 0)

    def test_bodies_are_not_counted_twice(self):
        """The kernel of an If lasts as long as the kernels of its branch together, and longer."""
        events = [{"cat": "Session", "ph": "X", "pid": 1, "tid": 1, "name": "model_run", "ts": 0, "dur": 100, "args": {}}]
        node = {"cat": "Node", "ph": "X", "pid": 1, "tid": 1}
        events.append(dict(node, name="inner_kernel_time", ts=15, dur=60, args={"op_name": "Relu", "node_index": "0"}))
        events.append(dict(node, name="choose_kernel_time", ts=10, dur=80, args={"op_name": "If", "node_index": "1"}))
        value = onnx.helper.make_tensor_value_info
        def branch(op):
            return onnx.helper.make_graph([onnx.helper.make_node(op, ["x"], ["z"], name="inner")], op, [],
                                          [value("z", 1, [4])])
        choose = onnx.helper.make_node("If", ["c"], ["y"], name="choose", then_branch=branch("Relu"),
                                       else_branch=branch("Neg"))
        graph = onnx.helper.make_graph([choose], "g", [value("c", 9, []), value("x", 1, [4])], [value("y", 1, [4])])
        model = self.folder / "if.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
        profile = self.imported(self.written("if.json", events), model=model)
        self.expect_sums(profile)
        self.assertAlmostEqual(self.times(profile)["choose"], 0.08)
        self.assertAlmostEqual(profile["between_steps_ms"], 0.02)


class OtherRuntimes(ImportCase):
    def test_openvino(self):
        profile = self.imported(SAMPLES / "openvino_small_cnn.csv")
        self.expect_sums(profile)
        self.assertEqual(profile["imported"]["runtime"], "OpenVINO")
        self.assertEqual(profile["imported"]["unattributed_kernels"], 0)
        self.assertEqual(len(profile["latency"]["samples_ms"]), 2)  # infer requests
        self.assertEqual({step["precision"] for step in profile["steps"]}, {"bf16", "fp32"})

    def test_openvino_json(self):
        rows = [line.split(";") for line in (SAMPLES / "openvino_small_cnn.csv").read_text().splitlines()[1:14]]
        nodes = [dict(zip(("name", "status", "node_type", "exec_type", "real_time", "cpu_time"), row)) for row in rows]
        report = {"report_type": "average", "avg_performance": {"nodes": nodes, "total_real_time": "0.066"}}
        profile = self.imported(self.written("ov.json", report))
        self.assertAlmostEqual(profile["latency_ms"], 0.066)
        self.assertIsNone(profile["latency"]["ci95_low_ms"])

    def test_litert(self):
        profile = self.imported(self.written("litert.csv", LITERT))
        self.expect_sums(profile)
        times = self.times(profile)
        self.assertAlmostEqual(profile["latency_ms"], 0.2)
        self.assertAlmostEqual(times["conv1"], 0.09)
        self.assertAlmostEqual(times["classifier"], 0.02)
        self.assertEqual(profile["imported"]["by_position_ms"], 0)

    def test_trtexec(self):
        profile = self.imported(self.written("trt.json", TRTEXEC))
        self.expect_sums(profile)
        times = self.times(profile)
        self.assertAlmostEqual(profile["latency_ms"], 0.05)
        self.assertAlmostEqual(times["conv1"], 0.022)  # with the copy that serves it
        region = next(step for step in profile["steps"] if "ForeignNode" in step["name"])
        self.assertEqual(region["layers"], ["conv2", "relu2", "pool2", "flatten"])
        self.assertEqual(profile["imported"]["averaged_runs"], 300)
        self.assertIsNone(profile["machine"])  # a GPU's times are not compared with this processor

    def test_torch(self):
        profile = self.imported(self.written("torch.json", torch_trace()))
        self.expect_sums(profile)
        self.assertEqual(profile["imported"]["runtime"], "PyTorch")
        self.assertEqual(profile["imported"]["by_name_ms"], 0)
        self.assertEqual(profile["imported"]["unattributed_kernels"], 0)
        self.assertAlmostEqual(profile["latency_ms"], 0.1)
        self.assertAlmostEqual(self.times(profile)["conv1"], 0.04)


class Refusals(ImportCase):
    def refuse(self, message, content, *words):
        path = content if isinstance(content, pathlib.Path) else self.written("bad", content)
        self.expect(3, message, "profile", MODEL, "--import", path, *words)

    def test_files_that_are_no_profile(self):
        self.refuse("is empty", "")
        self.refuse("is not a profile of ONNX Runtime", "hello")
        self.refuse("is JSON, but not", {"a": 1})
        self.refuse("is JSON, but not", [1, 2])
        self.refuse("is a result of assay itself", {"schema": "assay.profile/1"})
        self.expect(3, "missing.json", "profile", MODEL, "--import", self.folder / "missing.json")

    def test_truncated_files(self):
        text = (SAMPLES / "onnxruntime_small_cnn.json").read_text()
        self.refuse("ends in the middle", text[:2000])
        self.refuse("this is not JSON", text[:2000] + "]")
        self.refuse("cells were expected", (SAMPLES / "openvino_small_cnn.csv").read_text()[:200])

    def test_numbers_that_are_none(self):
        self.refuse("'averageMs' is not", [{"name": "conv1", "averageMs": "fast"}])
        self.refuse("'dur' of event", [{"cat": "Session", "ph": "X", "name": "model_run", "ts": 0, "dur": -1}])
        self.refuse("not a number of milliseconds", LITERT.replace("0.09, 45%", "nan, 45%"))

    def test_runs_that_are_missing(self):
        self.refuse("holds no run", [{"cat": "Session", "ph": "X", "name": "session_initialization", "ts": 0, "dur": 1}])

    def test_another_model(self):
        other = json.loads(json.dumps(TRTEXEC).replace("conv", "layer").replace("pool", "p").replace("classifier", "c")
                           .replace("flatten", "f").replace("relu", "r"))
        self.refuse("0 of 4 kernels", other)

    def test_other_shapes(self):
        self.expect(3, "was recorded with other shapes", "profile", MODEL, "--batch", 4, "--import",
                    SAMPLES / "onnxruntime_small_cnn.json")

    def test_flags_for_runs(self):
        for flag in (["--runs", "3"], ["--energy"], ["--counters"], ["--train"], ["--engine", "cpu"]):
            self.expect(2, "cannot be combined with --import", "profile", MODEL, "--import", "x", *flag)
        self.expect(2, "needs one model", "profile", MODEL, MODEL, "--import", "x")


class Overlays(ImportCase):
    """Files for other tools, of a measurement of our own."""

    def profile(self, *words, model=MODEL):
        result = assay("profile", model, "--runs", 5, "--warmup", 1, "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def test_node_data(self):
        profile = self.profile("--node-data", self.folder / "nodes.json")
        data = json.loads((self.folder / "nodes.json").read_text())
        self.assertEqual({name: one["value"] for name, one in data["results"].items()},
                         {name: time for name, time in self.times(profile).items() if not name.startswith("(")})
        self.assertEqual([stop["stop"] for stop in data["gradient"]], [0, 1])

    def test_benchmark_json(self):
        profile = self.profile("--benchmark-json", self.folder / "bench.json")
        data = json.loads((self.folder / "bench.json").read_text())
        latency = [one["real_time"] / 1e6 for one in data["benchmarks"] if one["name"] == "latency"]
        self.assertEqual(len(latency), 5)
        for measured, written in zip(profile["latency"]["samples_ms"], latency):
            self.assertAlmostEqual(measured, written)
        self.assertIn("layer/conv1", [one["name"] for one in data["benchmarks"]])

    def test_trace_has_a_memory_counter(self):
        profile = self.profile("--trace", self.folder / "trace.json")
        events = json.loads((self.folder / "trace.json").read_text())["traceEvents"]
        counted = [event["args"]["bytes"] for event in events if event["ph"] == "C"]
        used = [sum(buffer["bytes"] for buffer in profile["memory"]["buffers"]
                    if buffer["first_step"] <= step <= buffer["last_step"]) for step in range(len(profile["steps"]))]
        self.assertEqual(counted[:len(used) + 1], used + [0])
        self.assertGreater(max(counted), 0)

    def test_annotated_copy(self):
        model = self.folder / "model.onnx"
        self.assertEqual(assay("zoo", "export", "small_cnn", "-o", model).returncode, 0)
        original = onnx.load(model)
        profile = self.profile("--annotate", self.folder / "seen.onnx", model=model)
        self.profile("--annotate", self.folder / "twice.onnx", model=self.folder / "seen.onnx")
        for name in ("seen.onnx", "twice.onnx"):
            copy = onnx.load(self.folder / name)
            entries = {entry.key: entry.value for entry in copy.metadata_props}
            self.assertEqual(int(entries["assay.macs"]), profile["totals"]["macs"])
            self.assertEqual(len([entry for entry in copy.metadata_props if entry.key == "assay.macs"]), 1)
            self.assertEqual((self.folder / name).read_bytes().count(b"assay.bytes_written"), 1 + len(copy.graph.node))
            onnx.checker.check_model(copy)
            # Without the entries, it is the same model. This version of onnx keeps those of nodes as unknown fields.
            del copy.metadata_props[:]
            copy.DiscardUnknownFields()
            self.assertEqual(copy.SerializeToString(), original.SerializeToString())

    def test_annotating_needs_a_file(self):
        self.expect(2, "zoo export", "profile", MODEL, "--annotate", self.folder / "x.onnx")
        model = self.folder / "model.onnx"
        assay("zoo", "export", "small_cnn", "-o", model)
        self.expect(2, "is the model itself", "profile", model, "--annotate", model)


if __name__ == "__main__":
    cli_test.ASSAY = sys.argv.pop(1)
    unittest.main()
