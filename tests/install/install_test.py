"""Installs into a prefix of its own and uses what is there, as a user would.

    install_test.py BUILD_FOLDER EXAMPLES_FOLDER CXX [LINKER_FLAG...]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

BUILD, EXAMPLES = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
COMPILER, LINKER_FLAGS = sys.argv[3], sys.argv[4:]
PREFIX = BUILD / "install_test/prefix"
COMPLETIONS = {
    "bash": PREFIX / "share/bash-completion/completions/assay",
    "zsh": PREFIX / "share/zsh/site-functions/_assay",
    "fish": PREFIX / "share/fish/vendor_completions.d/assay.fish",
}
MANUAL = PREFIX / "share/man/man1/assay.1"


def output_of(*words, **options):
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise AssertionError(f"{words}: exit code {result.returncode}\n{result.stdout}\n{result.stderr}")
    return result.stdout


def project_version():
    return re.search(r"project\(assay VERSION (\S+)", (EXAMPLES.parent / "CMakeLists.txt").read_text())[1]


def setUpModule():
    shutil.rmtree(PREFIX.parent, ignore_errors=True)
    output_of("cmake", "--install", BUILD, "--prefix", PREFIX)


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.programs = PREFIX.parent / "examples"
        output_of("cmake", "-S", EXAMPLES, "-B", cls.programs, f"-DCMAKE_PREFIX_PATH={PREFIX}",
                  f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DCMAKE_EXE_LINKER_FLAGS={' '.join(LINKER_FLAGS)}")
        output_of("cmake", "--build", cls.programs)

    def test_examples_count_as_the_command_line_does(self):
        printed = output_of(self.programs / "example_count")
        self.assertIn("61706 parameters, 416520 MACs", printed)

    def test_examples_profile_a_network(self):
        self.assertIn("median latency", output_of(self.programs / "example_profile"))

    def test_examples_train_a_network_and_write_it(self):
        model = PREFIX.parent / "trained.onnx"
        self.assertIn("epoch 2: loss", output_of(self.programs / "example_train", model))
        self.assertIn("20490 parameters", output_of(self.programs / "example_count", model))

    def test_targets_show_no_private_folder_or_flag(self):
        targets = "".join(file.read_text() for file in (PREFIX / "lib").rglob("assay*.cmake"))
        self.assertIn("assay::assay", targets)
        for private in (str(EXAMPLES.parent), "-W", "/src"):
            self.assertNotIn(private, targets)

    def test_pkg_config_links_a_program(self):
        environment = {**os.environ, "PKG_CONFIG_PATH": str(next((PREFIX / "lib").rglob("pkgconfig")))}
        flags = output_of("pkg-config", "--cflags", "--libs", "assay", env=environment).split()
        program = PREFIX.parent / "count"
        output_of(COMPILER, "-std=c++20", EXAMPLES / "count.cpp", "-o", program, *flags, *LINKER_FLAGS)
        self.assertIn("61706 parameters", output_of(program))
        version = output_of("pkg-config", "--modversion", "assay", env=environment).strip()
        self.assertEqual(version, project_version())


class Version(unittest.TestCase):
    def test_is_the_same_everywhere(self):
        version = project_version()
        self.assertEqual(output_of(PREFIX / "bin/assay", "--version"), f"assay {version}\n")
        header = (PREFIX / "include/assay/version.h").read_text()
        self.assertIn(f'#define ASSAY_VERSION "{version}"', header)
        self.assertIn(f'set(PACKAGE_VERSION "{version}")',
                      next((PREFIX / "lib").rglob("assayConfigVersion.cmake")).read_text())
        self.assertIn(f'"assay {version}"', MANUAL.read_text())
        self.assertIn(f"## {version}", (EXAMPLES.parent / "CHANGELOG.md").read_text())


def commands_and_flags():
    """What --help lists: [(command, {flag, ...}), ...]."""
    program = PREFIX / "bin/assay"
    listed = output_of(program, "--help").split("Commands:")[1].split("Options:")[0]
    names = re.findall(r"^  (\S+)", listed, re.MULTILINE)
    for name in names:
        options = output_of(program, name, "--help").split("Examples:")[0]
        yield name, set(re.findall(r"^  (?:-\w,)?(--[\w-]+)", options, re.MULTILINE))


class Descriptions(unittest.TestCase):
    def test_name_every_command_and_option(self):
        files = {"man": MANUAL, **COMPLETIONS}
        texts = {shell: file.read_text().replace("\\-", "-") for shell, file in files.items()}
        count = 0
        for command, flags in commands_and_flags():
            for shell, text in texts.items():
                self.assertIn(command, text, shell)
                for flag in flags:
                    count += 1
                    wanted = f"-l {flag[2:]} " if shell == "fish" else flag
                    self.assertIn(wanted, text, f"{shell}: assay {command} {flag}")
        self.assertGreater(count, 4 * 50)

    def test_do_not_name_the_hidden_command(self):
        for file in (MANUAL, *COMPLETIONS.values()):
            self.assertNotIn("describe FORM", file.read_text())
            self.assertNotIn("assay describe", file.read_text())

    def test_manual_page_is_free_of_roff_warnings(self):
        result = subprocess.run(["man", "--warnings", "-l", str(MANUAL)], capture_output=True, text=True,
                                env={**os.environ, "LC_ALL": "C.UTF-8", "MANWIDTH": "100"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("assay count", result.stdout)

    def test_bash_completes_commands_and_options(self):
        script = f"""
            source {COMPLETIONS["bash"]}; complete -p assay >/dev/null || exit 1
            COMP_WORDS=(assay pro); COMP_CWORD=1; _assay; echo "${{COMPREPLY[*]}}"
            COMP_WORDS=(assay count --str); COMP_CWORD=2; _assay; echo "${{COMPREPLY[*]}}"
            COMP_WORDS=(assay zoo export --ext); COMP_CWORD=3; _assay; echo "${{COMPREPLY[*]}}"
        """
        self.assertEqual(output_of("bash", "-c", script).split(), ["profile", "--strict", "--external-data"])

    def test_other_shells_can_read_theirs(self):
        for shell in ("zsh", "fish"):
            if shutil.which(shell):
                output_of(shell, "-n", COMPLETIONS[shell])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
