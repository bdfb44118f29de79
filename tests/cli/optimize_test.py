#!/usr/bin/env python3
"""assay optimize as people use it: versions, targets, bad input. Usage: optimize_test.py ASSAY"""
import pathlib
import sys
import unittest

import cli_test
from cli_test import Case


class Usage(Case):
    def test_nothing_to_do(self):
        self.expect(2, "--precision", "optimize", "zoo:small_cnn", "-o", self.folder / "out.onnx")


if __name__ == "__main__":
    cli_test.ASSAY = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
