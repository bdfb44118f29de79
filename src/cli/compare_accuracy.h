// The accuracy of both models of a comparison, on the same samples.
#pragma once

#include "assay/compare_report.h"
#include "cli/compared_model.h"
#include "cli/data_options.h"

namespace assay::cli {

// Nothing if no data set is named.
std::optional<ComparedAccuracy> compared_accuracy(const ComparedModels& models,
                                                  const DataArguments& data, Progress& progress,
                                                  std::vector<std::string>& warnings);

}  // namespace assay::cli
