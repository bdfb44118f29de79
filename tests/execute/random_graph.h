// Small random networks of the ops that engines fuse, reorder and view: the same for the same seed.
#pragma once

#include <cstdint>

#include "assay/graph.h"

namespace assay {

Graph random_graph(std::uint64_t seed);

}  // namespace assay
