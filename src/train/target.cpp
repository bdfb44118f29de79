#include "train/target.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "assay/precision.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay::train {

namespace {

// Only the first of `known` is implemented.
void check_name(const char* what, std::string_view name, std::span<const std::string> known) {
  if (name == known.front()) return;
  if (std::ranges::find(known, name) != known.end()) {
    fail_usage("{} '{}' is not implemented yet: only {} is", what, name, known.front());
  }
  fail_usage("there is no {} '{}': choose from {}", what, without_control_characters(name),
             join(known, ", "));
}

}  // namespace

void check_device(std::string_view device) {
  check_name("device", device, std::array<std::string, 2>{"cpu", "cuda"});
}

ProgramOptions in_precision(ProgramOptions options, std::string_view precision) {
  const DataType type = float_precision(precision);
  if (type != DataType::Float32) options.precision = type;
  return options;
}

}  // namespace assay::train
