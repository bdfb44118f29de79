#include "cli/optimize_files.h"

#include <filesystem>

#include "base/atomic_file.h"
#include "base/fail.h"
#include "cli/origin.h"

namespace assay::cli {

namespace {

bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  return std::filesystem::equivalent(a, b, failed) && !failed;
}

std::string record_path(const std::string& output) {
  return output + ".json";
}

// Beside the model, if no folder is named.
void write_sensitivity(const OptimizeArguments& arguments, const OptimizeReport& report) {
  if (report.sensitivities.empty()) return;
  const std::string base =
      arguments.out.empty() ? arguments.output + ".sensitivity" : arguments.out + "/sensitivity";
  write_file(base + ".csv", sensitivity_csv(report.sensitivities));
  const std::string& model = arguments.model.model;
  write_file(base + ".png", sensitivity_png(report.sensitivities, model));
  write_file(base + ".svg", sensitivity_svg(report.sensitivities, model));
}

void write_tables(const std::string& folder, const OptimizeReport& report) {
  if (folder.empty()) return;
  const std::filesystem::path path(folder);
  write_file(path / "optimize.json", with_origin(optimize_json(report)));
  write_file(path / "optimize_trail.csv", optimize_csv(report));
}

}  // namespace

void check_outputs(const OptimizeArguments& arguments) {
  if (is_same_file(arguments.output, arguments.model.model)) {
    fail_usage("-o {} is the model itself; write to another file", arguments.output);
  }
  try {
    AtomicFile probe(arguments.output);
    AtomicFile beside(record_path(arguments.output));
  } catch (const Error& error) {
    fail_bad_input("{}; choose another place with -o", error.what());
  }
  if (!arguments.out.empty()) make_folder(arguments.out);
}

void write_record(OptimizeReport& report) {
  if (report.written.path.empty()) return;
  report.written.record = record_path(report.written.path);
  report.scales = tensor_scales(report.result.model);
  write_file(report.written.record, optimize_record_json(report));
}

void write_artifacts(const OptimizeArguments& arguments, const OptimizeReport& report) {
  write_sensitivity(arguments, report);
  write_tables(arguments.out, report);
}

}  // namespace assay::cli
