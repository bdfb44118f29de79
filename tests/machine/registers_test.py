#!/usr/bin/env python3
"""The inner loop of every peak kernel stays in registers and does the arithmetic it declares.

  registers_test.py BINARY

Disassembles run_peak_* of BINARY: between the target of a backward jump and the jump there must be no
operand in memory, and as many arithmetic instructions as the kernel's name calls for."""
import platform
import re
import subprocess
import sys

# Instructions of a round that do arithmetic on vectors, and how many the source has.
WANTED = {
    "fp32_baseline": (r"\s(mulps|addps)\s", 12),
    "fp32_avx2": (r"\svfmadd\d+ps\s", 12),
    "fp32_avx512": (r"\svfmadd\d+ps\s", 16),
    "fp16_avx512": (r"\svfnmadd\d+ph\s", 16),
    "bf16_avx512": (r"\svdpbf16ps\s", 16),
    "int8_avx2": (r"\svpmaddubsw\s", 8),
    "int8_avx_vnni": (r"vpdpbusd\s", 12),
    "int8_avx512": (r"\svpmaddubsw\s", 8),
    "int8_avx512_vnni": (r"\svpdpbusd\s", 16),
    "int16_avx512_vnni": (r"\svpdpwssd\s", 16),
    "int8_amx": (r"\stdpbusd\s", 6),
    "bf16_amx": (r"\stdpbf16ps\s", 6),
}


def functions(binary):
    listing = subprocess.run(["objdump", "-d", "-C", "--no-show-raw-insn", binary], check=True,
                             capture_output=True, text=True).stdout
    kernel = r"^[0-9a-f]+ <assay::machine::\(anonymous namespace\)::run_peak_(\w+)[^>]*>:\n((?:.+\n)*)"
    for name, body in re.findall(kernel, listing, re.MULTILINE):
        yield name, body.splitlines()


def loop(lines, pattern):
    """The lines from the target of a backward jump to the jump, where most arithmetic is done."""
    at = {line.split(":")[0].strip(): number for number, line in enumerate(lines)}
    found = []
    for number, line in enumerate(lines):
        jump = re.search(r"\sj\w+\s+([0-9a-f]+)\s", line)
        target = at.get(jump.group(1)) if jump else None
        if target is not None and target <= number:
            found.append(lines[target:number + 1])
    return max(found, key=lambda body: sum(bool(re.search(pattern, line)) for line in body), default=[])


def main():
    if platform.machine() != "x86_64":
        print("no rules for the instructions of this architecture yet: nothing was checked", file=sys.stderr)
        return 77
    problems = []
    seen = set()
    for name, lines in functions(sys.argv[1]):
        seen.add(name)
        pattern, count = WANTED[name]
        body = loop(lines, pattern)
        arithmetic = [line for line in body if re.search(pattern, line)]
        in_memory = [line for line in body if "(" in re.split("[#<]", line)[0] and "nop" not in line]
        if len(arithmetic) != count:
            problems.append(f"{name}: {len(arithmetic)} arithmetic instructions a round, not {count}")
        problems += [f"{name}: goes to memory: {line.strip()}" for line in in_memory]
    problems += [f"{name}: not in {sys.argv[1]}" for name in WANTED if name not in seen]
    print("\n".join(problems) or f"{len(seen)} kernels stay in registers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
