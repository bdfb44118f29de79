#!/usr/bin/env python3
"""assay evaluate as people use it: figures, formats, bad input. Usage: evaluate_test.py ASSAY"""
import csv
import json
import pathlib
import sys
import unittest

import numpy

import cli_test
from cli_test import Case, assay

FEW = ["--repeats", "2", "--runs", "3", "--warmup", "1", "--threads", "1"]
SYNTHETIC = ["--dataset", "synthetic", "--val-subset", "50", *FEW]
NAMES = ["accuracy", "accuracy_ci95_low", "accuracy_ci95_high", "latency_ms", "latency_median_ms",
         "latency_std_ms", "latency_p95_ms", "latency_ci95_low_ms", "latency_ci95_high_ms",
         "throughput_sps", "memory_mb", "runtime_memory_mb", "energy_proxy_j", "energy_measured_j",
         "energy_note"]


class Evaluates(Case):
    def evaluated(self, *words, model="zoo:small_cnn"):
        result = assay("evaluate", model, *words, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def npz(self, x, y):
        path = self.folder / "data.npz"
        numpy.savez(path, x=x, y=y)
        return ["--dataset", path, *FEW]

    def test_every_metric_and_its_formula(self):
        seen = self.evaluated(*SYNTHETIC, "--batch", "10", "--power-watts", "3", "--memory-budgets-mb", "1,0.05")
        self.assertEqual(seen["schema"], "assay.evaluate/1")
        for name in NAMES:
            self.assertIn(name, seen)
        self.assertLessEqual(seen["accuracy_ci95_low"], seen["accuracy"])
        self.assertAlmostEqual(seen["throughput_sps"] * seen["latency_ms"] / 1000, 10)
        self.assertAlmostEqual(seen["energy_proxy_j"], 3 * seen["latency_ms"] / 1000)
        self.assertAlmostEqual(seen["memory_mb"], 20490 * 4 / 1024 / 1024, places=4)
        self.assertEqual((seen["violates_1.0mb"], seen["violates_0.05mb"]), (False, True))
        self.assertEqual(seen["dataset"]["size"], 50)
        self.assertEqual(seen["options"]["threads"], 1)

    def test_accuracy_is_that_of_train(self):
        seen = self.evaluated(*SYNTHETIC)
        train = assay("train", "zoo:small_cnn", "--dataset", "synthetic", "--val-subset", "50", "--threads", "1",
                      "--evaluate-only", "--json")
        self.assertEqual(seen["accuracy"], json.loads(train.stdout)["accuracy"])

    def test_a_multiplier_scales_latencies_and_energy(self):
        seen = self.evaluated(*SYNTHETIC, "--latency-multiplier", "1000")
        self.assertEqual(seen["options"]["latency_multiplier"], 1000)
        self.assertAlmostEqual(seen["energy_proxy_j"], 5 * seen["latency_ms"] / 1000)
        self.assertGreater(seen["latency_ms"], 10)

    def test_csv_is_a_header_and_a_row(self):
        text = assay("evaluate", "zoo:small_cnn", *SYNTHETIC, "--memory-budgets-mb", "2", "--csv").stdout
        [row] = csv.DictReader(text.splitlines())
        self.assertEqual(list(row), [*NAMES, "violates_2.0mb"])
        self.assertEqual(row["violates_2.0mb"], "false")

    def test_a_table_that_fits_a_terminal(self):
        result = assay("evaluate", "zoo:small_cnn", *SYNTHETIC, "--memory-budgets-mb", "1")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)
        self.assertIn("violates_1.0mb no", result.stdout)

    def test_data_without_a_test_part_counts_whole_and_says_so(self):
        data = self.npz(numpy.zeros((7, 1, 28, 28), "float32"), numpy.arange(7))
        seen = self.evaluated(*data)
        self.assertEqual(seen["dataset"]["size"], 7)
        self.assertEqual(seen["options"]["batch"], 7)
        self.assertIn("no test part", seen["warnings"][0])

    def test_other_precisions_are_refused_with_what_there_is(self):
        self.expect(2, "quantised already", "evaluate", "zoo:small_cnn", *SYNTHETIC, "--precision", "int8")
        self.expect(2, "choose from fp32", "evaluate", "zoo:small_cnn", *SYNTHETIC, "--precision", "fp12")
        self.expect(2, "choose from cpu, cuda", "evaluate", "zoo:small_cnn", *SYNTHETIC, "--device", "tpu")

    def test_bad_data(self):
        empty = self.npz(numpy.zeros((0, 1, 28, 28), "float32"), numpy.zeros(0, "int64"))
        self.expect(3, "data.npz", "evaluate", "zoo:small_cnn", *empty)
        many = self.npz(numpy.zeros((3, 1, 28, 28), "float32"), numpy.array([0, 5, 12]))
        self.expect(3, "scores for 10 classes", "evaluate", "zoo:small_cnn", *many)
        narrow = self.npz(numpy.zeros((3, 1, 20, 20), "float32"), numpy.zeros(3, "int64"))
        self.expect(3, "samples of data set", "evaluate", "zoo:small_cnn", *narrow)
        self.expect(3, "nowhere.npz", "evaluate", "zoo:small_cnn", "--dataset", self.folder / "nowhere.npz")
        wrong = self.folder / "wrong.npz"
        wrong.write_text("not a zip")
        self.expect(3, "wrong.npz", "evaluate", "zoo:small_cnn", "--dataset", wrong)
        self.expect(3, "No such file", "evaluate", self.folder / "none.onnx", *SYNTHETIC)

    def test_usage(self):
        self.expect(2, "--dataset", "evaluate", "zoo:small_cnn")
        for words in (["--batch", "0"], ["--repeats", "0"], ["--runs", "0"], ["--power-watts", "0"],
                      ["--latency-multiplier", "-1"], ["--memory-budgets-mb", "1,x"], ["--threads", "0"]):
            self.expect(2, words[0], "evaluate", "zoo:small_cnn", "--dataset", "synthetic", *words)
        self.expect(2, "excludes", "evaluate", "zoo:small_cnn", *SYNTHETIC, "--json", "--csv")


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
