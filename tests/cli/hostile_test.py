#!/usr/bin/env python3
"""Names in models are text, whatever they contain, in every output of every command. Usage: hostile_test.py ASSAY"""
import csv
import io
import json
import re
import sys
import unittest
import xml.etree.ElementTree as ElementTree

import numpy
import onnx
from onnx import numpy_helper

import cli_test
from cli_test import Case, assay

SCRIPT = "</script><script>alert(1)</script>"
NAMES = [
    SCRIPT,
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)*cmd",
    "+1+cmd",
    "-2+3+cmd",
    "\t=1+1",
    "quote\" and ' and ` and \\ and ,;",
    "<img src=x onerror=alert(1)>&amp;",
    "two\nlines\r\nand more",
    "\x1b[31mred\x1b]0;title\x07\x00\x08",
    "emoji 🦜 ünï",
    "\u202eright to left\u2028",
    "x" * 10_000,
    "{{template}} %s %n ${HOME}",
]


def setUpModule():
    cli_test.use_made_up_machine()


def hostile_model(path):
    """Products and activations, two nodes for each name; every tensor has a hostile name too."""
    nodes, weights, last = [], [], "in " + SCRIPT
    for i, name in enumerate(NAMES):
        weight = numpy_helper.from_array(numpy.eye(8, dtype=numpy.float32), f"w{i} {name}")
        weights.append(weight)
        product = f"{name} product {i}"
        result = f"{name} result {i}"
        nodes.append(onnx.helper.make_node("MatMul", [last, weight.name], [product], name=name))
        nodes.append(onnx.helper.make_node("Softmax", [product], [result]))  # named by what it writes
        last = result
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(nodes, SCRIPT, [value("in " + SCRIPT, 1, [1, 8])], [value(last, 1, [1, 8])], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8,
                                   producer_name=SCRIPT, doc_string=SCRIPT)
    onnx.save(model, path)


class HostileCase(Case):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "=cmd </script><b>.onnx".replace("/", "")
        hostile_model(self.model)

    def output(self, *words, code=0, **options):
        result = assay(*words, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        self.expect_terminal_text(result.stderr)
        return result.stdout

    def expect_terminal_text(self, text):
        controls = set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text))
        self.assertEqual(controls, set())
        self.assertNotIn("\t", text)

    def expect_json(self, text):
        """Valid, and names are in it unchanged."""
        parsed = json.loads(text)
        self.assertNotIn("\x1b", text)
        return parsed

    def expect_csv(self, text):
        rows = list(csv.reader(io.StringIO(text)))
        for row in rows:
            self.assertEqual(len(row), len(rows[0]), row[:2])
            for cell in row:
                if re.match(r"[=+\-@\t\r]", cell) and cell != "-":
                    float(cell)  # only numbers may begin like this
        return rows

    def expect_html(self, path):
        page = path.read_text()
        self.assertNotIn("<script>alert", page)
        self.assertNotIn("<img src=x", page)
        self.assertNotIn("\x1b", page)

    def expect_svg(self, path):
        ElementTree.parse(path)
        self.assertNotIn("<script", path.read_text())


class Names(HostileCase):
    def test_count(self):
        self.expect_terminal_text(self.output("count", self.model, "--top", 0))
        result = self.expect_json(self.output("count", self.model, "--json"))
        self.assertLessEqual(set(NAMES), {layer["name"] for layer in result["layers"]})
        rows = self.expect_csv(self.output("count", self.model, "--csv"))
        self.assertGreaterEqual(len(rows), 2 * len(NAMES))
        self.expect_terminal_text(self.output("count", self.model, "--markdown"))
        self.output("count", self.model, "--html", self.folder / "count.html")
        self.expect_html(self.folder / "count.html")

    def test_profile(self):
        short = ("--runs", 3, "--warmup", 1)
        out = self.folder / "out"
        text = self.output("profile", self.model, *short, "--out", out, "--html", self.folder / "page.html", "--node-data",
                           self.folder / "nodes.json", "--benchmark-json", self.folder / "bench.json", "--annotate",
                           self.folder / "seen.onnx", "--trace", self.folder / "trace.json", "--roofline", "--hardware",
                           "--explain", "--top", 0)
        self.expect_terminal_text(text)
        self.expect_terminal_text(self.output("profile", self.model, *short, "--steps", "--top", 0))
        self.expect_terminal_text(self.output("profile", self.model, *short, "--ops"))
        self.expect_csv(self.output("profile", self.model, *short, "--csv"))
        result = self.expect_json((out / "profile.json").read_text())
        self.assertLessEqual(set(NAMES), {layer["name"] for layer in result["layers"]})
        for path in (out / "trace.json", self.folder / "trace.json", self.folder / "bench.json"):
            self.expect_json(path.read_text())
        data = self.expect_json((self.folder / "nodes.json").read_text())
        self.assertLessEqual(set(NAMES), set(data["results"]))
        for path in [*out.glob("*.csv")]:
            self.expect_csv(path.read_text())
        for path in out.glob("*.svg"):
            self.expect_svg(path)
        self.expect_html(self.folder / "page.html")
        self.assertEqual(len(onnx.load(self.folder / "seen.onnx").graph.node), 2 * len(NAMES))

    def test_import(self):
        events = [{"cat": "Session", "ph": "X", "pid": 1, "tid": 1, "name": "model_run", "ts": 0, "dur": 1000}]
        events += [{"cat": "Node", "ph": "X", "pid": 1, "tid": 1, "name": name + "_kernel_time", "ts": 10 + 20 * i,
                    "dur": 10, "args": {"op_name": "MatMul", "node_index": str(i)}} for i, name in enumerate(NAMES)]
        events.append({"cat": "Node", "ph": "X", "pid": 1, "tid": 1, "name": SCRIPT + "\x1b[0m_other_kernel_time",
                       "ts": 900, "dur": 10, "args": {"op_name": "=1+1", "node_index": "99"}})
        path = self.folder / "ort </b>.json".replace("/", "")
        path.write_text(json.dumps(events))
        words = ("profile", self.model, "--import", path)
        self.expect_terminal_text(self.output(*words, "--html", self.folder / "page.html", "--top", 0, "--steps"))
        self.expect_html(self.folder / "page.html")
        self.expect_csv(self.output(*words, "--csv"))
        result = self.expect_json(self.output(*words, "--json"))
        self.assertLessEqual(set(NAMES), {layer["name"] for layer in result["layers"] if layer["time_ms"] is not None})
        path.write_text(json.dumps(events).replace("MatMul", "Strange").replace("_kernel", "\\u001b[31mq_kernel"))
        self.output(*words, code=3)
        self.output(*words[:2], "--import", self.model, code=3)

    def test_compare(self):
        for name in ("a.json", "b.json"):
            (self.folder / name).write_text(self.output("profile", self.model, "--runs", 3, "--warmup", 1, "--json"))
        words = ("compare", self.folder / "a.json", self.folder / "b.json")
        self.expect_terminal_text(assay(*words).stdout)
        result = assay(*words, "--json", "--junit", self.folder / "junit.xml", "--benchmark-json",
                       self.folder / "bench.json", "--html", self.folder / "page.html", "--fail-if", "latency>1000%")
        self.assertIn(result.returncode, (0, 1), result.stderr)
        self.expect_json(result.stdout)
        ElementTree.parse(self.folder / "junit.xml")
        self.expect_json((self.folder / "bench.json").read_text())
        self.expect_html(self.folder / "page.html")
        self.expect_terminal_text(assay(*words, "--markdown").stdout)

    def test_optimize_and_run(self):
        self.expect_terminal_text(self.output("run", self.model))
        self.expect_json(self.output("run", self.model, "--json"))
        small = self.folder / "small.onnx"
        result = assay("optimize", self.model, "-o", small, "--tidy", "--html", self.folder / "page.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.expect_terminal_text(result.stderr)
        self.expect_terminal_text(result.stdout)
        self.expect_html(self.folder / "page.html")

    def test_names_that_are_not_utf8_are_refused(self):
        damaged = self.folder / "damaged.onnx"
        damaged.write_bytes(self.model.read_bytes().replace("emoji 🦜".encode(), b"emoji \xff\xfe\xfd\xfc"))
        for command in ("count", "profile"):
            self.expect(3, "not valid UTF-8", command, damaged)


class OnDevices(HostileCase, cli_test.CalibratedCase):
    def test_fit(self):
        for form, expect in (("--json", self.expect_json), ("--csv", self.expect_csv), ("--quiet", self.expect_terminal_text)):
            expect(self.output("fit", self.model, form, "--html", self.folder / "fit.html", env=self.environment))
            self.expect_html(self.folder / "fit.html")

    def test_stream(self):
        words = ("stream", self.model, "--interval-ms", 10, "--html", self.folder / "stream.html")
        self.expect_terminal_text(self.output(*words, env=self.environment))
        self.expect_json(self.output(*words, "--json", env=self.environment))
        self.expect_html(self.folder / "stream.html")


if __name__ == "__main__":
    cli_test.ASSAY = sys.argv.pop(1)
    unittest.main()
