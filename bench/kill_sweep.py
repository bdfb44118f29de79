#!/usr/bin/env python3
"""Kills a sweep (kill -9) at random moments and goes on with it: every task exactly once, no finished row lost, derived
files always whole. Usage: kill_sweep.py ASSAY [--kills 200] [--seed 1]"""
import argparse
import csv
import json
import pathlib
import random
import shutil
import subprocess
import tempfile
import time

CONFIG = """dataset: synthetic
train_subset: 128
val_subset: 64
batch_size: 32
epochs: 1
pruning_levels: [0.0, 0.3, 0.5, 0.7]
precisions: [fp32, fp16, bf16, int8]
calibration_batches: 2
benchmark_repeats: 1
benchmark_trials: 1
benchmark_warmup: 1
threads: [1]
memory_bandwidth_gbps: 12.8
peak_compute_gmacs: 64
"""
ROWS = 16
RESULTS = ROWS + 1  # and the deployment


def finished(folder):
    """Tasks whose line in the journal is whole."""
    path = folder / "journal" / "results.jsonl"
    tasks = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            tasks.append(json.loads(line)["record"]["task"])
        except (ValueError, KeyError):
            pass
    return tasks


def check_derived(folder):
    """What is there, is whole."""
    for path in folder.glob("*.json"):
        json.loads(path.read_text())
    for path in folder.glob("*.png"):
        assert path.read_bytes()[-8:-4] == b"IEND", path
    for path in folder.glob("*.csv"):
        with open(path, newline="") as file:
            rows = list(csv.reader(file))
        assert all(len(row) == len(rows[0]) for row in rows), path


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("assay", type=pathlib.Path)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    moments = random.Random(arguments.seed)
    base = pathlib.Path(tempfile.mkdtemp())
    folder, config = base / "out", base / "sweep.yaml"
    config.write_text(CONFIG + f"output_dir: {folder}\n")
    command = [str(arguments.assay.resolve()), "sweep", str(config)]
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - start
    shutil.rmtree(folder)
    kills = sweeps = survived = 0
    while kills < arguments.kills:
        before = finished(folder)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            process.wait(timeout=moments.uniform(0, whole / 3))
            assert process.returncode == 0, process.stderr.read()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
        now = finished(folder)
        assert now[:len(before)] == before, "a finished row was lost"
        assert len(set(now)) == len(now), "a task was done twice"
        check_derived(folder)
        survived += len(now) - len(before)
        if process.returncode == 0:
            assert len(now) == RESULTS, (len(now), RESULTS)
            with open(folder / "sweep_results.csv", newline="") as file:
                assert len(list(csv.DictReader(file))) == ROWS
            sweeps += 1
            shutil.rmtree(folder)
    subprocess.run(command, check=True, capture_output=True)
    assert sorted(set(finished(folder))) == sorted(finished(folder)) and len(finished(folder)) == RESULTS
    print(f"{kills} kills, {sweeps} sweeps finished in between, {survived} rows kept; a sweep alone takes {whole:.2f} s")
    shutil.rmtree(base)


if __name__ == "__main__":
    main()
