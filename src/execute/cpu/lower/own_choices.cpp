#include "execute/cpu/lower/own_choices.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/kernels/column_product.h"
#include "execute/cpu/kernels/depthwise.h"
#include "execute/cpu/kernels/panel_convolution.h"
#include "execute/cpu/kernels/patch_product.h"
#include "execute/cpu/kernels/row_winograd.h"
#include "execute/cpu/kernels/trained_winograd.h"
#include "execute/cpu/kernels/winograd.h"
#include "execute/cpu/lower/half_choices.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

using kernels::WindowAxis;

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

bool stored_in_float16(const ConvolutionLayer& layer) {
  return !layer.weights_change() && layer.weight->type() == DataType::Float16;
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

// All pixels of the results together: above this, oneDNN's convolutions have enough to work on.
constexpr std::int64_t kFewPixels = 256;

bool has_few_pixels(const ConvolutionLayer& layer) {
  return saturating_multiply(layer.input[0], layer.grid.output_elements()) <= kFewPixels;
}

bool may_use_patches(const ConvolutionLayer& layer) {
  return !layer.is_transposed && layer.groups == 1 && has_few_pixels(layer);
}

bool may_use_panels(const ConvolutionLayer& layer, const std::vector<Choice>& others) {
  return !layer.is_transposed && layer.groups == 1 && layer.type == DataType::Float32 &&
         std::ranges::none_of(others, is_generated);
}

bool may_use_depthwise(const ConvolutionLayer& layer) {
  return !layer.is_transposed && layer.groups > 1 && layer.groups == layer.input[1] &&
         layer.output[1] == layer.input[1] && layer.type == DataType::Float32 &&
         Depthwise::has_form_for(layer.grid);
}

// oneDNN computes blocks of 16 results for each pixel, however few are wanted.
bool may_use_columns(const ConvolutionLayer& layer) {
  constexpr std::int64_t kFewOutputs = 8;
  return layer.is_transposed && layer.groups == 1 && layer.type == DataType::Float32 &&
         !layer.weights_change() && layer.output[1] <= kFewOutputs;
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
  choice.scratchpad = floats(own->workspace_floats());
  if (layer.has_bias) choice.bias = plain_desc({layer.output[1]});
  choice.own = std::move(own);
  return choice;
}

// Images in the layer's type, weights as floats or in 16 bits: widening them takes time where few
// tiles use them.
enum class WinogradWeights { Floats, Integers };

Choice winograd_choice(const Lowering& lowering, const ConvolutionLayer& layer,
                       const Epilogue& epilogue, std::size_t tile, WinogradWeights weights) {
  const auto own = std::make_shared<Winograd>(tile, layer.grid, layer.input[0], layer.input[1],
                                              layer.output[1], epilogue, lowering.threads());
  std::string name = fmt::format("winograd {0}x{0}", tile);
  if (const auto format = half_format(layer.type)) own->take_halves(*format);
  const bool is_narrow = weights == WinogradWeights::Integers;
  if (is_narrow) own->store_weights_as_integers();
  if (is_narrow) name += " + int16 weights";
  Choice choice = own_choice(layer, std::move(name), own);
  choice.halves_weights = is_narrow;
  choice.source = with_type(choice.source, layer.type);
  choice.result = with_type(choice.result, layer.type);
  return choice;
}

// For processors whose convolutions oneDNN does not generate.
std::optional<Choice> panel_choice(const Lowering& lowering, const ConvolutionLayer& layer,
                                   const FusedOps& fused, const std::vector<Choice>& others) {
  auto finish = product_finish_of(fused.post_ops);
  if (!finish || !may_use_panels(layer, others)) return {};
  return own_choice(layer, "panels",
                    std::make_shared<PanelConvolution>(
                        PanelLayer{.grid = layer.grid,
                                   .images = static_cast<std::size_t>(layer.input[0]),
                                   .channels = static_cast<std::size_t>(layer.input[1]),
                                   .outputs = static_cast<std::size_t>(layer.output[1]),
                                   .patch_floats = patch_floats(lowering)},
                        std::move(*finish), lowering.threads()));
}

// Images and weights in blocks of channels, as oneDNN lays them out on this processor; where it has
// no fast convolutions, channels last.
struct TrainedLayouts {
  std::size_t block = 0;  // 0: none
  Desc images;
  Desc results;
  Desc weights;
};

// [3, 3, inputs, outputs]
Desc weights_with_outputs_last(const ConvolutionLayer& layer) {
  const Dims dims = described_weights(layer);
  const std::int64_t tap = dims[0] * dims[1];
  return strided_desc(dims, {1, dims[0], 3 * tap, tap});
}

std::optional<TrainedLayouts> trained_layouts(const ConvolutionLayer& layer,
                                              const std::vector<Choice>& others) {
  if (std::ranges::none_of(others, is_generated))
    return TrainedLayouts{0, channels_last(layer.input), channels_last(layer.output),
                          weights_with_outputs_last(layer)};
  for (const std::int64_t block : {16, 8}) {
    const TrainedLayouts layouts{static_cast<std::size_t>(block), image_desc(layer.input, block),
                                 image_desc(layer.output, block),
                                 blocked_weights_desc(described_weights(layer), block)};
    const bool is_full = layer.input[1] % block == 0 && layer.output[1] % block == 0;
    const bool is_usual = std::ranges::any_of(
        others, [&](const Choice& choice) { return choice.source == layouts.images; });
    if (is_full && is_usual) return layouts;
  }
  return {};
}

}  // namespace

bool is_generated(const Choice& choice) {
  const std::string& name = choice.implementation;
#if defined(__aarch64__)
  // Below "gemm:jit", oneDNN has plain loops there.
  if (name.starts_with("gemm:")) return false;
#endif
  return name.find("jit") != std::string::npos || name.find("brg") != std::string::npos;
}

std::optional<Epilogue> epilogue_of(const FusedOps& fused) {
  Epilogue epilogue;
  bool is_clamped = false;
  for (const PostOp& op : fused.post_ops) {
    if (is_clamped) return {};
    if (op.kind != PostOp::Kind::Eltwise) {
      epilogue.adds = true;
      continue;
    }
    is_clamped = true;
    if (op.algorithm == Algorithm::eltwise_relu && op.alpha == 0) {
      epilogue.low = 0;
    } else if (op.algorithm == Algorithm::eltwise_clip) {
      epilogue.low = op.alpha;
      epilogue.high = op.beta;
    } else {
      return {};
    }
  }
  return epilogue;
}

std::vector<Choice> own_choices(const Lowering& lowering, const ConvolutionLayer& layer,
                                const FusedOps& fused, const std::vector<Choice>& others) {
  if (lowering.options().ieee_strict) return {};
  std::vector<Choice> choices;
  if (auto panels = panel_choice(lowering, layer, fused, others))
    choices.push_back(std::move(*panels));
  const auto epilogue = epilogue_of(fused);
  if (!epilogue) return choices;
  if (may_use_depthwise(layer)) {
    choices.push_back(
        own_choice(layer, "depthwise",
                   std::make_shared<Depthwise>(layer.grid, layer.input[0], layer.input[1],
                                               std::nullopt, *epilogue, lowering.threads())));
  }
  if (may_use_winograd(lowering, layer)) {
    for (const std::size_t tile : {4u, 2u}) {
      for (const auto weights : {WinogradWeights::Integers, WinogradWeights::Floats}) {
        if (weights == WinogradWeights::Floats || stored_in_float16(layer))
          choices.push_back(winograd_choice(lowering, layer, *epilogue, tile, weights));
      }
    }
  }
  if (may_use_winograd(lowering, layer) && has_few_pixels(layer)) {
    choices.push_back(
        own_choice(layer, "winograd 1x2",
                   std::make_shared<RowWinograd>(layer.grid, layer.input[0], layer.input[1],
                                                 layer.output[1], *epilogue, lowering.threads())));
  }
  if (may_use_columns(layer)) {
    choices.push_back(own_choice(
        layer, "gemm col2im",
        std::make_shared<ColumnProduct>(layer.grid, layer.input[0], layer.input[1], layer.output[1],
                                        *epilogue, lowering.threads())));
  }
  if (may_use_patches(layer) && layer.type != DataType::Float16) {
    choices.push_back(
        own_choice(layer, "im2col gemm",
                   std::make_shared<PatchProduct>(layer.grid, layer.input[0], layer.input[1],
                                                  layer.output[1], *epilogue, lowering.threads())));
  }
  std::erase_if(choices, [&](const Choice& choice) { return is_wasteful(layer, choice, others); });
  return choices;
}

std::vector<Choice> trained_choices(const Lowering& lowering, const ConvolutionLayer& layer,
                                    const FusedOps* fused, ConvolutionKind kind,
                                    const std::vector<Choice>& others) {
  const std::optional<Epilogue> epilogue = fused == nullptr ? Epilogue{} : epilogue_of(*fused);
  if (lowering.options().ieee_strict || !epilogue || !may_use_winograd(lowering, layer)) return {};
  const auto layouts = trained_layouts(layer, others);
  if (!layouts) return {};
  const bool is_back = kind == ConvolutionKind::InputGradient;
  std::vector<Choice> choices;
  for (const std::size_t tile : {4u, 2u}) {
    Choice choice = own_choice(
        layer, fmt::format("winograd {0}x{0}", tile),
        std::make_shared<TrainedWinograd>(
            is_back ? TrainedWinograd::Direction::Backward : TrainedWinograd::Direction::Forward,
            tile, layer.grid, layer.input[0], layer.input[1], layer.output[1], layouts->block,
            *epilogue, lowering.threads(),
            layouts->block == 0 ? simd() : simd_for(layouts->block)));
    choice.source = layouts->images;
    choice.result = layouts->results;
    choice.weights = layouts->weights;
    if (is_back) {
      choice.indices = {.source = argument::kResult, .result = argument::kSource};
      choice.bias = {};
    }
    choices.push_back(std::move(choice));
  }
  std::erase_if(choices, [&](const Choice& choice) { return is_wasteful(layer, choice, others); });
  return choices;
}

Binder own_binder(const Choice& choice, const std::vector<Argument>& arguments,
                  const std::optional<Placement>& addend) {
  return [own = choice.own, arguments, addend](const Addresses& at) -> Runner {
    ConvolutionOperands operands;
    for (const Argument& argument : arguments) {
      float* floats = at.floats(argument.placement);
      if (argument.index == argument::kSource) operands.source = floats;
      if (argument.index == argument::kWeights) operands.weights = floats;
      if (argument.index == argument::kBias) operands.bias = floats;
      if (argument.index == argument::kResult) operands.result = floats;
      if (argument.index == argument::kScratchpad) operands.workspace = floats;
    }
    if (addend) operands.addend = at.floats(*addend);
    return [own, operands] { own->run(operands); };
  };
}

}  // namespace assay::cpu
