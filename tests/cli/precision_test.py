#!/usr/bin/env python3
"""--precision on the command line, and on older processors. Usage: precision_test.py ASSAY"""
import json
import os
import pathlib
import sys
import unittest

import cli_test
from cli_test import Case, assay


class Precision(Case):
    def test_bytes_are_those_of_count(self):
        for precision in ("bf16", "fp16"):
            counted = json.loads(assay("count", "zoo:resnet18", "--precision", precision, "--json").stdout)
            profiled = json.loads(assay("profile", "zoo:resnet18", "--precision", precision, "--runs", "1", "--warmup",
                                        "0", "--no-ceilings", "--json").stdout)
            self.assertEqual(profiled["totals"]["parameter_bytes"], counted["totals"]["parameter_bytes"])
            self.assertEqual(profiled["options"]["precision"], {"bf16": "bfloat16", "fp16": "float16"}[precision])

    def test_evaluate_takes_them(self):
        few = ["--dataset", "synthetic", "--val-subset", "20", "--repeats", "1", "--runs", "1", "--warmup", "0"]
        whole = json.loads(assay("evaluate", "zoo:small_cnn", *few, "--json").stdout)
        for precision in ("bf16", "fp16"):
            half = json.loads(assay("evaluate", "zoo:small_cnn", *few, "--precision", precision, "--json").stdout)
            self.assertAlmostEqual(half["memory_mb"], whole["memory_mb"] / 2)
            self.assertLess(half["runtime_memory_mb"], whole["runtime_memory_mb"])

    def test_stream_takes_them(self):
        result = assay("stream", "zoo:mlp", "--interval-ms", "10", "--precision", "bf16", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_int8_needs_a_quantised_model(self):
        for command in (["run", "zoo:mlp"], ["profile", "zoo:mlp", "--no-ceilings"]):
            result = assay(*command, "--precision", "int8")
            self.assertEqual(result.returncode, 2)
            self.assertIn("--precision int8 needs a model that is quantised already", result.stderr)

    def test_unknown_names_are_refused(self):
        result = assay("run", "zoo:mlp", "--precision", "fp12")
        self.assertEqual(result.returncode, 2)
        self.assertIn("there is no precision 'fp12'", result.stderr)


class OlderProcessors(Case):
    """oneDNN is told to do without newer instructions: answers stay, none is illegal."""

    def test_without_bf16_instructions(self):
        expected = self.folder / "expected"
        self.assertEqual(assay("run", "zoo:small_cnn", "-o", expected).returncode, 0)
        for instructions in ("AVX2", "AVX512_CORE"):
            os.environ["DNNL_MAX_CPU_ISA"] = instructions
            try:
                for precision in ("bf16", "fp16"):
                    for goal in ("latency", "memory"):
                        result = assay("run", "zoo:small_cnn", "--precision", precision, "--optimize-for", goal,
                                       "--check", expected, "--rtol", "0.03", "--atol", "0.03")
                        self.assertEqual(result.returncode, 0, (instructions, precision, goal, result.stderr))
            finally:
                del os.environ["DNNL_MAX_CPU_ISA"]


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
