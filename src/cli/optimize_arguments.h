// The options of `assay optimize`, as the user wrote them.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/device_options.h"
#include "cli/engine_options.h"
#include "cli/model_options.h"
#include "cli/optimize_data.h"
#include "cli/output_format.h"

namespace assay::cli {

struct OptimizeArguments {
  ModelArguments model;
  EngineArguments engine;  // its precision is that of the version
  OptimizeDataArguments data;
  DeviceArguments devices;
  std::string output;
  std::string prune;
  std::string low_rank;
  bool tidy = false;
  bool no_tidy = false;
  std::string criterion = "l1";
  std::string ranking = "uniform";
  std::string round_to;
  bool measured_widths = false;
  bool allow_bf16 = false;
  std::string calibration_method;
  std::string percentile;
  bool per_tensor = false;
  bool equalize = false;
  std::string finetune;
  std::string finetune_rate;
  std::string max_loss;
  std::string target_ms;
  std::string target_mb;
  std::string device;
  std::string power_watts;
  std::string max_time;
  std::string out;
  bool sensitivity = false;
  OutputFormat format;
  std::string html;
};

void add_optimize_options(Command& command, OptimizeArguments& arguments);

}  // namespace assay::cli
