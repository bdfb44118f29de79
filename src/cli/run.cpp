// assay run: runs a model once; shows, writes and checks its outputs.
#include <memory>

#include "assay/npy.h"
#include "assay/run_report.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/flags.h"
#include "cli/folder.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/output_format.h"

namespace assay::cli {

namespace {

struct RunArguments {
  ModelArguments model;
  EngineArguments engine;
  std::string folder;
  std::string expected;
  std::string relative;
  std::string absolute;
  OutputFormat format;
};

constexpr const char* kRunExamples = R"(Examples:
  assay run model.onnx                           on random inputs, the same every time
  assay run model.onnx --input x=photo.npy -o out   outputs as out/NAME.npy
  assay run model.onnx --input x=input_0.pb --check test_data_set_0
  assay run model.onnx --input x=x.npy --check expected --rtol 1e-4
  assay run zoo:resnet18 --engine reference -o expected   results of the plain kernels
Exit code 1: an output differs from what --check expects.)";

Tolerance tolerance_of(const RunArguments& arguments) {
  Tolerance tolerance;
  if (!arguments.relative.empty()) {
    tolerance.relative = parse_decimal("--rtol", arguments.relative, 0);
  }
  if (!arguments.absolute.empty()) {
    tolerance.absolute = parse_decimal("--atol", arguments.absolute, 0);
  }
  return tolerance;
}

std::vector<std::string> names_of(const RunResult& result) {
  std::vector<std::string> names;
  for (const RunOutput& output : result.outputs) names.push_back(output.name);
  return file_names(names);
}

// NAME.npy, or output_N.pb as in ONNX's own test data.
std::filesystem::path expected_file(const std::filesystem::path& folder, const std::string& name,
                                    std::size_t number) {
  auto by_name = folder / (name + ".npy");
  auto by_number = folder / fmt::format("output_{}.pb", number);
  std::error_code ignored;
  if (std::filesystem::exists(by_name, ignored)) return by_name;
  if (std::filesystem::exists(by_number, ignored)) return by_number;
  fail_bad_input("{}: holds neither {} nor {}", folder.string(), by_name.filename().string(),
                 by_number.filename().string());
}

std::vector<CheckedOutput> checked(const RunArguments& arguments, const RunResult& result,
                                   const Tolerance& tolerance) {
  std::vector<CheckedOutput> checks;
  if (arguments.expected.empty()) return checks;
  const auto names = names_of(result);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const auto path = expected_file(arguments.expected, names[i], i);
    checks.push_back(
        {result.outputs[i].name, path.filename().string(),
         tensor_difference(result.outputs[i].tensor, read_tensor(path.string()), tolerance)});
  }
  return checks;
}

std::vector<std::string> written(const std::string& folder, const RunResult& result) {
  std::vector<std::string> files;
  if (folder.empty()) return files;
  const auto names = names_of(result);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto path = std::filesystem::path(folder) / (names[i] + ".npy");
    write_npy(result.outputs[i].tensor, path);
    files.push_back(path.string());
  }
  return files;
}

RunResult ran(const RunArguments& arguments, bool quiet) {
  RunOptions engine;
  apply_engine_options(arguments.engine, engine);
  choose_threads(arguments.engine, engine.program);
  RequestedModel request = requested_model(arguments.model);
  request.run.program = engine.program;
  request.run.seed = engine.seed;
  ProgressBar progress(quiet);
  catch_interrupts();
  return naming_model(arguments.model.model, [&] {
    return run_model(std::move(request.graph), arguments.model.model, request.run, &progress);
  });
}

Exit run_run(const RunArguments& arguments, bool quiet) {
  RunReport report;
  report.tolerance = tolerance_of(arguments);
  if (!arguments.folder.empty()) make_folder(arguments.folder);
  report.result = ran(arguments, quiet);
  report.files = written(arguments.folder, report.result);
  report.checks = checked(arguments, report.result, report.tolerance);
  use_flags(report.result.warnings);
  print_data(formatted(
      arguments.format, [&](const Layout& layout) { return run_table(report, layout); },
      [&] { return run_json(report); }));
  print_warnings(report.result.warnings, quiet);
  for (const CheckedOutput& check : report.checks) {
    if (check.difference.agrees()) continue;
    print_error(fmt::format("output '{}' differs from {}", check.output, check.expected_file));
    return Exit::GateFailed;
  }
  return Exit::Fine;
}

}  // namespace

void add_run(CommandLine& program) {
  auto arguments = std::make_shared<RunArguments>();
  Command* run =
      program.app.add_subcommand("run", "Run a model once; show, write and check its outputs");
  add_model_options(*run, arguments->model);
  add_engine_options(*run, arguments->engine, kChosenThreadsHelp);
  add_precision_option(*run, arguments->engine);
  run->heading("Output");
  run->add_option("-o,--output FOLDER", arguments->folder, "write each output as FOLDER/NAME.npy");
  run->add_option("--check FOLDER", arguments->expected,
                  "compare with FOLDER/NAME.npy or FOLDER/output_N.pb");
  run->add_option("--rtol X", arguments->relative, "relative tolerance of --check; default 1e-3");
  run->add_option("--atol X", arguments->absolute, "absolute tolerance of --check; default 1e-5");
  add_output_format(*run, arguments->format);
  run->footer(kRunExamples);
  run->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_run(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
