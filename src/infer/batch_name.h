// How models name their batch: by any name with "batch" in it.
#pragma once

#include <string>

namespace assay::infer {

bool is_called_batch(std::string name);

}  // namespace assay::infer
