// The command line: a table of contents, and the one place where errors become exit codes.
#include <malloc.h>

#include <algorithm>
#include <new>

#include "assay/error.h"
#include "assay/version.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"

namespace assay::cli {

namespace {

constexpr const char* kExamples = R"(Examples:
  assay count model.onnx              what a model costs, layer by layer
  assay profile zoo:resnet50          run it: latency, slowest layers, memory
  assay run model.onnx --input x=x.npy  run it once, look at the outputs
  assay compare old.onnx new.onnx     which is faster, with a confidence interval
  assay machine                       peaks and bandwidths of this machine
  assay stream zoo:resnet18 --interval-ms 33  does it keep up with 30 frames a second
  assay train zoo:small_cnn --dataset fashion-mnist -o trained.onnx
  assay devices                       a catalogue of other devices
  assay count zoo:resnet50 --json     a built-in network, for programs
  assay zoo                           the built-in networks

MODEL is a path to an .onnx file, or zoo:NAME. 'assay COMMAND --help' lists the options.
Exit codes: 0 fine, 1 a gate failed, 2 usage, 3 bad input, 4 failed, 130 interrupted.)";

void describe(CommandLine& program) {
  program.app.description("assay tells what a neural network costs on a machine.");
  program.app.name("assay");
  program.app.footer(kExamples);
  program.app.require_subcommand(1);
  program.app.set_version_flag("--version", "assay " + std::string(version()));
  program.app.add_flag("-q,--quiet", program.quiet, "no warnings, no progress");
  program.app.fallthrough();
  add_count(program);
  add_profile(program);
  add_run(program);
  add_compare(program);
  add_machine(program);
  add_devices(program);
  add_fit(program);
  add_stream(program);
  add_train(program);
  add_zoo(program);
  add_describe(program);
}

Exit exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Usage:
      return Exit::Usage;
    case ErrorKind::BadInput:
      return Exit::BadInput;
    case ErrorKind::Cancelled:
      return Exit::Interrupted;
    case ErrorKind::Failed:
      return Exit::Failed;
  }
  return Exit::Failed;
}

std::vector<std::string> command_names(const CommandLine& program) {
  std::vector<std::string> names;
  for (const auto* command : program.app.get_subcommands({})) {
    const bool is_hidden = command->get_group().empty();
    if (!is_hidden) names.push_back(command->get_name());
  }
  return names;
}

// CLI11 only says that a word was not expected; people want to know which was meant.
std::string unknown_command(const CommandLine& program, const std::string& word) {
  const auto known = command_names(program);
  const auto near = nearest(word, known);
  return "there is no command '" + word + "'" +
         (near ? "; did you mean '" + *near + "'?" : "; there are: " + join(known, ", "));
}

Exit report_usage(CommandLine& program, const CLI::ParseError& error, int count, char** words) {
  if (error.get_exit_code() == 0) {  // --help and --version
    program.app.exit(error);
    return Exit::Fine;
  }
  const std::string first = count > 1 ? words[1] : "";
  const bool names_command = !first.empty() && first[0] != '-';
  const bool is_known = std::ranges::count(command_names(program), first) > 0;
  if (count <= 1) {
    print_error("a command is missing; 'assay --help' lists them");
  } else if (names_command && !is_known) {
    print_error(unknown_command(program, first));
  } else {
    print_error(std::string(error.what()) + "; see 'assay " + (is_known ? first + " " : "") +
                "--help'");
  }
  return Exit::Usage;
}

Exit run(int count, char** words) {
  CommandLine program;
  describe(program);
  try {
    program.app.parse(count, words);
  } catch (const CLI::ParseError& error) {
    return report_usage(program, error, count, words);
  }
  return program.chosen();
}

}  // namespace
}  // namespace assay::cli

int main(int count, char** words) {
  using assay::cli::Exit;
  // Large pieces go back to the system when they are freed, however many there were.
  mallopt(M_MMAP_THRESHOLD, 256 << 10);
  Exit code = Exit::Failed;
  try {
    code = assay::cli::run(count, words);
  } catch (const assay::Error& error) {
    assay::cli::print_error(assay::cli::with_flags(error.what()));
    code = assay::cli::exit_code(error.kind());
  } catch (const std::bad_alloc&) {
    assay::cli::print_error("out of memory");
  } catch (const std::exception& error) {
    assay::cli::print_error(std::string("internal error, please report it: ") + error.what());
  }
  return static_cast<int>(code);
}
