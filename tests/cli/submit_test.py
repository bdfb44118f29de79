#!/usr/bin/env python3
"""assay sweep submit, with stand-ins for Slurm's commands. tests/cluster has a real Slurm. Usage: submit_test.py ASSAY"""
import os
import pathlib
import sys
import unittest

import cli_test
from cli_test import Case, assay

CONFIG = """model: SmallCNN
dataset: synthetic
epochs: 0
train_subset: 64
val_subset: 32
pruning_levels: [0.0]
precisions: [fp32]
batch_sizes: [1, 2, 3, 4, 5]
threads: [1]
benchmark_repeats: 1
benchmark_trials: 2
benchmark_warmup: 0
memory_bandwidth_gbps: 10
peak_compute_gmacs: 100
"""


class SubmitCase(Case):
    def setUp(self):
        super().setUp()
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        self.run_folder = self.folder / "run"
        self.config = self.folder / "sweep.yaml"
        self.config.write_text(CONFIG)

    def program(self, name, script):
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def environment(self, path=None):
        return dict(os.environ, PATH=path or f"{self.programs}:/usr/bin:/bin")

    def submit(self, *words, **options):
        return assay("sweep", "submit", *words, cwd=self.folder, env=self.environment(), **options)


class Slurm(SubmitCase):
    def setUp(self):
        super().setUp()
        self.program("sbatch", 'cp "$2" submitted; echo "17;cluster"')
        self.program("scontrol", 'echo "MaxArraySize            = 5"')

    def submitted(self):
        return (self.folder / "submitted").read_text().splitlines()

    def test_the_job_array_has_the_shards(self):
        result = self.submit(self.config, "-o", self.run_folder, "--slurm", "--shards", "3", "--max-jobs", "2",
                             "--slurm-args=--partition=cpu --time=5")
        self.assertEqual((result.returncode, result.stdout), (0, "17\n"), result.stderr)
        self.assertIn("assay sweep merge", result.stderr)
        lines = self.submitted()
        for line in ("#SBATCH --array=0-2%2", "#SBATCH --exclusive", "#SBATCH --requeue", "#SBATCH --signal=B:USR1@60",
                     f'#SBATCH --output="{self.run_folder}/slurm/%A_%a.log"', "#SBATCH --partition=cpu --time=5"):
            self.assertIn(line, lines)

    def test_only_shards_with_work_left_are_submitted_again(self):
        self.submit(self.config, "-o", self.run_folder, "--slurm", "--shards", "3", "--no-submit")
        self.assertFalse((self.folder / "submitted").exists())
        worker = assay("sweep", "worker", self.run_folder, "--shard", "1/3", cwd=self.folder)
        self.assertEqual(worker.returncode, 0, worker.stderr)
        missing = assay("sweep", "plan", self.run_folder, "--missing", cwd=self.folder)
        self.assertIn("shards with work left: 0,2 of 3", missing.stderr)
        self.submit(self.run_folder, "--slurm")
        self.assertIn("#SBATCH --array=0,2", self.submitted())

    def test_an_array_larger_than_slurm_allows_is_refused(self):
        result = self.submit(self.config, "-o", self.run_folder, "--slurm", "--shards", "6")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--shards 6: at most 5 are possible here", result.stderr)

    def test_a_refusal_of_sbatch_is_an_error(self):
        self.program("sbatch", "echo invalid partition >&2; exit 1")
        result = self.submit(self.config, "-o", self.run_folder, "--slurm", "--shards", "2")
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("invalid partition", result.stderr)
        self.assertIn("sbatch refused", result.stderr)


class BadSubmissions(SubmitCase):
    def test_what_is_missing_is_named(self):
        nothing = self.environment(str(self.programs))
        self.expect(4, "there is no sbatch here", "sweep", "submit", self.config, "--slurm", env=nothing)
        self.expect(4, "there is no GNU parallel here", "sweep", "submit", self.config, "--parallel", "x", env=nothing)
        self.expect(2, "submit where?", "sweep", "submit", self.config)

    def test_hosts_must_be_named(self):
        hosts = self.folder / "hosts.txt"
        self.expect(3, "hosts.txt: cannot be read", "sweep", "submit", self.config, "--parallel", hosts, "--no-submit")
        hosts.write_text("# none\n\n")
        self.expect(3, "names no host", "sweep", "submit", self.config, "--parallel", hosts, "--no-submit")


class Hosts(SubmitCase):
    def test_each_host_is_used_once_whatever_its_number_of_jobs(self):
        hosts = self.folder / "hosts.txt"
        hosts.write_text("4/pi@board1\npi@board1  # again\n@lab/2/ssh -p 2222 board2\n:\n")
        result = self.submit(self.config, "-o", self.run_folder, "--parallel", hosts, "--no-submit")
        self.assertEqual(result.returncode, 0, result.stderr)
        table = (self.run_folder / "parallel/hosts.tsv").read_text().splitlines()
        self.assertEqual([line.split("\t")[1:] for line in table],
                         [["pi@board1", "ssh pi@board1"], ["ssh -p 2222 board2", "ssh -p 2222 board2"], [":", "sh -c"]])

    def test_a_bundle_runs_by_itself(self):
        (self.folder / "hosts.txt").write_text("board\n")
        self.submit(self.config, "-o", self.run_folder, "--parallel", "hosts.txt", "--shards", "2", "--no-submit")
        bundle = self.run_folder / "parallel/bundle"
        journal = cli_test.subprocess.run([bundle / "run_shard", "0", "2"], cwd="/", capture_output=True, text=True)
        self.assertEqual(journal.returncode, 0, journal.stderr)
        self.assertEqual(len(journal.stdout.splitlines()), 3)


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
