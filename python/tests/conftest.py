"""What the tests of the package share."""

import importlib.util
import os

import pytest

import assay


def needs(*modules):
    """Skips, visibly, where a module is not installed."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


@pytest.fixture(scope="session", autouse=True)
def quick_ceilings(tmp_path_factory):
    """Ceilings that were measured once, quickly, for all tests; as the tests of the command line do."""
    if "ASSAY_MACHINE" not in os.environ:
        path = tmp_path_factory.mktemp("machine") / "machine.json"
        assay.machine(quick=True, max_time=0.5).to_json(path)
        os.environ["ASSAY_MACHINE"] = str(path)
    return os.environ["ASSAY_MACHINE"]
