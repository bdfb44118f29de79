#!/usr/bin/env python3
"""Latency and peak memory of assay beside ONNX Runtime, in pairs of fresh processes that measure in turns.

  bench/peers/latency.py build/release/assay [MODEL ...] [--threads 1 2] [--batch 1] [--rounds 3]

MODEL is an .onnx file or zoo:NAME; without any, the networks of the table in the docs. An open dimension
is 1 unless --dim NAME=SIZE names it. Run it with a python that has onnxruntime and numpy, where GNU time
is installed. Every round starts one process of each engine; once both are ready they measure a third of a
second each in turn, so that both meet the same machine, and neither runs while the other does. A round's
ratio is the median over its turns of the ratio between the medians of turns side by side. Prints medians
over rounds, the median and the range of the rounds' ratios, and the peak memory of each process over one of
the same kind that loads no model.
"""
import argparse
import json
import os
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ZOO = ["resnet18", "resnet50", "vgg16", "mobilenet_v2", "small_cnn_gap", "vit_b16",
       "gpt2_small:last_only=1", "encoder", "lstm"]
TURN_SECONDS = 0.3
MESSAGE = struct.Struct("Q")  # how many samples were taken so far
TURNS_OUT = 3  # the descriptor on which a process says that it waits for its turn


def wait_for_turn(samples):
    os.write(TURNS_OUT, MESSAGE.pack(samples))
    if not os.read(0, MESSAGE.size):
        sys.exit("nobody hands out turns")


def run_onnxruntime(path, threads, seconds, dims):
    """The worker: one process, one session, as many runs as fit into its turns."""
    import onnxruntime  # here only: processes that are measured must not start as copies of a large one

    from model_runs import named_sizes, random_inputs
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    inputs = random_inputs(session, named_sizes(dims))
    wait_for_turn(0)
    for _ in range(5):
        session.run(None, inputs)
    samples = []
    measured = 0
    while measured < seconds or len(samples) < 5:
        turn = time.perf_counter()
        while time.perf_counter() - turn < TURN_SECONDS:
            start = time.perf_counter()
            session.run(None, inputs)
            samples.append((time.perf_counter() - start) * 1e3)
        measured += time.perf_counter() - turn
        wait_for_turn(len(samples))
    print(json.dumps({"median_ms": statistics.median(samples), "samples_ms": samples}))


def turn_medians(samples, turn_ends):
    """Of each whole turn."""
    medians = [statistics.median(samples[begin:end]) for begin, end in zip([0] + turn_ends, turn_ends)]
    return medians or [statistics.median(samples)]


class TurnTaker:
    """A process that waits for a message before each of its turns."""

    def __init__(self, command):
        self.command = command
        out, into = os.pipe()
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=self.output,
                                        stderr=subprocess.DEVNULL, close_fds=False,
                                        preexec_fn=lambda: (os.dup2(into, TURNS_OUT),
                                                            os.set_inheritable(TURNS_OUT, True)))
        os.close(into)
        self.said = out
        self.turn_ends = []
        self.wait()

    def wait(self):
        """Until it waits for its turn or has ended; threads that would spin meanwhile are stopped."""
        message = os.read(self.said, MESSAGE.size)
        self.runs = bool(message)
        if self.runs:
            os.kill(self.process.pid, signal.SIGSTOP)
            samples, = MESSAGE.unpack(message)
            if samples:
                self.turn_ends.append(samples)

    def take_turn(self):
        if self.runs:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.stdin.write(MESSAGE.pack(0))
            self.process.stdin.flush()
            self.wait()

    def result(self):
        """The median in milliseconds, the largest resident size in bytes, the medians of its turns."""
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = status
        os.close(self.said)
        self.process.stdin.close()
        if status != 0:
            sys.exit(f"{' '.join(self.command)}: exit status {status}")
        self.output.seek(0)
        document = json.load(self.output)
        latency = document.get("latency", document)
        return latency["median_ms"], usage.ru_maxrss * 1024, turn_medians(latency["samples_ms"], self.turn_ends)


def ratio(ours, theirs):
    return statistics.median(a / b for a, b in zip(ours[2], theirs[2]))


def largest_resident_size(command):
    """In bytes. GNU time starts the process: of one that this program starts, the system would count this
    program's own size too, since it was a copy of it for a moment."""
    with tempfile.NamedTemporaryFile() as figure:
        subprocess.run(["/usr/bin/time", "-f", "%M", "-o", figure.name, *command], check=True,
                       stdout=subprocess.DEVNULL)
        return int(figure.read()) * 1024


def dim_options(words):
    """NAME=SIZE words as options of assay."""
    return [part for word in words for part in ("--dim", word)]


def assay_command(arguments, path, threads):
    seconds = str(arguments.seconds)
    return [arguments.assay, "profile", path, "--json", "--no-ceilings", "--turns", str(TURN_SECONDS), "--threads",
            str(threads), "--optimize-for", arguments.optimize_for, "--min-time", seconds, "--max-time", seconds,
            *dim_options(arguments.dim)]


def onnxruntime_command(arguments, path, threads):
    return [sys.executable, __file__, "--worker", path, str(threads), str(arguments.seconds), *arguments.dim]


def measure_in_turns(commands):
    """The results of processes that measure side by side, in the order of their commands."""
    takers = [TurnTaker(command) for command in commands]
    while any(taker.runs for taker in takers):
        for taker in takers:
            taker.take_turn()
    return [taker.result() for taker in takers]


def measure_rounds(commands, rounds):
    """By round, the results in the order of the commands; every second round runs them in the reverse order."""
    results = []
    for turn in range(rounds):
        order = -1 if turn % 2 else 1
        results.append(measure_in_turns(commands[::order])[::order])
    return results


def compare(arguments, path, threads):
    """Medians and peaks of both, by round."""
    return measure_rounds([assay_command(arguments, path, threads), onnxruntime_command(arguments, path, threads)],
                          arguments.rounds)


def empty_processes(arguments):
    return (largest_resident_size([arguments.assay, "--version"]),
            largest_resident_size([sys.executable, "-c", "import onnxruntime, numpy"]))


def export(arguments, model, folder):
    if not model.startswith("zoo:"):
        return model
    name = model[4:]
    if arguments.batch != 1:
        name += ("," if ":" in name else ":") + f"batch={arguments.batch}"
    path = os.path.join(folder, name.replace(":", "_").replace("=", "_").replace(",", "_") + ".onnx")
    subprocess.run([arguments.assay, "zoo", "export", name, "-o", path], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return path


def needed_bytes(arguments, path):
    """Weights and live activations, as counted."""
    counted = subprocess.run([arguments.assay, "count", path, "--json", *dim_options(arguments.dim)], check=True,
                             stdout=subprocess.PIPE)
    totals = json.loads(counted.stdout)["totals"]
    return totals["parameter_bytes"] + totals["peak_activation_bytes"]


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--worker":
        return run_onnxruntime(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("models", nargs="*", default=["zoo:" + name for name in ZOO])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0, help="that each process measures")
    parser.add_argument("--optimize-for", default="latency")
    parser.add_argument("--dim", nargs="*", default=[])
    arguments = parser.parse_args()
    empty_ours, empty_theirs = empty_processes(arguments)
    print(f"{'model':28} {'thr':>3} {'assay ms':>9} {'ORT ms':>9} {'ratio':>6} {'range':>12}"
          f" {'assay MiB':>10} {'ORT MiB':>8} {'needed':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models:
            path = export(arguments, model, folder)
            needed = needed_bytes(arguments, path)
            for threads in arguments.threads:
                rounds = compare(arguments, path, threads)
                ratios = [ratio(ours, theirs) for ours, theirs in rounds]
                ms = [statistics.median(results[side][0] for results in rounds) for side in (0, 1)]
                mib = [(max(results[side][1] for results in rounds) - empty) / 2**20
                       for side, empty in ((0, empty_ours), (1, empty_theirs))]
                print(f"{model:28} {threads:3} {ms[0]:9.3f} {ms[1]:9.3f} {statistics.median(ratios):6.3f}"
                      f" {min(ratios):5.2f}–{max(ratios):5.2f} {mib[0]:10.1f} {mib[1]:8.1f} {needed / 2**20:7.1f}",
                      flush=True)


if __name__ == "__main__":
    main()
