"""Reads the figures of a profile's text report and finds those that contradict each other, or the
JSON of the same profile."""
import re

UNITS = {"ns": 1e-6, "µs": 1e-3, "ms": 1.0, "s": 1e3}


def joined(report):
    """Continued lines of the summary, in one."""
    return re.sub(r"\n {10,}", " ", report)


def milliseconds(number, unit):
    return float(number.replace(",", "")) * UNITS[unit]


def table_rows(report):
    """Times in ms by row of the table, '(between steps)' included, and that of the last row."""
    lines = report.splitlines()
    rules = [i for i, line in enumerate(lines) if line.startswith("──")]
    header = lines[rules[0] - 1]
    end = header.index("time ms") + len("time ms")

    def time_of(line):
        cell = line[:end].split()[-1]
        return 0.0 if cell == "-" else float(cell)

    rows = [time_of(line) for line in lines[rules[0] + 1:rules[1]]]
    return rows, time_of(lines[rules[1] + 1]), lines[rules[1] + 1]


def sums_up(rows, whole, report):
    """Within the rounding of each row."""
    decimals = len(report.split(".")[-1]) if "." in report else 0
    return abs(sum(rows) - whole) <= 0.5 * (len(rows) + 1) * 10 ** -decimals


def savings(report):
    """Of one run: not those that come once."""
    found = re.findall(r"^ *([\d.,]+) (ns|µs|ms|s)  ([\w-]+)(, once)?:", report, re.MULTILINE)
    return [milliseconds(number, unit) for number, unit, _, once in found if not once]


def contradictions(report, warnings, document):
    found = []

    def check(holds, text):
        if not holds:
            found.append(text)

    text = joined(report)
    latency = document["latency"]
    median = document["latency_ms"]
    headline = re.search(r"^(?:latency|step) +([\d.,]+) (ns|µs|ms|s)", text, re.MULTILINE)
    shown = milliseconds(*headline.groups())
    check(abs(shown / median - 1) < 1e-3, "the headline is not the median of the JSON")
    rows, whole, last = table_rows(report)
    cell = re.search(r"([\d.]+) +100\.0%", last).group(1)
    check(abs(whole - median) <= 0.5 * 10 ** -len(cell.split(".")[-1]) * 1.01, "the table's total is not the headline")
    check(sums_up(rows, whole, cell), "rows do not sum to the table's total")
    steps = sum(step["time_ms"] for step in document["steps"]) + document["between_steps_ms"]
    layers = sum(layer["time_ms"] or 0 for layer in document["layers"])
    check(abs(steps / median - 1) < 1e-6, "steps do not sum to the median")
    check(abs(layers / median - 1) < 1e-6, "layers do not sum to the median")
    for saving in savings(report) + [one["gain_ms"] for one in document["advice"] if not one["once"]]:
        check(saving <= shown * 1.001, "a saving exceeds the run")
    check((document["headroom_ms"] or 0) <= median, "the potential saving exceeds the run")
    low, high = latency["ci95_low_ms"], latency["ci95_high_ms"]
    check(low is None or low <= median <= high, "the interval does not hold the median")
    headline_interval = re.search(r"(±[\d.]+|−[\d.]+/\+[\d.]+) %   95 % interval", text)
    for quoted in re.findall(r"the interval is (±[\d.]+|−[\d.]+/\+[\d.]+) %", text + warnings):
        check(headline_interval and quoted == headline_interval.group(1), "two intervals of the median")
    first = re.search(r"first run ([\d.,]+ (?:ns|µs|ms|s))", text)
    for quoted in re.findall(r"the first run took ([\d.,]+ (?:ns|µs|ms|s))", warnings):
        check(quoted == first.group(1), "two first runs")
    executed = document["executed_flops"] / median / 1e6
    check(abs(executed - document["executed_gflops_per_second"]) <= 1e-6 * executed, "two executed rates")
    check(document["latency"]["verdict"] in text, "the verdict is not that of the JSON")
    found += rates_above_peak(document)
    return found


def rates_above_peak(document):
    """3 % is what a ceiling may be off by; times below 20 µs are too short to tell."""
    machine = document["machine"]
    if machine is None:
        return []
    return [f"{step['name']} runs at {step['executed_gflops_per_second']:.0f} GFLOP/s, above the peak"
            for step in document["steps"]
            if step["precision"] == machine["precision"] and step["time_ms"] >= 0.02
            and (step["executed_gflops_per_second"] or 0) > 1.03 * machine["peak_gflops"]]
