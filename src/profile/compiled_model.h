// A model compiled for given inputs and fed with them, ready to run.
#pragma once

#include <memory>

#include "assay/model_inputs.h"
#include "assay/run.h"
#include "profile/prepared.h"

namespace assay::profile {

// Checked, bound (contents give shapes), inferred, counted and planned.
Prepared prepare_to_run(Graph graph, std::string name, const RunOptions& options);

// Every input: as given, as known, full lengths of sequences, or drawn at random.
std::vector<Tensor> inputs_for(const Program& program, const RunOptions& options,
                               const std::map<std::string, Tensor>& full_lengths = {});

// Options for a model fed with these tensors, in the order of its inputs.
RunOptions options_for(const Graph& model, const ModelInputs& input, const ProgramOptions& program);

// Bound to the inputs' shapes, inferred, compiled and fed.
std::unique_ptr<Program> compiled_for(const Graph& model, const ModelInputs& input,
                                      const ProgramOptions& program, Progress* progress = nullptr);

}  // namespace assay::profile
