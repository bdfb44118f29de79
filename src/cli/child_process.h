// This same program in a fresh process: what it printed and how it ended.
#pragma once

#include <string>
#include <vector>

namespace assay::cli {

struct ChildResult {
  int exit_code = 0;
  std::string output;
  std::string complaints;  // its stderr
};

// Runs `assay WORDS…`. Ctrl-C ends the child and throws an Error of kind Cancelled.
ChildResult run_self(const std::vector<std::string>& words);

}  // namespace assay::cli
