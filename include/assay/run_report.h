// One run as people and programs read it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/layout.h"
#include "assay/run.h"

namespace assay {

// An output compared with the expected one.
struct CheckedOutput {
  std::string output;
  std::string expected_file;
  TensorDifference difference = {};
};

struct RunReport {
  RunResult result;
  std::vector<CheckedOutput> checks = {};
  Tolerance tolerance = {};
  std::vector<std::string> files = {};  // written, one for each output; empty where none was asked
};

std::string run_table(const RunReport& report, const Layout& layout = {});
std::string run_json(const RunReport& report);

}  // namespace assay
