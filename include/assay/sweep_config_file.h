// The YAML file of a sweep. All of it is checked before anything is done, and all problems are
// listed at once.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "assay/sweep_config.h"

namespace assay {

// Each problem names file, line, key and value, what is allowed, and the nearest known key.
class SweepConfigError : public Error {
 public:
  explicit SweepConfigError(std::vector<std::string> problems);
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

SweepConfig parse_sweep_config(std::string_view yaml, const std::string& described_as);
SweepConfig read_sweep_config(const std::filesystem::path& file);

// Every key with its value; `parse_sweep_config` reads it back.
std::string sweep_config_yaml(const SweepConfig& config);
// The same with the meaning of each key and what it may be, to begin with.
std::string sweep_config_template();

}  // namespace assay
