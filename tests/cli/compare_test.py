#!/usr/bin/env python3
"""assay compare as people use it: verdicts, gates, formats, bad input. Usage: compare_test.py ASSAY"""
import csv
import json
import os
import pathlib
import sys
import unittest
import xml.etree.ElementTree as ElementTree

import cli_test
from cli_test import QUICK, Case, assay

# A verdict over stored profiles wants 6 samples.
STORED_RUNS = 8
SHORT = ["--threads", "1", "--max-time", "1"]
FAST, SLOW = "zoo:mlp", "zoo:mobilenet_v2"
SWEEP_COLUMNS = ["pruning_level", "precision", "accepted", "error", "active_budget_mb", "accuracy", "accuracy_ci95_low",
                 "accuracy_ci95_high", "latency_ms", "latency_median_ms", "latency_std_ms", "latency_p95_ms",
                 "latency_ci95_low_ms", "latency_ci95_high_ms", "throughput_sps", "memory_mb", "runtime_memory_mb",
                 "energy_proxy_j", "energy_measured_j", "energy_note", "violates_1.0mb"]


class CompareCase(Case):
    def stored(self, name, *words, runs=STORED_RUNS):
        path = self.folder / name
        quick = ["--runs", str(runs), "--warmup", "1", "--no-ceilings"]
        path.write_text(assay("profile", *words, *quick, "--json").stdout)
        return path

    def compared(self, code, *words, **options):
        result = assay("compare", *words, **options)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def document(self, code, *words):
        return json.loads(self.compared(code, *words, "--json").stdout)

    def exported(self, name, network):
        path = self.folder / name
        self.assertEqual(assay("zoo", "export", network, "-o", path).returncode, 0)
        return path


class Comparing(CompareCase):
    def test_two_stored_profiles(self):
        small = self.stored("small.json", FAST, "--threads", "1")
        large = self.stored("large.json", SLOW, "--threads", "1")
        result = self.compared(0, small, large)
        self.assertIn("SLOWER", result.stdout)
        self.assertIn("not run in turn", result.stderr)
        self.assertRegex(result.stdout, r"bandwidth .*%")
        self.assertRegex(result.stderr, r"processes that differ by .* % \((measured|assumed)")
        document = self.document(0, large, small)
        self.assertEqual(document["verdict"], "FASTER")
        piped = self.compared(0, large, "-", "--json", input=small.read_text())
        self.assertEqual(json.loads(piped.stdout)["ratio"], document["ratio"])
        self.expect(3, "nothing came from standard input", "compare", large, "-", input="")
        self.expect(2, "only one of", "compare", "-", "-")
        self.assertAlmostEqual(document["ratio"], document["b"]["median_ms"] / document["a"]["median_ms"], delta=1e-9)
        self.assertLess(document["ci95_high"], 1)
        for figure in ("estimated_total_bytes", "estimated_total_macs", "latency_ms", "achieved_bandwidth_gbps"):
            self.assertEqual(set(document["impact"][figure]), {"before", "after", "change_percent"})
        self.assertLess(document["impact"]["estimated_total_macs"]["change_percent"], -90)
        self.assertFalse(document["interleaved"])

    def test_stored_profiles_of_few_samples(self):
        small, large = (self.stored(f"{model[4:]}.json", model, "--threads", "1", runs=5) for model in (FAST, SLOW))
        result = self.compared(0, small, large)
        self.assertIn("UNDECIDED", result.stdout)
        self.assertIn("5 samples of a stored profile are too few for a verdict, it takes 6", result.stderr)

    def test_two_models(self):
        document = self.document(0, FAST, SLOW, *SHORT)
        self.assertEqual(document["verdict"], "SLOWER")
        self.assertTrue(document["interleaved"])
        self.assertEqual(len(document["a"]["processes_ms"]), document["pairs"])
        self.assertEqual(len(document["b"]["processes_ms"]), document["pairs"])
        metrics = {metric["name"]: metric for metric in document["metrics"]}
        for name in ("latency", "throughput", "bandwidth", "memory_mb", "runtime_memory_mb", "peak_memory_mb",
                     "process_memory_mb", "parameters", "macs", "flops", "bytes"):
            metric = metrics[name]
            self.assertAlmostEqual(metric["ratio"], metric["b"] / metric["a"])
        self.assertEqual(metrics["latency"]["a"], document["a"]["median_ms"])
        self.assertEqual(metrics["parameters"]["b"], document["b"]["parameters"])
        self.assertTrue(metrics["parameters"]["exact"])
        self.assertEqual(metrics["latency"]["ratio_estimate"], document["ratio"])

    def test_a_stored_profile_is_measured_again_while_its_model_is_unchanged(self):
        model = self.exported("small.onnx", "small_cnn")
        profile = self.stored("small.json", model, "--threads", "1", "--batch", "2")
        document = self.document(0, profile, "zoo:small_cnn_gap", "--max-time", "1")
        self.assertTrue(document["interleaved"])
        self.assertEqual(document["measured_again"], ["A"])
        self.assertEqual([document[side]["threads"] for side in "ab"], [1, 1])
        self.assertEqual([document[side]["batch"] for side in "ab"], [2, 2])
        kept = self.document(0, profile, "zoo:small_cnn_gap", "--max-time", "1", "--stored")
        self.assertFalse(kept["interleaved"])
        self.assertEqual(len(kept["a"]["processes_ms"][0]), STORED_RUNS)
        self.expect(3, "give the options", "compare", profile, "zoo:small_cnn_gap", "--batch", "4", *SHORT)
        # Two profiles of one file differ in how it ran.
        again = self.stored("again.json", model, "--threads", "1", "--batch", "2")
        self.assertFalse(self.document(0, profile, again)["interleaved"])

    def test_a_stored_profile_is_measured_again_as_it_was(self):
        model = self.exported("small.onnx", "small_cnn")
        profile = self.stored("small.json", model, "--threads", "1", "--precision", "bf16", "--optimize-for", "memory")
        document = self.document(0, profile, "zoo:small_cnn_gap", *SHORT)
        self.assertEqual(document["measured_again"], ["A"])

    def test_a_stored_profile_is_used_when_its_model_has_changed_or_gone(self):
        model = self.exported("small.onnx", "small_cnn")
        profile = self.stored("small.json", model, "--threads", "1")
        self.exported("small.onnx", "small_cnn_gap")
        result = self.compared(0, profile, model, "--max-time", "1")
        self.assertIn("has changed since", result.stderr)
        model.unlink()
        result = self.compared(0, profile, "zoo:small_cnn", "--max-time", "1")
        self.assertIn("is not there", result.stderr)

    def test_a_folder_of_profile_is_a_stored_profile(self):
        folder = self.folder / "out"
        self.assertEqual(assay("profile", FAST, "--out", folder, *QUICK).returncode, 0)
        self.assertFalse(self.document(0, folder, folder / "profile.json")["interleaved"])

    def test_bad_input(self):
        text = self.folder / "text.json"
        text.write_text("not a profile")
        self.expect(3, "not the JSON", "compare", text, text)
        self.expect(3, "No such file", "compare", self.folder / "a.json", self.folder / "b.json")
        self.expect(3, "resnet50", "compare", FAST, "zoo:resnet51", "--max-time", "1")
        self.expect(3, "No such file", "compare", self.folder / "none.onnx", FAST)
        self.expect(3, "neither profile.json nor", "compare", self.folder, FAST)
        self.expect(2, "--threads", "compare", FAST, FAST, "--threads", "0")
        self.expect(2, "--threshold", "compare", FAST, FAST, "--threshold", "0")


class Gating(CompareCase):
    def test_a_gate_that_fails_is_exit_code_1(self):
        result = self.compared(1, FAST, SLOW, *SHORT, "--fail-if", "latency>5%", "--fail-if", "memory_mb>64")
        self.assertIn("error: --fail-if 'latency>5%': FAILED", result.stderr)
        self.assertIn("FAILED   latency>5%", result.stdout)
        self.assertIn("PASSED   memory_mb>64", result.stdout)

    def test_gates_that_pass_are_exit_code_0(self):
        document = self.document(0, SLOW, FAST, *SHORT, "--fail-if", "latency>5%", "--fail-if", "parameters>0%",
                                 "--fail-if", "throughput<-5%", "--power-watts", "5", "--fail-if", "energy>+0.001")
        self.assertEqual([gate["verdict"] for gate in document["gates"]], ["PASSED"] * 4)
        self.assertEqual(document["gates_verdict"], "PASSED")

    def test_undecided_passes_unless_it_is_to_fail(self):
        # One process does not tell how much processes differ.
        profile = self.stored("a.json", FAST)
        words = [profile, profile, "--fail-if", "process_memory_mb>5%"]
        result = self.compared(0, *words)
        self.assertIn("UNDECIDED   process_memory_mb>5%", result.stdout)
        self.assertIn("UNDECIDED", result.stderr)
        self.assertIn("UNDECIDED", self.compared(1, *words, "--undecided", "fail").stderr)
        self.expect(2, "--undecided maybe", "compare", *words, "--undecided", "maybe")

    def test_accuracy(self):
        words = ["zoo:small_cnn", "zoo:small_cnn", *SHORT, "--dataset", "synthetic", "--val-subset", "500"]
        document = self.document(0, *words, "--fail-if", "accuracy<-1")
        [accuracy] = [metric for metric in document["metrics"] if metric["name"] == "accuracy"]
        self.assertEqual(accuracy["a"], accuracy["b"])
        low, high = accuracy["difference_ci95"]  # no sample differs: half a sample either way
        self.assertAlmostEqual(high, 1.96 / 502, places=4)
        self.assertAlmostEqual(low, -high)
        self.compared(1, *words, "--fail-if", "accuracy<0.9999")

    def test_what_cannot_be_judged_is_refused_before_anything_runs(self):
        self.expect(2, "did you mean 'latency'?", "compare", FAST, SLOW, "--fail-if", "latncy>5%")
        self.expect(2, "'fast' is not a number", "compare", FAST, SLOW, "--fail-if", "latency>fast")
        self.expect(2, "METRIC>NUMBER", "compare", FAST, SLOW, "--fail-if", "latency")
        self.expect(2, "--dataset", "compare", FAST, SLOW, "--fail-if", "accuracy<-1")
        self.expect(3, "no energy", "compare", FAST, SLOW, *SHORT, "--fail-if", "energy>5%")
        profile = self.stored("a.json", FAST)
        self.expect(2, "--dataset", "compare", profile, profile, "--dataset", "synthetic")

    def test_a_gate_that_fails_improvements_is_warned_about(self):
        profile = self.stored("a.json", FAST)
        result = self.compared(0, profile, profile, "--fail-if", "parameters<-5%")
        self.assertIn("fails when B is better", result.stderr)


class Formats(CompareCase):
    def setUp(self):
        super().setUp()
        self.words = [self.stored("fast.json", FAST), self.stored("slow.json", SLOW),
                      "--fail-if", "latency>5%", "--fail-if", "parameters<1", "--fail-if", "process_memory_mb>5%"]

    def test_junit(self):
        path = self.folder / "gate.xml"
        self.compared(1, *self.words, "--junit", path)
        suites = ElementTree.parse(path).getroot()
        [suite] = suites
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("3", "1", "1"))
        cases = {case.get("name"): case for case in suite.iter("testcase")}
        self.assertIn("FAILED", cases["latency>5%"].find("failure").get("message"))
        self.assertIsNone(cases["parameters<1"].find("failure"))
        self.assertIn("UNDECIDED", cases["process_memory_mb>5%"].find("skipped").get("message"))

    def test_google_benchmark(self):
        path = self.folder / "benchmark.json"
        self.compared(1, *self.words, "--benchmark-json", path)
        document = json.loads(path.read_text())
        self.assertIn("context", document)
        names = []
        for benchmark in document["benchmarks"]:
            names.append(benchmark["name"])
            self.assertEqual(benchmark["run_type"], "iteration")
            self.assertEqual(benchmark["time_unit"], "ns")
            self.assertEqual(benchmark["iterations"], STORED_RUNS)
            self.assertGreater(benchmark["real_time"], 0)
            self.assertGreater(benchmark["cpu_time"], 0)
        self.assertEqual(names, ["A/latency", "B/latency"])

    def test_step_summary_is_appended(self):
        path = self.folder / "summary.md"
        path.write_text("# Before\n")
        environment = {**os.environ, "GITHUB_STEP_SUMMARY": str(path)}
        self.compared(1, *self.words, "--step-summary", env=environment)
        text = path.read_text()
        self.assertTrue(text.startswith("# Before\n### assay compare"))
        self.assertIn("| latency\\>5% | **FAILED** |", text)
        self.assertEqual(self.compared(1, *self.words, "--markdown").stdout, text.removeprefix("# Before\n")[:-1])
        without = {key: value for key, value in environment.items() if key != "GITHUB_STEP_SUMMARY"}
        self.expect(2, "GITHUB_STEP_SUMMARY is not set", "compare", *self.words, "--step-summary", env=without)

    def test_files_that_cannot_be_written_are_reported_before_anything_runs(self):
        missing = self.folder / "missing" / "file"
        for flag in ("--junit", "--benchmark-json"):
            self.expect(4, "missing/file", "compare", FAST, SLOW, flag, missing)
            self.expect(3, "is a directory", "compare", FAST, SLOW, flag, self.folder)
        self.expect(4, "missing/file", "compare", FAST, SLOW, "--step-summary",
                    env={**os.environ, "GITHUB_STEP_SUMMARY": str(missing)})

    def test_json_and_markdown_exclude_each_other(self):
        self.expect(2, "excludes", "compare", *self.words, "--json", "--markdown")


class Sweeps(CompareCase):
    def sweep(self, name, *rows):
        folder = self.folder / name
        folder.mkdir()
        (folder / "summary.json").write_text("{}")
        with open(folder / "sweep_results.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, SWEEP_COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
        return folder

    def row(self, precision, latency, **others):
        return {"pruning_level": 0.25, "precision": precision, "accepted": "true", "accuracy": 0.8,
                "accuracy_ci95_low": 0.79, "accuracy_ci95_high": 0.81, "latency_ms": latency,
                "latency_ci95_low_ms": 0.99 * latency, "latency_ci95_high_ms": 1.01 * latency, "memory_mb": 0.5,
                "energy_proxy_j": 0.005 * latency, "energy_note": 'no meter, "here"', **others}

    def test_rows_are_compared_one_by_one(self):
        old = self.sweep("old", self.row("fp32", 2.0), self.row("int8", 1.0))
        new = self.sweep("new", self.row("int8", 1.2), self.row("fp32", 2.0, memory_mb=0.6))
        document = self.document(1, old, new, "--fail-if", "latency>5%", "--fail-if", "memory_mb>0.7")
        self.assertEqual([row["name"] for row in document["rows"]], ["pruning 0.25, fp32", "pruning 0.25, int8"])
        self.assertEqual([(gate["row"], gate["verdict"]) for gate in document["gates"][:2]],
                         [("pruning 0.25, fp32", "PASSED"), ("pruning 0.25, int8", "FAILED")])
        [memory] = [metric for metric in document["rows"][0]["metrics"] if metric["name"] == "memory_mb"]
        self.assertEqual((memory["a"], memory["b"], memory["ratio"]), (0.5, 0.6, 1.2))
        path = self.folder / "benchmark.json"
        self.compared(0, old, new, "--benchmark-json", path)
        names = [benchmark["name"] for benchmark in json.loads(path.read_text())["benchmarks"]]
        self.assertEqual(names, ["A/pruning 0.25, fp32", "A/pruning 0.25, int8",
                                 "B/pruning 0.25, fp32", "B/pruning 0.25, int8"])

    def test_a_variant_that_no_longer_works_fails(self):
        old = self.sweep("old", self.row("fp32", 2.0))
        new = self.sweep("new", {"pruning_level": 0.25, "precision": "fp32", "error": "out of memory"})
        self.assertIn("out of memory", self.compared(1, old, new, "--fail-if", "latency>5%").stderr)

    def test_bad_input(self):
        sweep = self.sweep("sweep", self.row("fp32", 1))
        self.expect(2, "give two sweeps", "compare", sweep, FAST)
        self.expect(2, "--dataset is for models", "compare", sweep, sweep, "--dataset", "synthetic")
        bad = self.sweep("bad", {**self.row("fp32", 1), "latency_ms": "soon"})
        self.expect(3, "line 2: latency_ms is 'soon'", "compare", sweep, bad)


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
