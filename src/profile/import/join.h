// Which nodes of the model each kernel of a trace computed.
//
// Names count first. Kernels without a known name are found by position: kernels and nodes are
// aligned in order, where the kind of op and, if the file has them, shapes agree. Nodes without a
// kernel of their own were fused: they belong to the kernel before them.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/import_profile.h"

namespace assay::profile {

enum class FoundBy { Name, Position, Nothing };

struct JoinedKernel {
  std::vector<std::uint32_t> nodes = {};  // of the root graph, ascending
  FoundBy by = FoundBy::Nothing;
};

// One for each kernel. Shapes of the graph's values are known.
std::vector<JoinedKernel> join_kernels(const Graph& graph,
                                       const std::vector<RuntimeKernel>& kernels);

}  // namespace assay::profile
