#!/usr/bin/env python3
"""assay optimize as people use it: versions, targets, bad input. Usage: optimize_test.py ASSAY"""
import csv
import hashlib
import json
import pathlib
import resource
import signal
import sys
import unittest

import numpy
import onnx

import cli_test
from cli_test import Case, assay

QUICK = ["--threads", "1", "--optimize-for", "memory", "--max-time", "0.1"]
SMALL_CNN_MB = 20490 * 4 / 1024 / 1024


class OptimizeCase(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.onnx"

    def optimized(self, *words, model="zoo:small_cnn", code=0):
        result = assay("optimize", model, "-o", self.out, *words, *QUICK, "--json")
        self.assertEqual(result.returncode, code, result.stderr)
        self.complaints = result.stderr
        return json.loads(result.stdout)

    def samples(self, count):
        folder = self.folder / "samples"
        folder.mkdir()
        numbers = numpy.random.default_rng(0)
        for i in range(count):
            numpy.save(folder / f"{i:02}.npy", numbers.standard_normal((1, 28, 28)).astype("float32"))
        return folder


class Versions(OptimizeCase):
    def test_half_precision_is_written_and_recorded(self):
        seen = self.optimized("--precision", "bf16")
        self.assertEqual(seen["schema"], "assay.optimize/1")
        self.assertEqual(seen["after"]["version"], "bf16")
        self.assertIn("ONNX Runtime has no bf16", self.complaints)
        self.assertAlmostEqual(seen["after"]["memory_mb"], SMALL_CNN_MB / 2, places=5)
        self.assertIn(seen["comparison"]["verdict"], ("FASTER", "SLOWER", "SAME", "UNDECIDED"))
        self.assertEqual(seen["written"]["sha256"], hashlib.sha256(self.out.read_bytes()).hexdigest())
        onnx.checker.check_model(str(self.out))
        record = json.loads((self.folder / "out.onnx.json").read_text())
        self.assertEqual(record["schema"], "assay.optimized_model/1")
        self.assertEqual(record["written"]["sha256"], seen["written"]["sha256"])
        self.assertEqual(record["quantization"], [])

    def test_int8_records_scales_and_zero_points(self):
        seen = self.optimized("--precision", "int8", "--calibrate", self.samples(8))
        self.assertEqual(seen["choices"]["calibration"], "minmax")
        self.assertIn("2 batches", seen["judged_on"])
        self.assertIn("6 batches", seen["calibrated_on"])
        onnx.checker.check_model(str(self.out))
        record = json.loads((self.folder / "out.onnx.json").read_text())
        # One scale for a tensor, or one for each filter; layers that are faster in float have none.
        counts = {len(one["scales"]) for one in record["quantization"]}
        self.assertLessEqual(counts, {1, 16, 32, 10})
        self.assertTrue(counts & {16, 32, 10})

    def test_a_model_that_is_quantised_keeps_its_precision(self):
        self.optimized("--precision", "int8", "--calibrate", "random", "--calibration-samples", "4")
        quantised = self.out.rename(self.folder / "int8.onnx")
        seen = self.optimized("--precision", "int8", "--calibrate", "random", "--calibration-samples", "4",
                              model=quantised)
        self.assertIn("quantised already", " ".join(seen["warnings"]))
        self.assertEqual(seen["after"]["agreement"], 1)

    def test_pruned_by_half_and_fine_tuned(self):
        data = self.folder / "data.npz"
        numpy.savez(data, x=numpy.random.default_rng(0).random((200, 1, 28, 28), "float32"), y=numpy.arange(200) % 10)
        seen = self.optimized("--prune", "0.5", "--finetune", "1", "--dataset", data, "--val-subset", "50")
        self.assertEqual(seen["after"]["parameters"], 8 * 9 + 8 + 16 * 72 + 16 + 784 * 10 + 10)
        self.assertEqual(seen["after"]["accuracy_interval"]["samples"], 50)
        record = json.loads((self.folder / "out.onnx.json").read_text())
        self.assertEqual([(one["group"], one["kept"]) for one in record["pruning"] if not one["frozen"]],
                         [("conv1", 8), ("conv2", 16)])
        self.assertEqual(record["choices"]["finetune_epochs"], "1")

    def test_weights_of_products_as_codes(self):
        seen = self.optimized("--weights", "int4")
        self.assertEqual(seen["after"]["precision"], "weights-int4")
        self.assertLess(seen["after"]["memory_mb"], SMALL_CNN_MB / 2)

    def test_large_matrices_in_low_rank(self):
        # For a size, every large matrix is factorised: 784·256 weights with rank 96.
        seen = self.optimized("--low-rank", "0.5", "--precision", "fp32", "--prune", "0", "--target-mb", "60%",
                              model="zoo:mlp")
        self.assertEqual((seen["after"]["version"], seen["after"]["low_rank"]), ("low rank 0.5", 0.5))
        self.assertEqual(seen["after"]["parameters"], 96 * (784 + 256) + 256 + 256 * 128 + 128 + 1280 + 10)
        onnx.checker.check_model(str(self.out))
        record = json.loads((self.folder / "out.onnx.json").read_text())
        (layer,) = record["low_rank"]
        self.assertEqual((layer["rows"], layer["columns"], layer["rank"]), (784, 256, 96))

    def test_what_changes_no_result_is_removed(self):
        value = onnx.helper.make_tensor_value_info
        nodes = [onnx.helper.make_node("Identity", ["x"], ["same"]), onnx.helper.make_node("Exp", ["x"], ["unread"]),
                 onnx.helper.make_node("Relu", ["same"], ["a"]), onnx.helper.make_node("Relu", ["x"], ["b"]),
                 onnx.helper.make_node("Add", ["a", "b"], ["y"])]
        graph = onnx.helper.make_graph(nodes, "untidy", [value("x", 1, [1, 8])], [value("y", 1, [1, 8])])
        model = self.folder / "untidy.onnx"
        onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), model)
        seen = self.optimized("--tidy", model=model)
        self.assertEqual((seen["after"]["version"], seen["after"]["tidy"]), ("tidied", True))
        self.assertEqual(seen["after"]["notes"],
                         ["removed without changing a result: 2 idle nodes, 1 repeated node"])
        self.assertEqual([node.op_type for node in onnx.load(self.out).graph.node], ["Relu", "Add"])
        kept = self.optimized("--precision", "fp32", "--no-tidy", model=model)
        self.assertEqual(kept["after"]["version"], "unchanged")
        again = self.optimized("--tidy")
        self.assertEqual(again["after"]["version"], "unchanged")
        self.assertIn("the model is tidy already", self.complaints)

    def test_sensitivity_is_a_table_and_a_picture(self):
        result = assay("optimize", "zoo:small_cnn", "-o", self.out, "--precision", "int8", "--calibrate", "random",
                       "--calibration-samples", "4", "--sensitivity", "--out", self.folder / "files", *QUICK)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("int8 in this layer alone", result.stdout)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 80)
        self.assertEqual((self.folder / "files/sensitivity.png").read_bytes()[:4], b"\x89PNG")
        rows = list(csv.DictReader((self.folder / "files/sensitivity.csv").read_text().splitlines()))
        self.assertEqual([row["layer"] for row in rows], ["conv1", "conv2", "classifier"])
        self.assertTrue((self.folder / "files/optimize.json").exists())
        self.assertTrue((self.folder / "files/optimize_trail.csv").exists())


class Targets(OptimizeCase):
    def test_the_first_version_that_meets_a_target_is_written(self):
        seen = self.optimized("--target-mb", "60%")
        self.assertTrue(seen["goal"]["met"])
        self.assertEqual([one["version"] for one in seen["trail"]], ["fp16"])
        self.assertIn("int8 was not tried", self.complaints)

    def test_a_search_goes_on_to_pruning(self):
        seen = self.optimized("--target-mb", "0.02")
        self.assertTrue(seen["goal"]["met"])
        self.assertGreater(seen["after"]["prune"], 0)
        self.assertLessEqual(seen["after"]["memory_mb"], 0.02)

    def test_an_impossible_target_writes_the_best_and_fails(self):
        seen = self.optimized("--target-mb", "0.00001", code=1)
        self.assertFalse(seen["goal"]["met"])
        self.assertTrue(self.out.exists())
        self.assertIn("the best version found is written", self.complaints)
        self.assertEqual(seen["after"]["memory_mb"], min(one["memory_mb"] for one in seen["trail"]))

    def test_a_target_that_is_met_already_changes_nothing(self):
        seen = self.optimized("--target-mb", "1")
        self.assertEqual((seen["after"]["version"], seen["trail"]), ("unchanged", []))
        self.assertTrue(self.out.exists())

    def test_the_versions_tried_as_csv(self):
        result = assay("optimize", "zoo:small_cnn", "-o", self.out, "--target-mb", "60%", *QUICK, "--csv")
        rows = list(csv.DictReader(result.stdout.splitlines()))
        self.assertEqual([row["version"] for row in rows], ["unchanged", "fp16"])
        self.assertEqual(rows[1]["meets_target"], "true")

    def test_a_loss_without_labels_is_of_agreement(self):
        seen = self.optimized("--target-mb", "0.001", "--max-loss", "0", "--calibrate", "random",
                              "--calibration-samples", "4", code=1)
        self.assertEqual(seen["after"]["agreement"], 1)

    def test_ctrl_c_keeps_the_best_so_far(self):
        words = ["optimize", "zoo:mobilenet_v2", "-o", self.out, "--target-ms", "0.0001", "--threads", "1",
                 "--optimize-for", "memory"]
        code, _, complaints = self.interrupted(lambda _code, _output, complaints: "is written" in complaints, *words)
        self.assertEqual(code, 130, complaints)
        self.assertIn("the best version so far is written", complaints)
        onnx.checker.check_model(str(self.out))


class BadInput(OptimizeCase):
    def refused(self, code, message, *words, model="zoo:small_cnn"):
        self.expect(code, message, "optimize", model, "-o", self.out, *words, *QUICK)
        self.assertFalse(self.out.exists())

    def test_usage(self):
        self.refused(2, "nothing to do")
        for level in ("1", "1.5", "-0.1", "half", "nan"):
            self.refused(2, "--prune", f"--prune={level}")
            self.refused(2, "--low-rank", f"--low-rank={level}")
        self.refused(2, "excludes", "--tidy", "--no-tidy")
        self.refused(3, "256 rows and columns", "--low-rank", "0.5")
        self.refused(2, "expected fp32", "--precision", "fp12")
        self.refused(2, "exclude each other", "--precision", "bf16", "--weights", "int8")
        self.refused(2, "--target-ms", "--target-ms", "0")
        self.refused(2, "--max-loss", "--max-loss", "101")
        self.refused(2, "excludes", "--precision", "bf16", "--csv", "--json")

    def test_missing_data_says_what_to_give(self):
        self.refused(2, "--calibrate random", "--precision", "int8")
        self.refused(2, "--dataset NAME for accuracy", "--target-ms", "1", "--max-loss", "1")
        self.refused(2, "--finetune needs labels", "--prune", "0.5", "--finetune", "1", "--calibrate", "random")
        self.refused(2, "--finetune requires --prune", "--precision", "fp16", "--finetune", "1", "--dataset", "synthetic")
        self.refused(2, "--sensitivity needs data", "--precision", "bf16", "--sensitivity")
        self.refused(3, "nowhere", "--precision", "int8", "--calibrate", self.folder / "nowhere")

    def test_files(self):
        self.refused(3, "No such file", "--precision", "bf16", model=self.folder / "none.onnx")
        model = self.folder / "model.onnx"
        assay("zoo", "export", "small_cnn", "-o", model)
        before = model.read_bytes()
        self.expect(2, "is the model itself", "optimize", model, "-o", model, "--precision", "bf16")
        self.assertEqual(model.read_bytes(), before)
        self.expect(3, "nowhere", "optimize", "zoo:small_cnn", "-o", self.folder / "nowhere/out.onnx",
                    "--precision", "bf16")

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").touch()
        self.refused(3, "the folder cannot be made", "--precision", "bf16", "--out", self.folder / "file/out")

    def test_wrong_samples(self):
        folder = self.samples(1)
        numpy.save(folder / "00.npy", numpy.zeros((1, 20, 20), "float32"))
        self.refused(3, "input 'input' is", "--precision", "int8", "--calibrate", folder)

    def test_a_folder_without_samples(self):
        folder = self.folder / "empty"
        folder.mkdir()
        self.refused(3, "no .npy files to calibrate with", "--precision", "int8", "--calibrate", folder)

    def test_a_file_that_cannot_be_written_whole_leaves_nothing_behind(self):
        def no_large_files():  # as on a full disk, writing fails halfway
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))

        result = assay("optimize", "zoo:small_cnn", "-o", self.out, "--precision", "fp16", *QUICK,
                       preexec_fn=no_large_files)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("out.onnx: cannot be written", result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_an_unknown_device(self):
        result = assay("optimize", "zoo:small_cnn", "-o", self.out, "--target-ms", "1", "--device", "no-such-thing",
                       *QUICK)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("'assay devices' lists them", result.stderr)


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
