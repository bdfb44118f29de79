#!/usr/bin/env python3
"""assay report and --html from outside. Usage: report_test.py ASSAY"""
import html
import hashlib
import json
import re
import sys
import unittest

import cli_test
from cli_test import Case, assay

HOSTILE = "</script><script>alert(1)</script>"


def setUpModule():
    cli_test.use_made_up_machine()


def data_of(page):
    """The results that a page holds, or None for one without charts."""
    found = re.search(r'<script type="application/json" id="assay-data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found.group(1)) if found else None


class ReportCase(Case):
    def report(self, *words, code=0):
        result = assay("report", *words, "-o", self.folder / "page.html")
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        return result

    def page(self):
        return (self.folder / "page.html").read_text()

    def counted(self, name="count.json"):
        path = self.folder / name
        path.write_text(assay("count", "zoo:small_cnn", "--json").stdout)
        return path


class StoredResults(ReportCase):
    def test_a_result_becomes_a_page_that_holds_it(self):
        path = self.counted()
        self.report(path)
        page = self.page()
        self.assertTrue(page.startswith("<!doctype html>"))
        data = data_of(page)
        if data is None:
            self.assertIn("tables and figures only", page)
            return
        self.assertEqual(data["documents"][0]["result"], json.loads(path.read_text()))
        self.assertIn("assay report", re.sub(r"\S*assay ", "assay ", data["command"]))

    def test_a_folder_is_a_page_of_its_results(self):
        self.counted()
        (self.folder / "trace.json").write_text('{"traceEvents": []}')
        (self.folder / "broken.json").write_text("{")
        self.report(self.folder)
        data = data_of(self.page())
        if data is not None:
            self.assertEqual([document["name"] for document in data["documents"]], ["count.json"])

    def test_the_record_of_a_folder_is_on_its_page(self):
        self.counted()
        (self.folder / "reproducibility.json").write_text('{"version": "1.2.3", "data_sha256": "ab"}')
        self.report(self.folder)
        data = data_of(self.page())
        if data is not None:
            self.assertEqual([document["name"] for document in data["documents"]], ["count.json"])
            self.assertEqual(data["documents"][0]["record"], {"version": "1.2.3", "data_sha256": "ab"})

    def test_a_record_that_is_not_json_is_passed_over(self):
        self.counted()
        (self.folder / "reproducibility.json").write_text("{")
        self.report(self.folder)
        data = data_of(self.page())
        if data is not None:
            self.assertNotIn("record", data["documents"][0])

    def test_hostile_names_do_not_end_the_script(self):
        path = self.counted()
        result = json.loads(path.read_text())
        result["model"]["name"] = HOSTILE
        result["layers"][0]["name"] = HOSTILE
        path.write_text(json.dumps(result))
        self.report(path)
        self.assertNotIn("<script>alert", self.page())
        data = data_of(self.page())
        if data is None:
            self.assertIn(html.escape(HOSTILE), self.page())
        else:
            self.assertEqual(data["documents"][0]["result"]["model"]["name"], HOSTILE)

    def test_other_files_are_refused(self):
        for text, why in [("", "is not JSON"), ("{", "is not JSON"), ("[]", "is no result"), ('{"a": 1}', "is no result"),
                          ('{"schema": "other/1"}', "is no result")]:
            path = self.folder / "other.json"
            path.write_text(text)
            result = self.report(path, code=3)
            self.assertIn(f"other.json: {why}", result.stderr)
            self.assertFalse((self.folder / "page.html").exists())

    def test_a_missing_file_and_an_empty_folder_are_refused(self):
        self.assertIn("cannot be read", self.report(self.folder / "none.json", code=3).stderr)
        self.assertIn("holds no result", self.report(self.folder, code=3).stderr)

    def test_a_refused_result_leaves_an_earlier_page(self):
        (self.folder / "page.html").write_text("earlier")
        (self.folder / "bad.json").write_text("{")
        self.report(self.folder / "bad.json", code=3)
        self.assertEqual(self.page(), "earlier")


class PagesOfCommands(ReportCase):
    def expect_page(self, schema, *words, code=0):
        path = self.folder / "page.html"
        result = assay(*words, "--html", path)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertNotEqual(result.stdout, "")
        data = data_of(self.page())
        if data is not None:
            self.assertEqual(data["documents"][0]["result"]["schema"], schema)
        path.unlink()
        return data

    def test_commands_write_pages(self):
        self.expect_page("assay.count/1", "count", "zoo:small_cnn")
        data = self.expect_page("assay.profile/1", "profile", "zoo:small_cnn", "--runs", 3, "--top", 1)
        if data is not None:
            result = data["documents"][0]["result"]
            self.assertGreater(len(result["layers"]), 5)  # all of them, whatever the table shows
            self.assertTrue(result["hardware"]["devices"])
        self.expect_page("assay.profile-train/2", "profile", "zoo:small_cnn", "--train", "--runs", 3)
        self.expect_page("assay.stream/1", "stream", "--features", 8, "--interval-ms", 10)

    def test_a_page_of_training_has_a_confusion_matrix(self):
        data = self.expect_page("assay.train/1", "train", "zoo:small_cnn", "--dataset", "synthetic", "--train-subset", 64,
                                "--val-subset", 32)
        if data is not None:
            matrix = data["documents"][0]["result"]["confusion_matrix"]
            self.assertEqual(sum(map(sum, matrix)), 32)

    def test_a_page_names_the_hashes_of_its_models(self):
        model = self.folder / "model.onnx"
        assay("zoo", "export", "small_cnn", "-o", model)
        data = self.expect_page("assay.stream/1", "stream", model, "--interval-ms", 10)
        if data is not None:
            self.assertEqual(data["sources"], [{"path": str(model),
                                                "sha256": hashlib.sha256(model.read_bytes()).hexdigest()}])

    def test_a_page_that_cannot_be_written_is_an_error_before_anything_runs(self):
        result = assay("profile", "zoo:small_cnn", "--html", self.folder / "none" / "page.html")
        self.assertEqual(result.returncode, 4)
        self.assertIn("page.html", result.stderr)
        self.assertEqual(result.stdout, "")


class Origin(Case):
    """Which program and which command made a result."""

    def origin_of(self, *words):
        return json.loads(assay(*words).stdout).get("made_by")

    def test_results_tell_what_made_them(self):
        version = assay("--version").stdout.split()[-1]
        for words in [("count", "zoo:small_cnn", "--json"),
                      ("profile", "zoo:small_cnn", "--runs", 3, "--json"),
                      ("profile", "zoo:small_cnn", "--train", "--runs", 3, "--json"),
                      ("stream", "--features", 8, "--interval-ms", 10, "--json")]:
            origin = self.origin_of(*words)
            self.assertEqual(origin["version"], version)
            self.assertTrue(origin["command"].endswith(" ".join(str(word) for word in words)), origin)
            self.assertRegex(origin["libraries"], r"oneDNN \d")
            self.assertTrue(origin["compiler"])
            self.assertTrue(origin["processor"])
            self.assertRegex(origin["system"], r"^Linux \S+ \S+$")

    def test_files_of_a_folder_tell_it_too(self):
        assay("profile", "zoo:small_cnn", "--runs", 3, "--out", self.folder / "out")
        origin = json.loads((self.folder / "out" / "profile.json").read_text())["made_by"]
        self.assertIn("--out", origin["command"])

    def test_a_command_with_quotes_is_text(self):
        model = self.folder / 'a "quoted" \\ name.onnx'
        assay("zoo", "export", "small_cnn", "-o", model)
        self.assertIn(str(model), self.origin_of("count", model, "--json")["command"])

    def test_files_that_are_read_back_key_by_key_are_as_before(self):
        self.assertIsNone(self.origin_of("devices", "--json"))


class GraphAndMemory(Case):
    def test_edges_join_nodes_in_the_order_of_execution(self):
        result = json.loads(assay("count", "zoo:resnet18", "--json").stdout)
        nodes = {layer["node"] for layer in result["layers"]}
        self.assertTrue(result["edges"])
        for before, after in result["edges"]:
            self.assertLess(before, after)
            self.assertLessEqual({before, after}, nodes)

    def test_buffers_alive_at_a_step_sum_to_its_live_bytes(self):
        memory = json.loads(assay("count", "zoo:resnet18", "--json").stdout)["memory"]
        for step, live in enumerate(memory["live_bytes"]):
            alive = [one["bytes"] for one in memory["buffers"] if one["first_step"] <= step <= one["last_step"]]
            self.assertEqual(sum(alive), live)

    def test_buffers_of_a_profile_fit_the_arena_without_overlap(self):
        result = json.loads(assay("profile", "zoo:resnet18", "--runs", 2, "--threads", 1, "--json").stdout)
        buffers = result["memory"]["buffers"]
        self.assertTrue(any(one["name"] == "input" for one in buffers))
        for one in buffers:
            self.assertLessEqual(one["offset"] + one["bytes"], result["memory"]["arena_bytes"])
            self.assertLess(one["last_step"], len(result["steps"]))
        for i, one in enumerate(buffers):
            for other in buffers[:i]:
                together = one["first_step"] <= other["last_step"] and other["first_step"] <= one["last_step"]
                apart = one["offset"] + one["bytes"] <= other["offset"] or other["offset"] + other["bytes"] <= one["offset"]
                self.assertTrue(apart or not together, (one, other))


if __name__ == "__main__":
    cli_test.ASSAY = sys.argv.pop(1)
    unittest.main()
