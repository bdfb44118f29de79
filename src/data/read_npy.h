// A .npy array from anywhere, not only from a file of its own.
#pragma once

#include "assay/tensor.h"
#include "data/byte_source.h"

namespace assay {

// `most_left()` of the source must be exact.
Tensor read_npy(ByteSource& source);

}  // namespace assay
