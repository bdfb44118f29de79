// A model in several precisions, for a study of them (assay/study.h): cast, or for int8 quantised
// and calibrated on random inputs, which is enough for speed and size.
#pragma once

#include <string>
#include <vector>

#include "assay/study.h"

namespace assay {

// A precision that the model cannot have is left out, with a warning.
std::vector<PrecisionVariant> precision_variants(const Graph& model, const RunOptions& run,
                                                 const std::vector<std::string>& precisions,
                                                 const StudyOptions& options,
                                                 std::vector<std::string>& warnings);

}  // namespace assay
