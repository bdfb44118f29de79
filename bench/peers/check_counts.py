#!/usr/bin/python3
"""Compares assay's counts with what torch says of the same networks.

    bench/peers/export_torchvision.py FOLDER
    bench/peers/check_counts.py ASSAY FOLDER

Prints a table and exits with 1 if any parameter or MAC differs.
"""
import json
import pathlib
import subprocess
import sys


def main():
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    different = 0
    print(f"{'network':22}{'parameters':>14}{'MACs':>18}{'uncounted':>11}")
    for path in sorted(folder.glob("*.json")):
        expected = json.loads(path.read_text())
        model = str(path.with_suffix(".onnx"))
        output = subprocess.run([assay, "-q", "count", "--json", model], check=True,
                                capture_output=True).stdout
        totals = json.loads(output)["totals"]
        same = all(totals[key] == expected[key] for key in ("parameters", "macs"))
        different += not same
        remark = "" if same else f"   torch: {expected['parameters']:,} {expected['macs']:,}"
        print(f"{path.stem:22}{totals['parameters']:14,}{totals['macs']:18,}"
              f"{len(totals['uncounted']):11}{remark}")
    print(f"{different} networks differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
