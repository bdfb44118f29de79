#include "execute/onednn/own_choices.h"

#include <fmt/format.h>

#include "base/checked.h"
#include "execute/onednn/patch_product.h"
#include "execute/onednn/row_winograd.h"
#include "execute/onednn/winograd.h"

namespace assay::onednn {

namespace {

bool may_use_winograd(const Lowering& lowering, const ConvolutionLayer& layer) {
  if (layer.is_transposed || layer.groups != 1) return false;
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) return false;
  const auto is_three_by_three = [](const WindowAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
  };
  return layer.grid.rank == 2 && is_three_by_three(layer.grid.axes[1]) &&
         is_three_by_three(layer.grid.axes[2]);
}

// Transformed weights that are this much larger have to come from memory each time: unless a whole
// batch uses them, such a choice was never seen to win, and even trying it would take more memory
// than the model.
bool is_wasteful(const ConvolutionLayer& layer, const Choice& choice,
                 const std::vector<Choice>& others) {
  constexpr std::size_t kModest = std::size_t{32} << 20;
  constexpr std::int64_t kManyPixels = 512;
  const std::size_t bytes = bytes_of(choice.weights) + bytes_of(choice.scratchpad);
  return bytes > kModest && !others.empty() && bytes > 4 * bytes_of(others.front().weights) &&
         saturating_multiply(layer.input[0], layer.grid.output_elements()) < kManyPixels;
}

// An addition, then an activation that is a clamp; or one of them, or none.
std::optional<ConvolutionEnding> ending_of(const Epilogue& epilogue) {
  ConvolutionEnding ending;
  bool is_clamped = false;
  for (const PostOp& op : epilogue.post_ops) {
    if (is_clamped) return {};
    if (op.kind != PostOp::Kind::Eltwise) {
      ending.adds = true;
      continue;
    }
    is_clamped = true;
    if (op.algorithm == dnnl::algorithm::eltwise_relu && op.alpha == 0) {
      ending.low = 0;
    } else if (op.algorithm == dnnl::algorithm::eltwise_clip) {
      ending.low = op.alpha;
      ending.high = op.beta;
    } else {
      return {};
    }
  }
  return ending;
}

// All pixels of the results together: above this, oneDNN's convolutions have enough to work on.
constexpr std::int64_t kFewPixels = 256;

bool has_few_pixels(const ConvolutionLayer& layer) {
  return saturating_multiply(layer.input[0], layer.grid.output_elements()) <= kFewPixels;
}

bool may_use_patches(const ConvolutionLayer& layer) {
  return !layer.is_transposed && layer.groups == 1 && has_few_pixels(layer);
}

Desc channels_last(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t step = dims[1];
  for (std::size_t axis = dims.size() - 1; axis >= 2; --axis) {
    strides[axis] = step;
    step *= dims[axis];
  }
  strides[1] = 1;
  strides[0] = step;
  return strided_desc(dims, strides);
}

Choice own_choice(const ConvolutionLayer& layer, std::string name,
                  std::shared_ptr<const OwnConvolution> own) {
  const auto floats = [](std::size_t count) {
    return plain_desc({static_cast<std::int64_t>(count)});
  };
  Choice choice;
  choice.implementation = std::move(name);
  choice.source = channels_last(layer.input);
  choice.result = channels_last(layer.output);
  choice.weights = floats(own->weight_floats());
  choice.scratchpad = floats(own->scratch_floats());
  if (layer.bias != nullptr) choice.bias = plain_desc(layer.bias->dims());
  choice.own = std::move(own);
  return choice;
}

}  // namespace

std::vector<Choice> own_choices(const Lowering& lowering, const ConvolutionLayer& layer,
                                const Epilogue& epilogue, const std::vector<Choice>& others) {
  const auto ending = ending_of(epilogue);
  if (lowering.options().careful || !ending) return {};
  std::vector<Choice> choices;
  if (may_use_winograd(lowering, layer)) {
    for (const std::size_t tile : {4u, 2u}) {
      choices.push_back(
          own_choice(layer, fmt::format("winograd {0}x{0}", tile),
                     std::make_shared<Winograd>(tile, layer.grid, layer.input[0], layer.input[1],
                                                layer.output[1], *ending, lowering.threads())));
    }
  }
  if (may_use_winograd(lowering, layer) && has_few_pixels(layer)) {
    choices.push_back(
        own_choice(layer, "winograd 1x2",
                   std::make_shared<RowWinograd>(layer.grid, layer.input[0], layer.input[1],
                                                 layer.output[1], *ending, lowering.threads())));
  }
  if (may_use_patches(layer)) {
    choices.push_back(
        own_choice(layer, "im2col gemm",
                   std::make_shared<PatchProduct>(layer.grid, layer.input[0], layer.input[1],
                                                  layer.output[1], *ending, lowering.threads())));
  }
  std::erase_if(choices, [&](const Choice& choice) { return is_wasteful(layer, choice, others); });
  return choices;
}

}  // namespace assay::onednn
