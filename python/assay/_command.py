"""The command line: the native program of the package, in place of this process."""

import os
import sys


def program() -> str:
    """The path of the native program."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "assay")


def main() -> None:
    os.execv(program(), ["assay", *sys.argv[1:]])
