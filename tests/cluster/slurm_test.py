#!/usr/bin/env python3
"""Sweeps on a real Slurm of two nodes, and over ssh with GNU parallel, on this machine, with failures.

    tests/cluster/slurm_test.py ASSAY [unittest arguments]

Needs root, and the packages of 'scripts/setup cluster'. Afterwards every task is there exactly once, and the rows equal
a serial run's in every column that is not a time.
"""
import concurrent.futures
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import unittest

from private_slurm import NODES, PrivateSlurm, wait_until
from private_ssh import PrivateSsh
from sweep_cases import Sweep, check_complete, check_equal, damage, serial

ASSAY = pathlib.Path(sys.argv.pop(1)).resolve() if len(sys.argv) > 1 else None
FOLDER = pathlib.Path(tempfile.mkdtemp(prefix="assay-cluster-"))
LONG = 600


def is_in(process, folder):
    try:
        return os.readlink(process / "cwd") == str(folder)
    except OSError:
        return False


def workers_of(folder):
    """Processes of `assay sweep worker` on this folder or within it, the parents of those that measure."""
    found = []
    for process in pathlib.Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            parent = int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if b"worker" in words and (str(folder).encode() in words or is_in(process, folder)):
            found.append((int(process.name), parent))
    numbers = {number for number, _ in found}
    return [number for number, parent in found if parent not in numbers]


def setUpModule():
    global REFERENCE
    REFERENCE = serial(ASSAY, FOLDER / "serial")


def tearDownModule():
    shutil.rmtree(FOLDER, ignore_errors=True)


class OnSlurm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.slurm = PrivateSlurm(FOLDER / "slurm")
        cls.enterClassContext(cls.slurm)

    def sweep(self, name):
        sweep = Sweep(ASSAY, FOLDER / name)
        self.addCleanup(lambda: self.slurm.command("scancel", "--user", "root"))
        return sweep

    def submit(self, sweep, what, *words):
        result = sweep.done("submit", what, "--slurm", *words, env=self.slurm.environment)
        return result.stdout.strip()

    def wait_for(self, job):
        wait_until(lambda: self.slurm.is_over(job), LONG, f"job {job}: {self.slurm.states(job)}")

    def check(self, sweep):
        sweep.done("merge", sweep.run_folder)
        check_complete(self, sweep)
        check_equal(self, sweep, REFERENCE)

    def test_a_job_array_gives_the_rows_of_a_serial_run(self):
        sweep = self.sweep("plain")
        job = self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "4")
        self.wait_for(job)
        self.assertEqual(set(self.slurm.states(job).values()), {"COMPLETED"})
        self.check(sweep)
        again = sweep.done("submit", sweep.run_folder, "--slurm", env=self.slurm.environment)
        self.assertEqual(again.stdout, "")
        self.assertIn("every task is done", again.stderr)

    def test_killed_workers_drained_nodes_and_requeued_jobs_cost_no_row(self):
        sweep = self.sweep("failures")
        job = self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "4")
        self.kill_a_worker(sweep)
        self.requeue_a_job(sweep, job)
        self.drain_a_node(sweep)
        self.wait_for(job)
        self.assertIn("FAILED", self.slurm.states(job).values())
        before = sweep.records()
        self.damage_journals(sweep)
        left = sweep.done("plan", sweep.run_folder, "--missing")
        self.assertRegex(left.stderr, r"shards with work left: [0-9,-]+ of 4")
        job = self.submit(sweep, sweep.run_folder)
        self.assertLess(len(self.slurm.states(job)), 5)
        self.wait_for(job)
        self.check(sweep)
        self.assertGreaterEqual(set(sweep.records()), set(before))

    def kill_a_worker(self, sweep):
        wait_until(lambda: len(sweep.records()) >= 2, LONG, "results")
        os.kill(workers_of(sweep.run_folder)[0], signal.SIGKILL)

    def requeue_a_job(self, sweep, job):
        done = len(sweep.records())
        wait_until(lambda: len(sweep.records()) > done, LONG, "another result")
        running = [index for index, state in self.slurm.states(job).items() if state == "RUNNING"]
        if not running:
            self.fail(f"no job runs: {self.slurm.states(job)}")
        result = self.slurm.command("scontrol", "requeue", f"{job}_{running[0]}")
        self.assertEqual(result.returncode, 0, result.stderr)

    def drain_a_node(self, sweep):
        node = NODES[0]
        result = self.slurm.command("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        self.assertEqual(result.returncode, 0, result.stderr)
        wait_until(lambda: "drained" in self.slurm.command("sinfo", "-h", "-n", node, "-o", "%T").stdout, LONG,
                   "the node to be drained")
        self.slurm.command("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def damage_journals(self, sweep):
        journals = [journal for journal in sweep.journals() if journal.stat().st_size > 0]
        damage(journals[0])
        shutil.copy(journals[1], journals[1].with_name("copy-" + journals[1].name))
        with open(journals[-1], "ab") as file:
            file.write(journals[-1].read_bytes())

    def test_a_job_at_its_time_limit_goes_on_later(self):
        sweep = self.sweep("limit")
        job = self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "1")
        wait_until(lambda: len(sweep.records()) >= 2, LONG, "results")
        # What Slurm sends a minute before the limit.
        self.slurm.command("scancel", "--batch", "--signal=USR1", job)
        self.wait_for(job)
        self.assertEqual(self.slurm.states(job), {0: "COMPLETED"})
        self.assertRegex((sweep.run_folder / "slurm" / f"{job}_0.log").read_text(), "(?s)start 1.*start 2")
        self.assertEqual(len(sweep.records()), len(set(sweep.records())))  # nothing was measured twice
        self.check(sweep)

    def test_a_cancelled_job_is_not_queued_again(self):
        sweep = self.sweep("cancelled")
        job = self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "2")
        wait_until(lambda: len(sweep.records()) >= 1, LONG, "a result")
        self.slurm.command("scancel", job)
        self.wait_for(job)
        self.assertEqual(set(self.slurm.states(job).values()), {"CANCELLED"})
        wait_until(lambda: not workers_of(sweep.run_folder), 60, "workers to end")


class OverSsh(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.ssh = PrivateSsh(FOLDER / "ssh")
        cls.enterClassContext(cls.ssh)

    def sweep(self, name, hosts):
        sweep = Sweep(ASSAY, FOLDER / name)
        (sweep.folder / "hosts.txt").write_text(hosts)
        sweep.work = sweep.folder / "remote"
        return sweep

    def submit(self, sweep, what, *words):
        return sweep.command("submit", what, "--parallel", "hosts.txt", "--remote-folder", sweep.work, *words)

    def test_two_hosts_give_the_rows_of_a_serial_run(self):
        # All are this machine, and one folder serves all, as a common home would.
        sweep = self.sweep("boards", f"4/{self.ssh.login('board1')}\n# a comment\n{self.ssh.login('board2')}\n:\n")
        result = self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "6")
        self.assertEqual(result.returncode, 0, result.stderr)
        check_complete(self, sweep)
        check_equal(self, sweep, REFERENCE)

    def test_a_host_that_was_set_up_anew_and_a_cut_journal_cost_one_row(self):
        sweep = self.sweep("anew", f"{self.ssh.login('board1')}\n")
        result = self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "2")
        self.assertEqual(result.returncode, 0, result.stderr)
        before = sweep.records()
        damage(sweep.journals()[0])
        shutil.rmtree(sweep.work)
        again = self.submit(sweep, sweep.run_folder)
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(sorted(sweep.records()), sorted(before))
        check_complete(self, sweep)
        check_equal(self, sweep, REFERENCE)

    def test_a_host_that_is_down_and_a_killed_worker_cost_no_row(self):
        sweep = self.sweep("failures-ssh", f"{self.ssh.login('board1')}\nssh -p 1 -o BatchMode=yes 127.0.0.1\n")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            submitted = pool.submit(self.submit, sweep, sweep.config, "-o", sweep.run_folder, "--shards", "3")
            journals = sweep.work / "plan/journal"
            wait_until(lambda: any(file.stat().st_size for file in journals.glob("shard-*")), LONG, "a result")
            os.kill(workers_of(sweep.work)[0], signal.SIGKILL)
            result = submitted.result()
        self.assertIn("cannot be reached", result.stderr)
        self.assertEqual(result.returncode, 0, result.stderr)
        measured = sweep.records("board1.*")
        self.assertEqual(len(set(measured)), len(measured))  # nothing was measured twice
        check_complete(self, sweep)
        check_equal(self, sweep, REFERENCE)

    def test_results_that_never_came_back_are_collected_first(self):
        sweep = self.sweep("orphaned", f"{self.ssh.login('board1')}\n")
        self.submit(sweep, sweep.config, "-o", sweep.run_folder, "--shards", "3", "--no-submit")
        shutil.copytree(sweep.run_folder / "parallel/bundle", sweep.work)
        sweep.done("worker", sweep.work / "plan", "--shard", "0/3")
        journal = sweep.work / "plan/journal/shard-0-of-3.jsonl"
        measured = journal.read_bytes()
        result = self.submit(sweep, sweep.run_folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(journal.read_bytes(), measured)  # nothing of it was measured again
        check_complete(self, sweep)
        check_equal(self, sweep, REFERENCE)


if __name__ == "__main__":
    if ASSAY is None:
        sys.exit(__doc__)
    unittest.main(verbosity=2)
