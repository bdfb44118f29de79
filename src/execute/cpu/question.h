// What the tuning file calls a whole model.
#pragma once

#include <optional>
#include <string>

#include "assay/infer.h"

namespace assay::cpu {

// The same for models of the same ops, types and shapes.
std::string question_about(const Inferred& model, std::optional<DataType> precision);

}  // namespace assay::cpu
