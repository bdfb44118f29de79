#include "train/target.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

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

void check_precision(std::string_view precision) {
  check_name("precision", precision, std::array<std::string, 4>{"fp32", "fp16", "bf16", "int8"});
}

}  // namespace assay::train
