// The gates of `assay compare`: --fail-if and --undecided.
#pragma once

#include <string>
#include <vector>

#include "assay/compare_report.h"
#include "cli/command.h"
#include "cli/exit.h"

namespace assay::cli {

struct GateArguments {
  std::vector<std::string> fail_if;
  std::string undecided = "pass";
};

void add_gate_options(Command& command, GateArguments& arguments);

std::vector<Gate> parse_gates(const GateArguments& arguments);
bool undecided_fails(const GateArguments& arguments);
bool limits(const std::vector<Gate>& gates, std::string_view metric);

// Gates that fail when B is better.
std::vector<std::string> gate_warnings(const std::vector<Gate>& gates);

// Says on stderr which gates failed or are undecided.
Exit exit_after(const CompareReport& report, bool quiet);

}  // namespace assay::cli
