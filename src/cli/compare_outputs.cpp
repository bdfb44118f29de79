#include "cli/compare_outputs.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/fail.h"
#include "base/system_error.h"
#include "cli/console.h"
#include "cli/origin.h"

namespace assay::cli {

namespace {

constexpr const char* kStepSummary = "GITHUB_STEP_SUMMARY";

// The file belongs to the job, and other commands of the step append to it too.
void append_to(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor < 0) fail_running("{}: cannot be opened: {}", path, last_system_error());
  bool failed = false;
  while (!text.empty() && !failed) {
    const auto written = ::write(descriptor, text.data(), text.size());
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
    failed = written < 0 && errno != EINTR;
  }
  const std::string reason = failed ? last_system_error() : "";
  ::close(descriptor);
  if (failed) fail_running("{}: cannot be written: {}", path, reason);
}

std::string step_summary_path() {
  const char* path = std::getenv(kStepSummary);
  if (path == nullptr || *path == '\0') {
    fail_usage("--step-summary: {} is not set; GitHub Actions sets it, elsewhere use --markdown",
               kStepSummary);
  }
  append_to(path, "");  // report a folder that is missing before anything runs
  return path;
}

}  // namespace

void add_compare_outputs(Command& command, CompareOutputArguments& arguments) {
  command.heading("Output");
  auto* json = command.add_flag("--json", arguments.json, "print one JSON object");
  command.add_flag("--markdown", arguments.markdown, "print tables in Markdown")->excludes(json);
  command.add_option("--junit FILE", arguments.junit,
                     "write JUnit XML to FILE, with a test case for each gate");
  command.add_option("--benchmark-json FILE", arguments.benchmark_json,
                     "write Google Benchmark's JSON to FILE, for its tools/compare.py");
  command.add_flag("--step-summary", arguments.step_summary,
                   "append Markdown to the file that GITHUB_STEP_SUMMARY names");
  add_page_option(command, arguments.html);
}

CompareOutputs::CompareOutputs(const CompareOutputArguments& arguments)
    : printed_(arguments.json       ? compare_json
               : arguments.markdown ? compare_markdown
                                    : compare_table),
      page_(arguments.html) {
  if (!arguments.junit.empty()) add(arguments.junit, compare_junit);
  if (!arguments.benchmark_json.empty()) add(arguments.benchmark_json, compare_benchmark_json);
  if (arguments.step_summary) step_summary_ = step_summary_path();
}

void CompareOutputs::add(const std::string& path, Format format) {
  files_.push_back({format, std::make_unique<AtomicFile>(path)});
}

void CompareOutputs::write(const CompareReport& report) {
  for (File& file : files_) {
    file.file->write(file.format(report));
    file.file->commit();
  }
  if (!step_summary_.empty()) append_to(step_summary_, compare_markdown(report) + "\n");
  page_.write("compare.json", [&] { return compare_json(report); });
  print_data(with_origin(printed_(report)));
}

}  // namespace assay::cli
