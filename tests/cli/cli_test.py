#!/usr/bin/env python3
"""The command line as people use it: exit codes, messages, streams. Usage: cli_test.py ASSAY"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ASSAY = ""


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


class Help(Case):
    def test_every_help_ends_with_examples(self):
        for words in ([], ["count"], ["zoo"], ["zoo", "export"]):
            result = assay(*words, "--help")
            self.assertEqual(result.returncode, 0)
            self.assertIn("Examples:", result.stdout)

    def test_version(self):
        self.assertRegex(assay("--version").stdout, r"^assay \d+\.\d+\.\d+\n$")


class Usage(Case):
    def test_no_command(self):
        self.expect(2, "a command is missing")

    def test_mistyped_command(self):
        self.expect(2, "did you mean 'count'?", "cuont", "model.onnx")

    def test_unknown_flag(self):
        self.expect(2, "--frobnicate", "count", "zoo:mlp", "--frobnicate")

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


if __name__ == "__main__":
    ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
