"""Examples in docstrings run, and the package is typed."""

import doctest
import importlib
import pathlib
import shutil
import subprocess
import sys

import pytest

import assay

SOURCE = pathlib.Path(__file__).parent.parent / "assay"
MODULES = ["assay", *(f"assay.{path.stem}" for path in sorted(SOURCE.glob("*.py"))
                      if path.stem not in ("__init__", "__main__", "_torch", "_command"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_print_what_they_say(name):
    module = importlib.import_module(name)
    failed, _ = doctest.testmod(module, extraglobs={"assay": assay})
    assert failed == 0


def test_public_functions_have_docstrings():
    for name in assay.__all__:
        value = getattr(assay, name)
        if callable(value) and getattr(value, "__module__", "").startswith("assay.") and not name.startswith("__"):
            assert value.__doc__, name


def test_types_are_checked(tmp_path):
    mypy = shutil.which("mypy")
    if mypy is None:
        pytest.skip("mypy is not installed")
    user = tmp_path / "user.py"
    user.write_text("import assay\nn: int = len(assay.count('zoo:lenet5').layers)\nx: str = assay.profile('a').latency_ms\n")
    command = [mypy, "--config-file", str(SOURCE.parent.parent / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache")]
    own = subprocess.run([*command, str(SOURCE)], capture_output=True, text=True)
    assert own.returncode == 0, own.stdout
    used = subprocess.run([*command, str(user)], capture_output=True, text=True, cwd=tmp_path,
                          env={"MYPYPATH": str(SOURCE.parent), "PATH": pathlib.os.environ["PATH"]})
    assert 'expression has type "float"' in used.stdout and used.stdout.count("error") == 2, used.stdout
