"""Ctrl-C, threads, copies of the process, and memory."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import assay

X = np.zeros((1, 1, 28, 28), np.float32)


def interrupted_after(seconds, work):
    """How long the work went on after Ctrl-C."""
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        work()
    return time.monotonic() - start - seconds


LONG = {
    "profile": lambda: assay.profile("zoo:small_cnn", min_time=60, max_time=60, ceilings=False),
    "measure_latency": lambda: assay.Profiler().measure_latency("zoo:small_cnn", X, iterations=10**8),
    "mean latency": lambda: assay.metrics.measure_latency("zoo:small_cnn", X, num_runs=10**8),
    "train": lambda: assay.train("zoo:small_cnn", "synthetic", epochs=1000),
    "machine": lambda: assay.machine(refresh=True, max_time=60),
    "compare": lambda: assay.compare("zoo:small_cnn", "zoo:lenet5", max_time=60, threshold=0.001),
    "stream": lambda: assay.stream("zoo:small_cnn", interval_ms=50, measured=True, duration=60),
}


@pytest.mark.parametrize("what", LONG)
def test_ctrl_c_stops(what):
    assert interrupted_after(0.4, LONG[what]) < 10


def test_an_exception_of_the_listener_stops_the_work():
    def listener(fraction, text):
        raise LookupError(text)

    with pytest.raises(LookupError):
        assay.profile("zoo:small_cnn", min_time=60, max_time=60, ceilings=False, progress=listener)


def test_progress_is_reported():
    seen = []
    assay.profile("zoo:lenet5", min_time=0.3, max_time=0.3, ceilings=False, progress=lambda *what: seen.append(what))
    assert seen and all(0 <= fraction <= 1 for fraction, _ in seen)


def test_threads_run_at_the_same_time():
    program = assay.compile("zoo:small_cnn", batch=4, threads=2)
    x = program.random_inputs()[0]
    expected = program(x)
    failures = []

    def work():
        for _ in range(50):
            if not np.array_equal(program(x), expected):
                failures.append("another result")
        assay.profile("zoo:lenet5", runs=3, warmup=1, ceilings=False)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_global_lock_is_free_while_a_model_runs():
    counted = []
    stop = threading.Event()
    thread = threading.Thread(target=lambda: [counted.append(1) for _ in iter(stop.is_set, True) if not time.sleep(0.005)])
    thread.start()
    assay.profile("zoo:small_cnn", min_time=0.5, max_time=0.5, ceilings=False, threads=1)
    stop.set()
    thread.join()
    assert len(counted) > 10


FORK = """
import multiprocessing, sys
import numpy as np
{first}
import assay
program = assay.compile("zoo:small_cnn", batch=8, threads=2)
x = program.random_inputs()[0]
expected = program(x)
assay.profile("zoo:lenet5", runs=3, warmup=1, ceilings=False, threads=2)
def child(queue):
    same = bool(np.array_equal(program(x), expected))
    result = assay.profile("zoo:lenet5", runs=3, warmup=1, ceilings=False, threads=2)
    queue.put((same, result))
context = multiprocessing.get_context("fork")
for _ in range(2):
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    same, result = queue.get(timeout=60)
    process.join(60)
    assert same and process.exitcode == 0, process.exitcode
    assert result.latency_ms > 0
assert np.array_equal(program(x), expected)
print("fine")
"""


@pytest.mark.parametrize("environment", [{}, {"OMP_WAIT_POLICY": "passive"}], ids=["own threads", "libgomp's threads"])
@pytest.mark.parametrize("first", ["", "torch"])
def test_a_copy_of_the_process_runs_models(environment, first):
    if first:
        pytest.importorskip(first)
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMP_", "GOMP_"))}
    code = FORK.format(first=f"import {first}" if first else "")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240, env={**clean, **environment})
    assert done.stdout.strip() == "fine", done.stderr


INTERRUPTED_BY_FORK = """
import os, threading, time
import assay
program = assay.compile("zoo:resnet18", threads=2)
x = program.random_inputs()[0]
expected = program(x)
stop = threading.Event()
thread = threading.Thread(target=lambda: [program(x) for _ in iter(stop.is_set, True)])
thread.start()
time.sleep(0.1)
process = os.fork()
if process == 0:
    os._exit(0 if (program(x) == expected).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
stop.set()
thread.join()
"""


def test_a_copy_of_the_process_runs_what_another_thread_was_running():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED_BY_FORK], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "0", done.stderr


def test_torch_keeps_its_number_of_threads():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    programs = [assay.compile("zoo:lenet5", threads=1), assay.compile("zoo:lenet5", threads=2)]
    assay.profile("zoo:lenet5", runs=2, warmup=1, ceilings=False, threads=1)
    del programs[0]
    del programs[0]
    assert torch.get_num_threads() == before


def resident_mb():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 1024**2


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_many_profiles_take_no_more_memory():
    def profile():
        assay.profile("zoo:small_cnn_gap", runs=3, warmup=1, ceilings=False)
        assay.compile("zoo:small_cnn_gap", threads=1)(X)

    for _ in range(30):
        profile()
    before = resident_mb()
    for _ in range(200):
        profile()
    assert resident_mb() - before < 5
