// The order in which a graph read from a file lists its values.
//
// Inputs, initializers, captures, then the outputs of each node: so that reading, writing and
// reading again gives the same graph, whatever Constant nodes and functions there were at first.
#pragma once

#include "assay/graph.h"

namespace assay::onnx {

// For a graph that was just read, and that nobody else holds; its subgraphs are put in order too.
// With `has_inlined_names`, a name that inlining made and the file uses too is changed.
void put_in_canonical_order(Graph& graph, bool has_inlined_names);

}  // namespace assay::onnx
