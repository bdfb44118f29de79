// Concats of channels that grow, as in DenseNet: [a, b], then [a, b, c], and so on. One buffer
// holds the longest, pixel by pixel. The shorter ones are its first channels, so that every Concat
// copies only the inputs that the one before it did not have.
#pragma once

#include "execute/cpu/lowering.h"

namespace assay::cpu {

struct JoinedPixels {
  Placement result;              // of all inputs, channels last
  std::size_t inputs_there = 0;  // how many of the first inputs lie there already
};

// Where the Concat's result goes; channels last without gaps if nothing grows.
JoinedPixels place_joined_pixels(Lowering& lowering, NodeId id);

// The distance of neighbouring pixels in elements, if channels lie side by side and pixels at equal
// distances, but with gaps between them.
std::optional<std::int64_t> pixel_distance(const Placement& placement);

}  // namespace assay::cpu
