"""Makes the Debian package and looks at it as dpkg and a user would.

    deb_test.py BUILD_FOLDER

Skipped, visibly, where dpkg-deb, dpkg-shlibdeps or cpack is missing.
"""
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import unittest

BUILD = pathlib.Path(sys.argv[1]).resolve()
FOLDER = BUILD / "deb_test"
ARCHITECTURES = {62: "amd64", 183: "arm64"}  # ELF's e_machine
TOOLS = ("cpack", "dpkg-deb", "dpkg-shlibdeps", "dpkg-architecture")


def output_of(*words):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if result.returncode != 0:
        raise AssertionError(f"{words}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def architecture():
    with open(BUILD / "assay", "rb") as file:
        return ARCHITECTURES[struct.unpack_from("<H", file.read(20), 18)[0]]


class DebianPackage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        output_of("dpkg-architecture", f"-a{architecture()}", "-f", "-c", "cpack", "--config", BUILD / "CPackConfig.cmake",
                  "-B", FOLDER)
        cls.package, = FOLDER.glob("*.deb")

    def field(self, name):
        return output_of("dpkg-deb", "--field", self.package, name).strip()

    def files(self):
        return {line.split()[5]: line.split()[0] for line in output_of("dpkg-deb", "--contents", self.package).splitlines()}

    def test_is_named_by_version_and_architecture(self):
        self.assertEqual(self.package.name, f"assay_{self.field('Version')}_{architecture()}.deb")
        self.assertEqual(self.field("Architecture"), architecture())

    def test_depends_on_every_library_with_its_version(self):
        depends = self.field("Depends")
        for library in ("libc6", "libstdc++6", "libdnnl2", "libfmt9", "libhwloc15", "libcairo2", "libgomp1"):
            self.assertRegex(depends, rf"(^|, ){re.escape(library)} \(>=")

    def test_describes_itself(self):
        self.assertIn("neural network", self.field("Description").splitlines()[0])
        self.assertGreater(len(self.field("Description").splitlines()), 2)
        self.assertRegex(self.field("Maintainer"), r".+ <.+@.+>")

    def test_holds_the_program_and_what_is_written_about_it(self):
        files = self.files()
        for wanted in ("bin/assay", "share/man/man1/assay.1.gz", "share/doc/assay/copyright", "share/doc/assay/changelog.gz",
                       "share/bash-completion/completions/assay", "share/zsh/site-functions/_assay",
                       "share/fish/vendor_completions.d/assay.fish"):
            self.assertIn(f"./usr/{wanted}", files)
        self.assertEqual(files["./usr/bin/assay"], "-rwxr-xr-x")
        self.assertFalse([path for path in files if "/include/" in path or path.endswith(".a")])


if __name__ == "__main__":
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if missing:
        print(f"not installed: {', '.join(missing)}: nothing was checked", file=sys.stderr)
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
