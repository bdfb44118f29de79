// ONNX's own conformance models: each records inputs, and the outputs that they give.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "assay/program.h"

namespace assay {

struct RecordedRun {
  ProgramOptions options = {};
  // All inputs but the first are stored tensors, as the settings of ops are in most models.
  bool stores_settings = false;
  int runs = 1;  // the last of which is compared
};

// Nothing when every data set of the model is computed as recorded, by an engine where all its
// values are tensors, by the interpreter otherwise.
std::optional<std::string> complaint_about(const std::filesystem::path& folder,
                                           const RecordedRun& run);

}  // namespace assay
