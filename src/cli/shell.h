// Other programs: whether they are there, what they print, and how to write their arguments.
#pragma once

#include <string>
#include <vector>

namespace assay::cli {

// In single quotes, for any shell.
std::string shell_quoted(const std::string& text);

bool has_program(const std::string& name);  // in PATH

struct ProgramResult {
  int exit_code = 0;
  std::string output = "";  // its stdout; stderr is this program's
};
ProgramResult run_program(const std::vector<std::string>& words);
// The same with its output passed on to stderr, for a person to read.
int run_visibly(const std::vector<std::string>& words);

}  // namespace assay::cli
