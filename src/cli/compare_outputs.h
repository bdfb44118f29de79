// How `assay compare` prints its result, and the files it writes for CI services.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "assay/compare_report.h"
#include "base/atomic_file.h"
#include "cli/command.h"
#include "cli/page.h"

namespace assay::cli {

struct CompareOutputArguments {
  bool json = false;
  bool markdown = false;
  std::string junit;
  std::string benchmark_json;
  bool step_summary = false;
  std::string html;
};

void add_compare_outputs(Command& command, CompareOutputArguments& arguments);

// Opened before anything runs, so that errors show at once.
class CompareOutputs {
 public:
  explicit CompareOutputs(const CompareOutputArguments& arguments);
  // Prints the report and writes every file.
  void write(const CompareReport& report);

 private:
  using Format = std::string (*)(const CompareReport&);
  struct File {
    Format format;
    std::unique_ptr<AtomicFile> file;
  };

  void add(const std::string& path, Format format);

  Format printed_ = nullptr;
  std::vector<File> files_;
  std::string step_summary_;
  PageFile page_;
};

}  // namespace assay::cli
