// How long the layers of two versions of a model take, measured in turns.
#pragma once

#include <string>
#include <vector>

#include "assay/program.h"

namespace assay::optimize {

// Layers, by name, whose steps take clearly longer in `quantized` than in `original`.
std::vector<std::string> slower_layers(const Graph& original, const Graph& quantized,
                                       const std::vector<Tensor>& batch,
                                       const ProgramOptions& options);

// Whether whole runs of `candidate` take clearly less time.
bool is_faster(const Graph& candidate, const Graph& other, const std::vector<Tensor>& batch,
               const ProgramOptions& options);

}  // namespace assay::optimize
