// What both engines ask of a model's inputs and outputs.
#pragma once

#include <span>
#include <vector>

#include "assay/graph.h"

namespace assay {

std::vector<Value> values_of(const Graph& graph, std::span<const ValueId> ids);

// A program takes tensors of known shape and gives tensors.
void check_is_runnable(const Graph& graph);

// Throws an Error naming the input whose type or shape is not what was promised.
void check_inputs(const std::vector<Value>& wanted, std::span<const Tensor> given);

// Bytes of all stored tensors, those inside subgraphs too.
std::int64_t stored_bytes(const Graph& graph);

}  // namespace assay
