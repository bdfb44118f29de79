#!/usr/bin/env python3
"""assay sweep as people use it: files, resuming, interruptions, bad input. Usage: sweep_test.py ASSAY"""
import csv
import json
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time
import unittest

import onnx

import cli_test
from cli_test import Case, assay

TINY = """
dataset: synthetic
train_subset: 128
val_subset: 64
batch_size: 32
epochs: 1
pruning_levels: [0.0, 0.5]
precisions: [fp32, int8]
calibration_batches: 2
benchmark_repeats: 1
benchmark_trials: 1
benchmark_warmup: 1
threads: [1]
memory_bandwidth_gbps: 12.8
peak_compute_gmacs: 64
"""
# The contract's own words.
ROW_HEADER = ["pruning_level", "precision", "accepted", "error", "active_budget_mb", "accuracy"]
SUMMARY_KEYS = {"baseline", "memory_budgets_mb", "active_memory_budget_mb", "cpu_frequency_scale",
                "latency_multiplier", "study_rows", "accepted_rows", "rejected_rows", "best_accuracy_accepted",
                "lowest_latency_ms_accepted", "deployment"}
FILES = {"sweep_results.csv", "pareto_frontier_latency.csv", "pareto_frontier_energy.csv",
         "pareto_frontier_memory.csv", "summary.json", "reproducibility.json", "accuracy_vs_latency.png",
         "accuracy_vs_energy.png", "accuracy_vs_memory.png", "layerwise_breakdown.csv", "precision_tradeoffs.csv",
         "hardware_summary.csv", "layerwise_activation_memory.png", "layerwise_macs.png",
         "accuracy_vs_latency.svg", "accuracy_vs_energy.svg", "accuracy_vs_memory.svg",
         "layerwise_activation_memory.svg", "layerwise_macs.svg",
         "quantization_metadata_p0.0_int8.json", "quantization_metadata_p0.5_int8.json", "recommended.onnx"}


class SweepCase(Case):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out"
        self.config = self.folder / "sweep.yaml"
        self.write()

    def write(self, more="", text=TINY):
        self.config.write_text(f"{text}output_dir: {self.out}\n{more}")

    def sweep(self, *words, code=0):
        result = assay("sweep", self.config, *words)
        self.assertEqual(result.returncode, code, result.stderr)
        return result

    def start(self):
        return subprocess.Popen([str(cli_test.ASSAY), "sweep", str(self.config)], stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL)

    def rows(self):
        with open(self.out / "sweep_results.csv", newline="") as file:
            return list(csv.DictReader(file))

    def tasks_in_journal(self):
        tasks = []
        for line in (self.out / "journal" / "results.jsonl").read_text().splitlines():
            try:
                tasks.append(json.loads(line)["record"]["task"])
            except (ValueError, KeyError):
                pass  # a line that was cut off
        return tasks


class Results(SweepCase):
    def test_all_files_of_the_contract(self):
        printed = self.sweep().stdout
        self.assertLessEqual(FILES, {path.name for path in self.out.iterdir()})
        self.assertEqual(printed, (self.out / "summary.json").read_text())
        summary = json.loads(printed)
        self.assertLessEqual(SUMMARY_KEYS, set(summary))
        self.assertEqual(summary["study_rows"], 4)
        self.assertEqual(summary["accepted_rows"] + summary["rejected_rows"], 4)
        rows = self.rows()
        self.assertEqual(list(rows[0])[:6], ROW_HEADER)
        self.assertIn("violates_1.0mb", rows[0])
        self.assertEqual([(row["pruning_level"], row["precision"]) for row in rows],
                         [("0.0", "fp32"), ("0.0", "int8"), ("0.5", "fp32"), ("0.5", "int8")])
        onnx.checker.check_model(str(self.out / "recommended.onnx"))
        made = json.loads((self.out / "reproducibility.json").read_text())
        for key in ("version", "commit", "cpu", "compiler", "libraries", "command", "device_requested", "device_used",
                    "model_sha256", "data_sha256"):
            self.assertTrue(made[key], key)
        self.assertEqual(len(made["model_sha256"]), 64)

    def test_a_second_run_does_nothing_again(self):
        self.sweep()
        before = self.tasks_in_journal()
        self.assertIn("5 of them before", self.sweep().stderr)
        self.assertEqual(self.tasks_in_journal(), before)

    def test_tables_and_csv(self):
        self.assertIn("fp32", self.sweep("--table").stdout)
        table = self.sweep("--csv").stdout.splitlines()
        self.assertEqual(len(table), 5)

    def test_seeds_from_the_command_line(self):
        self.sweep("--seeds", "1,2")
        seen = json.loads((self.out / "summary_multi_seed.json").read_text())
        self.assertEqual(len(seen["runs"]), 2)
        self.assertEqual(len(seen["aggregates"]), 4)

    def test_cuda_falls_back_and_says_so(self):
        self.write("device: cuda\n")
        self.assertIn("device cuda", self.sweep().stderr)
        made = json.loads((self.out / "reproducibility.json").read_text())
        self.assertEqual((made["device_requested"], made["device_used"]), ("cuda", "cpu"))

    def test_dry_run_and_print_config_write_nothing(self):
        self.assertIn("tasks, roughly", self.sweep("--dry-run").stdout)
        self.assertIn("calibration_batches: 2", self.sweep("--print-config").stdout)
        self.assertFalse(self.out.exists())

    def test_init_writes_a_configuration_that_is_read(self):
        path = self.folder / "new.yaml"
        self.assertEqual(assay("sweep", "init", path).returncode, 0)
        self.assertEqual(assay("sweep", path, "--print-config").returncode, 0)
        self.assertEqual(assay("sweep", "init", path).returncode, 3)  # not over a file that is there


class Interruptions(SweepCase):
    def test_ctrl_c_keeps_what_is_done(self):
        process = self.start()
        journal = self.out / "journal" / "results.jsonl"
        while process.poll() is None and not (journal.exists() and journal.stat().st_size):
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        self.assertIn(process.wait(timeout=60), (130, 0))
        kept = self.tasks_in_journal()
        self.assertTrue(kept)
        self.assertTrue((self.out / "sweep_results.csv").exists())
        self.sweep()
        self.assertEqual(len(set(self.tasks_in_journal())), 5)
        self.assertEqual(self.tasks_in_journal()[:len(kept)], kept)

    def test_kill_at_any_moment_loses_no_finished_row(self):
        moments = random.Random(1)
        for _ in range(8):
            process = self.start()
            time.sleep(moments.uniform(0, 0.5))
            process.kill()
            process.wait()
            if (self.out / "summary.json").exists():
                json.loads((self.out / "summary.json").read_text())  # whole, or not there
            if moments.random() < 0.3:
                shutil.rmtree(self.out, ignore_errors=True)
        self.sweep()
        tasks = self.tasks_in_journal()
        self.assertEqual(len(tasks), 5)
        self.assertEqual(len(set(tasks)), 5)
        self.assertEqual(len(self.rows()), 4)


class BadInput(SweepCase):
    def refused(self, text, *words, code=3):
        result = assay("sweep", self.config, *words)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(text, result.stderr)
        return result

    def test_all_problems_at_once(self):
        self.write("epohcs: 3\npower_watts: -1\nprecisions: [int4]\n", text="")
        result = self.refused("did you mean 'epochs'?")
        self.assertEqual(result.stderr.count("error:"), 3)
        self.assertIn("line 2: epohcs", result.stderr.replace("there is no key '", ""))
        self.assertFalse(self.out.exists())

    def test_no_file_no_model_no_data(self):
        self.assertEqual(assay("sweep", self.folder / "none.yaml").returncode, 3)
        self.assertEqual(assay("sweep").returncode, 2)
        self.assertIn("not a configuration", assay("sweep", "model.onnx").stderr)
        self.write("model: nothing.onnx\n")
        self.refused("nothing.onnx")
        self.write("model: smal_cnn\n")
        self.refused("small_cnn")
        self.write("", text=TINY.replace("synthetic", "imagenet"))
        self.refused("imagenet")

    def test_seeds_are_different_numbers(self):
        self.refused("1 is there twice", "--seeds", "1,2,1", code=2)
        self.refused("--seeds", "--seeds", "1,x", code=2)

    def test_a_folder_that_cannot_be_written(self):
        self.out.write_text("a file, not a folder")
        self.refused(str(self.out))

    def test_two_sweeps_in_one_folder(self):
        self.write("epochs: 200\n", text=TINY.replace("epochs: 1\n", ""))
        process = self.start()
        try:
            while process.poll() is None and not (self.out / "models").exists():
                time.sleep(0.005)
            self.refused("another sweep")
        finally:
            process.kill()
            process.wait()

    def test_worker_without_a_plan_and_wrong_shards(self):
        self.assertIn("no plan", assay("sweep", "worker", self.folder).stderr)
        self.assertEqual(assay("sweep", "worker", self.folder, "--shard", "3/3").returncode, 2)
        self.assertEqual(assay("sweep", "merge", self.folder).returncode, 3)


class ManyWorkers(SweepCase):
    def test_shards_and_merge_equal_a_serial_run(self):
        self.sweep()
        serial = self.rows()
        shutil.rmtree(self.out)
        self.assertEqual(assay("sweep", "plan", self.config).returncode, 0)
        for shard in range(3):
            self.assertEqual(assay("sweep", "worker", self.out, "--shard", f"{shard}/3").returncode, 0)
        self.assertEqual(assay("sweep", "merge", self.out).returncode, 0)
        exact = [name for name in serial[0] if "latency" not in name and "energy" not in name and
                 name not in ("throughput_sps",)]
        self.assertEqual([[row[name] for name in exact] for row in self.rows()],
                         [[row[name] for name in exact] for row in serial])


if __name__ == "__main__":
    cli_test.ASSAY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
