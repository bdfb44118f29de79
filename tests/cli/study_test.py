#!/usr/bin/env python3
"""assay study from outside. Usage: study_test.py ASSAY"""
import csv
import io
import json
import sys
import unittest

import cli_test
from cli_test import Case, assay

QUICK = ["--warmup", "1", "--runs", "2", "--rounds", "1"]
STUDIES = {
    "scaling": ["scaling", "--values", "16,32"],
    "batch": ["batch", "--batch", "1,4"],
    "operations": ["operations", "--sizes", "16,32"],
    "overhead": ["overhead", "zoo:small_cnn"],
    "precision": ["precision", "zoo:small_cnn"],
    "threads": ["threads", "zoo:mlp", "--threads", "1"],
}


def setUpModule():
    cli_test.use_made_up_machine()


class StudyCase(Case):
    def study(self, *words):
        result = assay("study", *words, *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def document(self, *words):
        return json.loads(self.study(*words, "--json"))


class EveryStudy(StudyCase):
    def test_json_csv_and_tables_have_the_same_rows(self):
        for name, words in STUDIES.items():
            document = self.document(*words)
            self.assertEqual(document["schema"], "assay.study/1")
            self.assertEqual(document["study"], name)
            self.assertEqual(document["machine"]["processor"], "made up") if name != "overhead" else None
            self.assertTrue(document["verdict"])
            self.assertIn("study " + name, document["made_by"]["command"])
            keys = [column["key"] for column in document["columns"]]
            rows = list(csv.DictReader(io.StringIO(self.study(*words, "--csv"))))
            self.assertEqual(list(rows[0]), keys)
            self.assertEqual(len(rows), len(document["rows"]))

    def test_tables_fit_80_columns_and_markdown_is_a_table(self):
        for words in STUDIES.values():
            for line in self.study(*words).splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertIn("| ---", self.study(*words, "--markdown"))

    def test_out_writes_table_pictures_and_json_that_report_reads(self):
        folder = self.folder / "results"
        for words in STUDIES.values():
            self.study(*words, "--out", folder)
        self.assertEqual({path.name for path in folder.iterdir()},
                         {name + ending for name in STUDIES for ending in (".json", ".csv", ".png", ".svg")})
        for name in STUDIES:
            self.assertTrue((folder / (name + ".png")).read_bytes().startswith(b"\x89PNG"))
        result = assay("report", folder, "-o", self.folder / "page.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        page = (self.folder / "page.html").read_text()
        self.assertIn("sweet_spot", page)

    def test_html_is_a_page(self):
        self.study("batch", "--batch", "1,2", "--html", self.folder / "page.html")
        self.assertTrue((self.folder / "page.html").read_text().startswith("<!doctype html>"))

    def test_every_help_has_examples(self):
        for words in [[]] + [[name] for name in [*STUDIES, "decode"]]:
            text = assay("study", *words, "--help").stdout
            self.assertIn("Examples:", text)
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertNotIn(" TEXT", text)


class Figures(StudyCase):
    def test_scaling_counts_as_count_does(self):
        document = self.document("scaling", "zoo:encoder:layers=1,length=8", "--parameter", "width", "--values", "32,64")
        for row in document["rows"]:
            spec = f"zoo:encoder:layers=1,length=8,width={row['size']}"
            totals = self.totals(spec)
            self.assertEqual(row["parameters"], totals["parameters"])
            self.assertEqual(row["flops"], totals["flops"])
        self.assertEqual(document["parameter"], "width")
        self.assertAlmostEqual(document["growth_factors"]["flops"],
                               document["rows"][1]["flops"] / document["rows"][0]["flops"])

    def test_the_standard_scaling_is_that_of_widths_at_batch_32(self):
        document = json.loads(assay("study", "scaling", "--rounds", "1", "--json").stdout)
        self.assertEqual([row["size"] for row in document["rows"]], [64, 128, 256, 512])
        self.assertEqual(document["batch"], 32)

    def test_the_sweet_spot_follows_its_rule(self):
        document = self.document("batch", "zoo:mlp", "--batch", "1,2,4,8")
        best = max(row["samples_per_second"] for row in document["rows"])
        near = [row["batch_size"] for row in document["rows"] if row["samples_per_second"] >= 0.97 * best]
        self.assertEqual(document["sweet_spot"], min(near))

    def test_a_budget_that_nothing_meets_is_no_error(self):
        document = self.document("batch", "zoo:mlp", "--batch", "1,2", "--max-mb", "0.01")
        self.assertIsNone(document["sweet_spot"])
        self.assertIn("No batch stays within 0.01 MB", document["verdict"][0])

    def test_decoding_recomputes_what_is_counted(self):
        document = self.document("decode", "zoo:gpt2_small:layers=1", "--tokens", "4", "--prompt", "3")
        plain, cached = document["rows"]
        self.assertEqual(plain["macs_per_token"], self.totals("zoo:gpt2_small:layers=1,length=6")["macs"])
        self.assertEqual(cached["macs_per_token"], self.totals("zoo:gpt2_small_decode:layers=1,past=4")["macs"])
        self.assertEqual(document["recomputed_macs"], plain["macs_per_token"] - cached["macs_per_token"])
        self.assertAlmostEqual(document["measured_speedup"], plain["latency_ms"] / cached["latency_ms"])
        self.assertEqual(document["memory_per_token_kb"], 2 * 768 * 4 / 1024)

    def test_precisions_halve_the_size(self):
        rows = {row["precision"]: row for row in self.document("precision", "zoo:small_cnn")["rows"]}
        self.assertAlmostEqual(rows["fp16"]["size_mb"], rows["fp32"]["size_mb"] / 2, places=3)
        self.assertLess(rows["int8"]["size_mb"], rows["fp16"]["size_mb"])
        self.assertIsNone(rows["fp32"]["output_deviation"])
        self.assertLess(rows["fp16"]["output_deviation"], rows["int8"]["output_deviation"])


class Errors(StudyCase):
    def test_a_missing_or_mistyped_study(self):
        self.expect(2, "a study is missing; there are: scaling, batch", "study")
        self.expect(2, "did you mean 'scaling'?", "study", "scalng")

    def test_bad_values(self):
        self.expect(2, "--values", "study", "scaling", "--values", "64")
        self.expect(2, "must ascend", "study", "scaling", "--values", "64,32")
        self.expect(2, "--batch", "study", "batch", "--batch", "1,x")
        self.expect(2, "--runs", "study", "batch", "--runs", "0")
        self.expect(2, "size 4", "study", "operations", "--sizes", "4")
        self.expect(2, "--cached MODEL is required", "study", "decode", "zoo:mlp")

    def test_bad_models(self):
        self.expect(3, "only networks of the zoo", "study", "scaling", "model.onnx")
        self.expect(3, "did you mean 'width'?", "study", "scaling", "--parameter", "widht")
        self.expect(3, "missing.onnx: cannot be opened", "study", "batch", self.folder / "missing.onnx")
        self.expect(3, "no past keys and values", "study", "decode", "zoo:mlp", "--cached", "zoo:mlp")

    def test_nothing_is_written_after_an_error(self):
        folder = self.folder / "results"
        result = assay("study", "batch", self.folder / "missing.onnx", "--out", folder)
        self.assertEqual(result.returncode, 3)
        self.assertEqual(list(folder.iterdir()) if folder.exists() else [], [])


if __name__ == "__main__":
    cli_test.ASSAY = sys.argv.pop(1)
    unittest.main()
