#include "cli/compare_gates.h"

#include <algorithm>

#include "base/fail.h"
#include "cli/console.h"

namespace assay::cli {

namespace {

std::string gate_line(const GateResult& result) {
  return fmt::format("--fail-if '{}'{}: {}: {}", result.gate.text,
                     result.row.empty() ? "" : ", " + result.row, name(result.verdict),
                     result.reason);
}

}  // namespace

void add_gate_options(Command& command, GateArguments& arguments) {
  command.heading("Gates");
  command
      .add_option("--fail-if GATE", arguments.fail_if,
                  "exit code 1 if this is certain: METRIC>NUMBER or METRIC<NUMBER, where 5% is "
                  "relative to A, +2 or -0.5 a change from A, 64 B's own value (repeatable)")
      ->one_value_each();
  command.add_option("--undecided WORD", arguments.undecided,
                     "pass (default) or fail: what a gate does that the measurement cannot decide");
}

std::vector<Gate> parse_gates(const GateArguments& arguments) {
  std::vector<Gate> gates;
  for (const std::string& text : arguments.fail_if) gates.push_back(parse_gate(text));
  return gates;
}

bool undecided_fails(const GateArguments& arguments) {
  if (arguments.undecided != "pass" && arguments.undecided != "fail") {
    fail_usage("--undecided {}: expected pass or fail", arguments.undecided);
  }
  return arguments.undecided == "fail";
}

bool limits(const std::vector<Gate>& gates, std::string_view metric) {
  return std::ranges::any_of(gates, [&](const Gate& gate) { return gate.metric == metric; });
}

std::vector<std::string> gate_warnings(const std::vector<Gate>& gates) {
  std::vector<std::string> warnings;
  for (const Gate& gate : gates) {
    if (!fails_improvements(gate)) continue;
    warnings.push_back(
        fmt::format("--fail-if '{}' fails when B is better: {} {} is better", gate.text,
                    metric_kind(gate.metric).more_is_better ? "more" : "less", gate.metric));
  }
  return warnings;
}

Exit exit_after(const CompareReport& report, bool quiet) {
  if (report.models && report.models->interrupted) {
    print_interrupted("these are the results so far");
    return Exit::Interrupted;
  }
  for (const GateResult& result : report.gates) {
    const bool fails = result.verdict == GateVerdict::Failed ||
                       (result.verdict == GateVerdict::Undecided && report.undecided_fails);
    if (fails) {
      print_error(gate_line(result));
    } else if (result.verdict == GateVerdict::Undecided) {
      print_note(gate_line(result), quiet);
    }
  }
  return gates_fail(report) ? Exit::GateFailed : Exit::Fine;
}

}  // namespace assay::cli
