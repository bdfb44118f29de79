// Operators in the layouts that ONNX Runtime's graph optimiser chooses for one machine, rewritten
// as operators on images with channels first, so that everything behind the reader knows one form
// of each op.
//
// There are two such layouts: channels last (com.microsoft, attribute `channels_last`), and blocks
// of channels (com.microsoft.nchwc), whose weights lie in another order too. The file does not say
// how large a block is; it is 16, as on processors with AVX-512, unless a count of channels is only
// divisible by 8.
#pragma once

#include "assay/graph.h"

namespace assay::onnx {

// Throws an Error naming a node that cannot be rewritten.
Graph without_machine_layouts(const Graph& graph);

// Whether there is anything to rewrite.
bool has_machine_layouts(const Graph& graph);

}  // namespace assay::onnx
