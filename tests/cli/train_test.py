#!/usr/bin/env python3
"""assay train as people use it: files, streams, bad input, kill and resume. Usage: train_test.py ASSAY"""
import csv
import json
import pathlib
import resource
import subprocess
import sys
import time
import unittest

import numpy
import onnx

import cli_test
from cli_test import Case, assay

SMALL = ["--dataset", "synthetic", "--train-subset", "256", "--val-subset", "100", "--threads", "1"]
FEW = ["--train-subset", "2", "--val-subset", "1"]


def little_disk():
    """Files may grow to 20,000 bytes, as on a disk that is nearly full."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))


class TrainCase(Case):
    def trained(self, *words, model="zoo:small_cnn", data=SMALL):
        result = assay("train", model, *data, "--json", *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def npz(self, x, y):
        path = self.folder / "data.npz"
        numpy.savez(path, x=x, y=y)
        return ["--dataset", path]


class Trains(TrainCase):
    def test_writes_a_model_that_onnx_accepts(self):
        path = self.folder / "trained.onnx"
        seen = self.trained("--epochs", "3", "-o", path, "--confusion")
        self.assertEqual(seen["schema"], "assay.train/1")
        self.assertEqual([row["epoch"] for row in seen["epochs"]], [1, 2, 3])
        self.assertLess(seen["epochs"][2]["loss"], seen["epochs"][0]["loss"])
        self.assertEqual(seen["accuracy"], seen["epochs"][2]["val_accuracy"])
        self.assertLess(seen["accuracy_ci95_low"], seen["accuracy"])
        self.assertGreaterEqual(seen["accuracy_ci95_high"], seen["accuracy"])
        self.assertEqual(sum(map(sum, seen["confusion_matrix"])), 100)
        self.assertEqual(seen["dataset"]["train_size"], 256)
        self.assertEqual(seen["dataset"]["val_size"], 100)
        self.assertRegex(seen["dataset"]["sha256"], "^[0-9a-f]{64}$")
        self.assertEqual(seen["file"], str(path))
        onnx.checker.check_model(str(path), full_check=True)
        self.assertEqual([file.name for file in self.folder.iterdir()], ["trained.onnx"])

    def test_the_file_is_the_model_that_was_judged(self):
        path = self.folder / "trained.onnx"
        seen = self.trained("-o", path)
        again = self.trained("--evaluate-only", model=path)
        self.assertEqual(again["accuracy"], seen["accuracy"])
        self.assertEqual(again["epochs"], [])

    def test_table_lines_and_warnings_go_where_they_belong(self):
        result = assay("train", "zoo:mlp", *SMALL, "--epochs", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("95 % interval", result.stdout)
        self.assertIn("epoch 1/2: loss", result.stderr)
        self.assertIn("epoch 2/2: loss", result.stderr)
        self.assertIn("warning: the trained model is discarded", result.stderr)
        quiet = assay("-q", "train", "zoo:mlp", *SMALL, "--epochs", "2")
        self.assertEqual(quiet.stderr, "")

    def test_csv_has_a_line_for_each_epoch(self):
        result = assay("train", "zoo:mlp", *SMALL, "--epochs", "2", "--csv", "-q")
        rows = list(csv.DictReader(result.stdout.splitlines()))
        self.assertEqual([row["epoch"] for row in rows], ["1", "2"])
        self.assertGreater(float(rows[1]["samples_per_second"]), 0)

    def test_data_without_a_test_part_is_split(self):
        random = numpy.random.default_rng(0)
        y = random.integers(0, 3, 200)
        x = random.normal(size=(200, 784)).astype("f4") + y[:, None]
        seen = self.trained("--train-subset", "128", "--val-subset", "40", model="zoo:mlp",
                            data=self.npz(x, y))
        self.assertEqual((seen["dataset"]["train_size"], seen["dataset"]["val_size"]), (128, 40))
        self.assertIn("has no test part", " ".join(seen["warnings"]))

    def test_two_runs_write_the_same_bytes(self):
        for name in ("a.onnx", "b.onnx"):
            self.trained("--seed", "5", "-o", self.folder / name)
        self.assertEqual((self.folder / "a.onnx").read_bytes(),
                         (self.folder / "b.onnx").read_bytes())


class BadInput(TrainCase):
    def refused(self, code, message, *words, model="zoo:small_cnn", data=SMALL):
        return self.expect(code, message, "train", model, *data, *words)

    def test_numbers_out_of_range(self):
        self.refused(2, "the learning rate is 0", "--lr", "0")
        self.refused(2, "--lr -1", "--lr=-1")
        self.refused(2, "--lr fast", "--lr", "fast")
        self.refused(2, "--epochs 0", "--epochs", "0")
        self.refused(2, "--batch 0", "--batch", "0")
        self.refused(2, "momentum is 1", "--momentum", "1")
        self.refused(2, "checkpoint", "--resume")

    def test_names_that_do_not_exist(self):
        self.refused(2, "choose from sgd, momentum", "--optimizer", "adem")
        self.refused(2, "choose from constant, cosine", "--schedule", "step")
        self.refused(2, "no loss 'hinge'", "--loss", "hinge")
        self.refused(3, "did you mean 'fashion-mnist'?", data=["--dataset", "fashion-minst"])

    def test_data_that_does_not_fit_the_model(self):
        x = numpy.zeros((4, 3, 32, 32), "f4")
        self.refused(3, "samples of data set", *FEW, "--batch", "2",
                     data=self.npz(x, numpy.arange(4)))
        x = numpy.zeros((4, 1, 28, 28), "f4")
        self.refused(3, "scores for 10 classes", *FEW, "--batch", "2",
                     data=self.npz(x, numpy.arange(4) + 9))

    def test_labels_out_of_range(self):
        x = numpy.zeros((4, 1, 28, 28), "f4")
        self.refused(3, "label 2 is -1", data=self.npz(x, numpy.array([0, 1, -1, 2])))

    def test_empty_data(self):
        x = numpy.zeros((0, 1, 28, 28), "f4")
        self.refused(3, "empty", data=self.npz(x, numpy.zeros(0, "i8")))

    def test_a_batch_larger_than_the_data(self):
        self.refused(3, "no batch of 257 can be filled from 256 samples", "--batch", "257")

    def test_a_rate_that_diverges_names_the_layer_and_writes_nothing(self):
        path = self.folder / "trained.onnx"
        path.write_text("what was there before")
        result = self.refused(4, "training diverged in epoch 1, step", "-o", path, "--lr", "1e10",
                              "--optimizer", "sgd")
        self.assertRegex(result.stderr, "layer '(conv1|conv2|classifier)'")
        self.assertEqual(path.read_text(), "what was there before")

    def test_where_nothing_can_be_written_nothing_is_trained(self):
        self.refused(4, "cannot be written", "-o", self.folder / "none" / "trained.onnx",
                     "--epochs", "1000000")
        self.refused(3, "is a directory", "-o", self.folder, "--epochs", "1000000")

    def test_a_full_disk_leaves_the_checkpoint_as_it_was(self):
        path = self.folder / "run.npz"
        self.trained("--checkpoint", path)
        before = path.read_bytes()
        result = assay("-q", "train", "zoo:small_cnn", *SMALL, "--epochs", "2", "--checkpoint",
                       path, "--resume", preexec_fn=little_disk, restore_signals=False)
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn(f"{path}: cannot be written: File too large", result.stderr)
        self.assertEqual(path.read_bytes(), before)

    def test_checkpoints_of_another_training(self):
        path = self.folder / "run.npz"
        self.trained("--checkpoint", path)
        self.refused(3, "its learning rate is 0.001, this one's is 0.5", "--checkpoint", path,
                     "--resume", "--lr", "0.5")
        self.refused(3, "its model is", "--checkpoint", path, "--resume", model="zoo:lenet5")
        self.refused(2, "already exists", "--checkpoint", path)
        path.write_bytes(path.read_bytes()[:1000])
        self.refused(3, "cut short", "--checkpoint", path, "--resume")


class Interrupted(TrainCase):
    def words(self, name, epochs):
        return ["train", "zoo:small_cnn", *SMALL, "--epochs", str(epochs), "--checkpoint",
                self.folder / f"{name}.npz", "--resume", "-o", self.folder / f"{name}.onnx"]

    def kill_after_an_epoch(self, words, checkpoint):
        process = subprocess.Popen([cli_test.ASSAY, "-q", *map(str, words)])
        deadline = time.monotonic() + 60
        while not checkpoint.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertTrue(checkpoint.exists())

    def test_kill_loses_at_most_the_current_epoch(self):
        epochs = 12
        killed = self.words("killed", epochs)
        self.kill_after_an_epoch(killed, self.folder / "killed.npz")
        with numpy.load(self.folder / "killed.npz") as checkpoint:
            finished = len(checkpoint["epochs"])
        self.assertGreaterEqual(finished, 1)
        resumed = json.loads(assay(*killed, "--json", "-q").stdout)
        self.assertEqual(resumed["resumed_after"], finished)
        whole = json.loads(assay(*self.words("whole", epochs), "--json", "-q").stdout)
        losses = [[row["loss"] for row in seen["epochs"]] for seen in (resumed, whole)]
        self.assertEqual(losses[0], losses[1])
        self.assertEqual((self.folder / "killed.onnx").read_bytes(),
                         (self.folder / "whole.onnx").read_bytes())

    def test_ctrl_c_stops_after_the_step(self):
        code, output, complaints = self.interrupted(
            lambda code, output, _: code == 130, *self.words("stopped", 1_000_000))
        self.assertEqual(code, 130, complaints)
        self.assertEqual(output, "")
        self.assertRegex(complaints, "interrupted.*(stopped|cancelled while compiling)")
        self.assertFalse((self.folder / "stopped.onnx").exists())


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
