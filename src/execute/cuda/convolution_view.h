// A convolution, plain or transposed, as kernels of our own see it, and the kernels: in tiles, as a
// product of patches and weights, or directly where a group has few channels.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "execute/cuda/chain.h"
#include "kernels/window_grid.h"

namespace assay::cuda {

struct ConvolutionView {
  Placement image;
  Placement weight;
  Dims result;
  kernels::WindowGrid grid;
  bool is_transposed = false;
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs = 0;   // channels of a group
  std::int64_t outputs = 0;  // channels of a group

  // Of the result.
  std::int64_t pixels() const;
  std::int64_t flops() const;
};

// Of inputs `image` and `weight`; nothing if there is nothing to compute.
std::optional<ConvolutionView> convolution_view_of(Lowering& lowering, const Node& node,
                                                   std::size_t image, std::size_t weight);

// The element at some coordinates, or statements that store the variable `sum` there.
using TextAt = std::function<std::string(const std::vector<std::string>& at)>;

struct ConvolutionTexts {
  std::string parameters;  // of the kernel
  std::string sum_type = "float";
  TextAt image;
  TextAt weight;
  TextAt store;
};

struct ConvolutionKernel {
  KernelText kernel;
  bool is_tiled = false;  // its threads cooperate
};
const char* name_of(const ConvolutionKernel& kernel);  // "own tiles"
ConvolutionKernel convolution_kernel(const ConvolutionView& view, const ConvolutionTexts& texts);

// The step of such a kernel: the draft has everything but the algorithm.
void add_convolution_step(Lowering& lowering, StepDraft draft, const ConvolutionKernel& kernel);

}  // namespace assay::cuda
