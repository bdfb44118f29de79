"""A small sweep, its serial run, and what a distributed one must have in common with it."""
import csv
import json
import pathlib
import subprocess

CONFIG = """model: SmallCNN
dataset: synthetic
epochs: 1
batch_size: 32
train_subset: 256
val_subset: 128
pruning_levels: [0.0, 0.5]
precisions: [fp32, fp16, int8]
batch_sizes: [1, 8, 32]
threads: [1]
benchmark_repeats: 3
benchmark_trials: 2
benchmark_warmup: 1
calibration_batches: 2
memory_bandwidth_gbps: 10
peak_compute_gmacs: 100
seeds: [1, 2]
"""
ROWS = 2 * 2 * 3 * 3
# Times, what is computed from times, and what is read from the clock.
TIMED = ("latency", "throughput", "energy", "seconds", "measured_at", "ratio", "stream", "speedup")


class Sweep:
    def __init__(self, assay, folder):
        self.assay = str(assay)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.config = self.folder / "sweep.yaml"
        self.config.write_text(CONFIG)
        self.run_folder = self.folder / "run"

    def command(self, *words, **options):
        return subprocess.run([self.assay, "sweep", *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              **options)

    def done(self, *words, **options):
        result = self.command(*words, **options)
        assert result.returncode == 0, f"sweep {words}: {result.returncode}\n{result.stdout[-2000:]}{result.stderr}"
        return result

    def rows(self):
        with open(self.run_folder / "sweep_results.csv", newline="") as file:
            return list(csv.DictReader(file))

    def journals(self, pattern="*.jsonl"):
        return sorted((self.run_folder / "journal").glob(pattern))

    def records(self, pattern="*.jsonl"):
        """Tasks of all whole lines of these journals, with repetitions."""
        tasks = []
        for journal in self.journals(pattern):
            for line in journal.read_bytes().split(b"\n"):
                try:
                    tasks.append(json.loads(line)["record"]["task"])
                except (ValueError, KeyError):
                    pass
        return tasks


def serial(assay, folder):
    sweep = Sweep(assay, folder)
    sweep.done(sweep.config, "-o", sweep.run_folder)
    return sweep


def untimed(rows):
    names = [name for name in rows[0] if not any(word in name for word in TIMED)]
    return sorted(tuple((name, row[name]) for name in names) for row in rows)


def check_equal(test, ours, reference):
    mine, expected = untimed(ours.rows()), untimed(reference.rows())
    test.assertEqual(len(mine), ROWS)
    for left, right in zip(mine, expected):
        test.assertEqual(left, right)


def check_complete(test, sweep):
    """Every task exactly once: nothing is missing, and no version has two rows."""
    missing = sweep.done("plan", sweep.run_folder, "--missing")
    test.assertEqual(missing.stdout, "")
    keys = [(row.get("seed"), row["pruning_level"], row["precision"], row["batch_size"]) for row in sweep.rows()]
    test.assertEqual(len(keys), len(set(keys)))


def damage(journal):
    """Cuts the last line, as a crash while writing does; says which task that was."""
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]) + lines[-1][: len(lines[-1]) // 2])
    return json.loads(lines[-1])["record"]["task"]
