// What both engines ask of a model's inputs and outputs.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "assay/graph.h"

namespace assay::execute {

std::vector<Value> values_of(const Graph& graph, std::span<const ValueId> ids);

// What a caller gives before every run and takes after it; state is handed on without him.
std::vector<ValueId> given_inputs(const Graph& graph);
std::vector<ValueId> taken_outputs(const Graph& graph);
std::vector<ValueId> state_inputs(const Graph& graph);

// A program takes tensors of known shape and gives tensors.
void check_is_runnable(const Graph& graph);

// Throws an Error naming the input (or, as `what` says, something else) whose type or shape is not
// what was promised.
void check_inputs(const std::vector<Value>& wanted, std::span<const Tensor> given,
                  std::string_view what = "input");

// Bytes of all stored tensors, those inside subgraphs too; floating ones as if in `precision`.
std::int64_t stored_bytes(const Graph& graph, std::optional<DataType> precision = {});

}  // namespace assay::execute
