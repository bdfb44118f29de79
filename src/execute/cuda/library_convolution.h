// Convolutions by cuDNN, as candidates beside our own kernels: with as much of what follows in one
// graph as some engine supports, the rest in a kernel of our own.
#pragma once

#include <optional>
#include <vector>

#include "execute/cuda/candidate.h"
#include "execute/cuda/tail.h"
#include "kernels/window_grid.h"

namespace assay::cuda {

// The same convolution on an image of blocks of 2 × 2 pixels as channels: without its stride.
struct FoldedConvolution {
  kernels::WindowGrid grid = {};
  Placement weight = {};  // channels last
};

struct LibraryConvolution {
  NodeId main = {};
  kernels::WindowGrid grid = {};
  bool is_transposed = false;
  bool is_weight_gradient = false;        // `weight` is the gradient of a convolution's result
  Placement image = {};                   // channels last, perhaps padded
  Placement weight = {};                  // channels last
  const Tensor* stored_weight = nullptr;  // as the model has it; null if it is computed
  // The same with zeros for channels that the image does not have, where that may be faster.
  std::optional<Placement> padded_weight = {};
  std::optional<FoldedConvolution> folded = {};  // where that may be faster
  std::optional<Placement> bias = {};
  Placement result_like = {};  // of the node's own result, channels last, without a buffer
};

// How many channels tensor cores would like the image of this Conv to have; nothing if they do not
// compute it, or if it has as many.
std::optional<std::int64_t> padded_channels(Lowering& lowering, const Node& node);
// How many channels a value of few should have, with zeros in the others, and lie channels last,
// for the convolutions that read it; nothing if something else reads it.
std::optional<std::int64_t> wanted_channels(Lowering& lowering, ValueId id);

// None if cuDNN is not there or no engine of it supports the convolution.
std::vector<Candidate> cudnn_candidates(Lowering& lowering, const LibraryConvolution& convolution,
                                        const Epilogue& epilogue);

// What the tuning file calls it, but for what follows.
std::string question_of(const LibraryConvolution& convolution);

}  // namespace assay::cuda
