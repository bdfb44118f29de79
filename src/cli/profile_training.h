// assay profile --train: profiles a training step.
#pragma once

#include <optional>
#include <string>

#include "assay/profile.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/exit.h"
#include "cli/output_format.h"

namespace assay::cli {

struct TrainingArguments {
  bool train = false;
  std::string optimizer;
  std::string loss;
  std::string accumulate;
  std::string recompute;
  std::string memory_budget;
  std::string max_mb;
};

void add_training_options(Command& command, TrainingArguments& arguments);
// Without --train they would have no effect, so they are an error.
void check_is_unused(const TrainingArguments& arguments);

struct TrainingRequest {
  std::string model;  // as the user named it
  Graph graph;
  ProfileOptions profile;
  std::optional<std::size_t> top = {};
  OutputFormat format = {};
  std::string folder = "";
  std::string html = "";
  bool strict = false;
};

Exit run_training_profile(TrainingRequest request, const TrainingArguments& arguments, bool quiet);

}  // namespace assay::cli
