// The keys of a sweep's configuration: one table for reading, checking, printing and explaining.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "assay/sweep_config.h"

namespace assay::sweep {

// A value as it is written: one scalar, or a list of them.
struct ConfigText {
  bool is_list = false;
  bool is_null = false;
  std::vector<std::string> items = {};
};

struct ConfigKey {
  std::string name;
  std::string meaning;  // for people who meet it for the first time
  std::string allowed;  // "a whole number from 1 to 1000000"
  std::function<bool(const ConfigText&, SweepConfig&)> read;  // false: not allowed
  std::function<std::string(const SweepConfig&)> print;       // as YAML; "null" for nothing
};

std::span<const ConfigKey> config_keys();

}  // namespace assay::sweep
