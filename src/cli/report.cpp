// assay report: stored results as a page.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "assay/error.h"
#include "assay/page.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

struct ReportArguments {
  std::vector<std::string> results;
  std::string output = "report.html";
};

constexpr const char* kReportExamples = R"(Examples:
  assay profile model.onnx --out results        then
  assay report results -o report.html           a page of everything in the folder
  assay report profile.json                     one result, written to report.html
  assay report before.json after.json           two profiles side by side
A result is what --json prints. The page is one file: it needs no network and no other file.)";

// Folders hold other JSON too: traces, records, journals.
bool is_shown(const std::string& schema) {
  return !schema.empty() && !schema.starts_with("assay.trace/");
}

std::vector<std::filesystem::path> json_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file() && entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::string schema_if_json(const std::string& text, const std::filesystem::path& path) {
  try {
    return result_schema(text, path.string());
  } catch (const Error&) {
    return "";
  }
}

void add_folder(const std::filesystem::path& folder, std::vector<PageDocument>& documents) {
  const std::size_t before = documents.size();
  const std::string record = record_in(folder);
  for (const auto& path : json_files(folder)) {
    std::string text = result_text(path);
    if (!is_shown(schema_if_json(text, path))) continue;
    documents.push_back({path.filename().string(), std::move(text), record});
  }
  if (documents.size() == before) {
    fail_bad_input(
        "{}: holds no result; 'assay profile --out' and 'assay sweep' write such folders",
        folder.string());
  }
}

std::vector<PageDocument> documents_in(const std::vector<std::string>& results) {
  std::vector<PageDocument> documents;
  for (const std::string& result : results) {
    const std::filesystem::path path(result);
    if (std::filesystem::is_directory(path)) {
      add_folder(path, documents);
    } else {
      documents.push_back({.name = result, .json = result_text(path)});
    }
  }
  return documents;
}

Exit run_report(const ReportArguments& arguments, bool quiet) {
  const Page page{.documents = documents_in(arguments.results), .command = own_command()};
  const std::string html = page_html(page);
  write_file(arguments.output, html);
  if (!has_page_charts()) {
    print_warnings({"this build has no charts, because npm was missing: the page has tables only"},
                   quiet);
  }
  print_note(fmt::format("wrote {}, {}", arguments.output,
                         with_binary_unit(static_cast<double>(html.size()))),
             quiet);
  return Exit::Fine;
}

}  // namespace

void add_report(CommandLine& program) {
  auto arguments = std::make_shared<ReportArguments>();
  Command* report =
      program.app.add_subcommand("report", "Write stored results as a page with charts");
  report
      ->add_option("RESULT", arguments->results,
                   "JSON files that commands wrote, or folders with them")
      ->required();
  report->add_option("-o,--output", arguments->output, "the page; default report.html");
  report->footer(kReportExamples);
  report->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_report(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
