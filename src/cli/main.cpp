// The command line: a table of contents, and the one place where errors become exit codes.
#include <algorithm>
#include <new>
#include <string_view>

#include "assay/error.h"
#include "assay/version.h"
#include "base/heap.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/flags.h"

namespace assay::cli {

namespace {

constexpr const char* kMainExamples = R"(Examples:
  assay count model.onnx              what a model costs, layer by layer
  assay profile zoo:resnet50          run it: latency, slowest layers, memory
  assay run model.onnx --input x=x.npy  run it once, look at the outputs
  assay compare old.onnx new.onnx     which is faster, with a confidence interval
  assay machine                       peaks and bandwidths of this machine
  assay stream zoo:resnet18 --interval-ms 33  does it keep up with 30 frames a second
  assay train zoo:small_cnn --dataset fashion-mnist -o trained.onnx
  assay evaluate trained.onnx --dataset fashion-mnist   accuracy, latency, memory, energy
  assay optimize model.onnx -o small.onnx --target-ms 50%   a faster version
  assay study batch model.onnx        throughput and memory by batch, the sweet spot
  assay sweep config.yaml             many versions of a model, and which one to take
  assay report results -o page.html   stored results as a page with charts
  assay devices                       a catalogue of other devices
  assay count zoo:resnet50 --json     a built-in network, for programs
  assay zoo                           the built-in networks

MODEL is a path to an .onnx file, or zoo:NAME. 'assay COMMAND --help' lists the options.
Exit codes: 0 success, 1 a check failed, 2 usage error, 3 bad input, 4 failed while running,
130 interrupted.)";

void describe(CommandLine& program) {
  program.app.footer(kMainExamples);
  program.app.require_subcommand();
  program.app.version("assay " + std::string(version()));
  program.app.add_flag("-q,--quiet", program.quiet, "no warnings, no progress");
  program.app.inherit_options();
  add_count(program);
  add_profile(program);
  add_run(program);
  add_compare(program);
  add_machine(program);
  add_devices(program);
  add_fit(program);
  add_stream(program);
  add_train(program);
  add_evaluate(program);
  add_optimize(program);
  add_study(program);
  add_sweep(program);
  add_report(program);
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

// "interrupted; the same command goes on": what a message adds to the first word.
std::string_view after_interrupt(std::string_view message) {
  constexpr std::string_view kBeginning = "interrupted";
  if (!message.starts_with(kBeginning)) return message;
  message.remove_prefix(kBeginning.size());
  return message.substr(std::min(message.find_first_not_of("; "), message.size()));
}

// CLI11 only says that a word was not expected; suggest the one that was probably meant.
std::string unknown_command(const CommandLine& program, const std::string& word) {
  const auto known = program.app.subcommand_names();
  const auto near = nearest(word, known);
  return "there is no command '" + word + "'" +
         (near ? "; did you mean '" + *near + "'?" : "; there are: " + join(known, ", "));
}

Exit report_usage(const CommandLine& program, const UsageError& error, int count, char** words) {
  const std::string first = count > 1 ? words[1] : "";
  const bool names_command = !first.empty() && first[0] != '-';
  const bool is_known = std::ranges::count(program.app.subcommand_names(), first) > 0;
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
    if (!program.app.parse(count, words)) return Exit::Fine;
  } catch (const UsageError& error) {
    return report_usage(program, error, count, words);
  }
  return program.chosen();
}

}  // namespace
}  // namespace assay::cli

int main(int count, char** words) {
  using assay::cli::Exit;
  assay::return_freed_memory();
  Exit code = Exit::Failed;
  try {
    code = assay::cli::run(count, words);
  } catch (const assay::Error& error) {
    code = assay::cli::exit_code(error.kind());
    if (code == Exit::Interrupted) {
      assay::cli::print_interrupted(assay::cli::after_interrupt(error.what()));
    } else {
      assay::cli::print_error(assay::cli::with_flags(error.what()));
    }
  } catch (const std::bad_alloc&) {
    assay::cli::print_error("out of memory");
  } catch (const std::exception& error) {
    assay::cli::print_error(std::string("internal error, please report it: ") + error.what());
  }
  return static_cast<int>(code);
}
