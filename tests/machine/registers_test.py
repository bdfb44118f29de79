#!/usr/bin/env python3
"""The inner loop of every peak kernel stays in registers and does the arithmetic it declares.

  registers_test.py BINARY

Disassembles run_peak_* of BINARY: between the target of a backward jump and the jump there must be no
operand in memory, and as many arithmetic instructions as the kernel's name calls for."""
import platform
import re
import shutil
import struct
import subprocess
import sys

# Of every architecture: which arithmetic instructions a round has and how many the source has, how an operand in memory
# looks, and how a jump does.
X86_64 = {
    "kernels": {
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
    },
    "memory": r"^(?!.*nop)[^#<]*\(",
    "jump": r"\sj\w+\s+([0-9a-f]+)\s",
}
AARCH64 = {
    "kernels": {
        "fp32_baseline": (r"\sfmla\s+v\d+\.4s", 24),
        "fp16_neon": (r"\sfml[as]\s+v\d+\.8h", 48),
        "bf16_neon": (r"\sbfmmla\s", 24),
        "int8_neon": (r"\s(smull|smlal2|sadalp)\s", 48),
        "int8_neon_dot": (r"\ssdot\s", 24),
        "int8_neon_i8mm": (r"\ssmmla\s", 24),
    },
    "memory": r"\[(x\d|sp)",
    "jump": r"\s(?:b\.\w+|cbn?z|tbn?z)\s+(?:[wx]\d+, )?(?:#\d+, )?([0-9a-f]+)\s",
}
# ELF's e_machine, and as `uname -m` and Debian's cross tools name it.
ARCHITECTURES = {62: ("x86_64", X86_64), 183: ("aarch64", AARCH64)}


def machine_of(binary):
    with open(binary, "rb") as file:
        header = file.read(20)
    return struct.unpack_from("<H", header, 18)[0]


def disassembler(architecture):
    """The program that reads this architecture; nothing if it is another machine's and not installed."""
    if architecture == platform.machine():
        return "objdump"
    return shutil.which(f"{architecture}-linux-gnu-objdump")


def functions(objdump, binary):
    listing = subprocess.run([objdump, "-d", "-C", "--no-show-raw-insn", binary], check=True,
                             capture_output=True, text=True).stdout
    kernel = r"^[0-9a-f]+ <assay::machine::\(anonymous namespace\)::run_peak_(\w+)[^>]*>:\n((?:.+\n)*)"
    for name, body in re.findall(kernel, listing, re.MULTILINE):
        yield name, body.splitlines()


def loop(lines, pattern, jump_pattern):
    """The lines from the target of a backward jump to the jump, where most arithmetic is done."""
    at = {line.split(":")[0].strip(): number for number, line in enumerate(lines)}
    found = []
    for number, line in enumerate(lines):
        jump = re.search(jump_pattern, line)
        target = at.get(jump.group(1)) if jump else None
        if target is not None and target <= number:
            found.append(lines[target:number + 1])
    return max(found, key=lambda body: sum(bool(re.search(pattern, line)) for line in body), default=[])


def problems_of(name, lines, rules):
    pattern, count = rules["kernels"][name]
    body = loop(lines, pattern, rules["jump"])
    arithmetic = [line for line in body if re.search(pattern, line)]
    if len(arithmetic) != count:
        yield f"{name}: {len(arithmetic)} arithmetic instructions a round, not {count}"
    for line in body:
        if re.search(rules["memory"], line):
            yield f"{name}: goes to memory: {line.strip()}"


def main():
    binary = sys.argv[1]
    architecture, rules = ARCHITECTURES.get(machine_of(binary), (platform.machine(), None))
    objdump = disassembler(architecture)
    if not rules or not objdump:
        missing = "rules for" if not rules else "objdump that reads"
        print(f"there is no {missing} {architecture}: nothing was checked", file=sys.stderr)
        return 77
    problems = []
    seen = set()
    for name, lines in functions(objdump, binary):
        seen.add(name)
        problems += problems_of(name, lines, rules)
    problems += [f"{name}: not in {binary}" for name in rules["kernels"] if name not in seen]
    print("\n".join(problems) or f"{len(seen)} kernels stay in registers")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
