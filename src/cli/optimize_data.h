// What --dataset and --calibrate mean for a command that changes a model.
#pragma once

#include <string>

#include "assay/optimize_data.h"
#include "cli/command.h"
#include "cli/data_options.h"
#include "cli/model_options.h"

namespace assay::cli {

struct OptimizeDataArguments {
  DataArguments data;     // --dataset: accuracy, fine-tuning, and calibration unless told otherwise
  std::string calibrate;  // a data set, a folder of .npy files, or "random"
  std::string samples;    // to calibrate with
};

void add_optimize_data_options(Command& command, OptimizeDataArguments& arguments);

// Without any data, versions are judged on seeded inputs, and none can be calibrated.
OptimizeData requested_data(const OptimizeDataArguments& arguments, const RequestedModel& request,
                            std::uint64_t seed);

// Whether the user gave anything to measure a loss on.
bool gives_data(const OptimizeDataArguments& arguments, const RequestedModel& request);

}  // namespace assay::cli
