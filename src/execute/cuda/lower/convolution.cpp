// Convolutions of floating numbers: by cuDNN, by cuBLASLt where there is one tap, or by kernels of
// our own.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "execute/cuda/convolution_view.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/folded_convolution.h"
#include "execute/cuda/implicit_gemm.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_convolution.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_strip.h"
#include "execute/cuda/winograd.h"
#include "kernels/movement.h"

namespace assay::cuda {

namespace {

// A kernel of our own and the step that it would be.
struct OwnConvolution {
  ConvolutionKernel kernel;
  StepDraft draft;
};

OwnConvolution own_convolution(Lowering& lowering, NodeId id, const ConvolutionView& view,
                               const std::optional<Placement>& bias, const Epilogue& epilogue) {
  Operands operands(lowering);
  const auto read = [&](const Placement& placement) -> TextAt {
    return [&](const std::vector<std::string>& at) { return operands.element(placement, at); };
  };
  operands.pointer(view.image);
  operands.pointer(view.weight);
  if (bias) operands.pointer(*bias);
  const ConvolutionTexts texts{.parameters = operands.parameters() + epilogue.parameters(),
                               .sum_type = computed_type(view.image.type),
                               .image = read(view.image),
                               .weight = read(view.weight),
                               .store = [&](const std::vector<std::string>& at) {
                                 return epilogue.statements(
                                     bias ? "sum + " + operands.element(*bias, at) : "sum", at);
                               }};
  return {convolution_kernel(view, texts),
          draft_with(epilogue, id, operands.reads(), view.flops())};
}

// Filters of one channel with the channels behind the taps.
Tensor channels_behind_taps(const Lowering& lowering, const Node& node, const Tensor& filters) {
  const auto rank = static_cast<std::int64_t>(filters.dims().size());
  Dims order;
  for (std::int64_t axis = 2; axis < rank + 2; ++axis) order.push_back(axis % rank);
  return kernels::transposed({node, {}, lowering.graph().opset()}, filters, order);
}

// One filter a channel, of weights `taps`.
Candidate strip_candidate(Lowering& lowering, NodeId id, const ConvolutionView& view,
                          const WindowStrip& strip, const Placement& taps,
                          const std::optional<Placement>& bias, const Epilogue& epilogue) {
  Operands operands(lowering);
  const auto group = [&](const Placement& vector, const char* name, const std::string& at) {
    return fmt::format("const Group<{0}, {1}> {2} = *(const Group<{0}, {1}>*)({3} + {4});\n",
                       stored_type(vector.type), strip.channels, name, operands.pointer(vector),
                       at);
  };
  const auto& [depth, height, width] = view.grid.axes;
  StripTexts texts{.image = operands.pointer(view.image),
                   .type = computed_type(view.image.type),
                   .outside = stored(view.image.type, "0"),
                   .tap = group(taps, "weight",
                                fmt::format("((tap0 * {} + tap1) * {} + tap2) * {} + channel",
                                            height.kernel, width.kernel, view.groups)),
                   .add = fmt::format("sum += x * {};", loaded(taps.type, "weight.at[j]"))};
  const bool adds_vector = bias && vector_width(*bias, 1) >= strip.channels;
  if (adds_vector) {
    texts.before = group(*bias, "bias", "channel");
    texts.start = loaded(bias->type, "bias.at[j]");
  } else if (bias) {
    texts.start =
        operands.element(*bias, std::vector<std::string>(view.result.size(), "channel + j"));
  }
  texts.parameters = operands.parameters();
  const StepDraft draft = draft_with(epilogue, id, operands.reads(), view.flops());
  return own_candidate(lowering, "own strips", strip_kernel(strip, texts, epilogue), false, draft);
}

// Of as many windows as promise to be fast and, as that depends on the device, of one.
std::vector<Candidate> strip_candidates(Lowering& lowering, NodeId id, const ConvolutionView& view,
                                        const std::optional<Placement>& bias,
                                        const Epilogue& epilogue) {
  const Node& node = lowering.node(id);
  const Tensor* filters = lowering.constant(node.inputs[1]);
  const bool is_depthwise = view.inputs == 1 && view.outputs == 1 && !view.is_transposed;
  if (!is_depthwise || filters == nullptr) return {};
  const auto strip = window_strip_of(view.grid, view.image);
  if (!strip) return {};
  const Placement taps = lowering.weight(channels_behind_taps(lowering, node, *filters));
  std::vector<Candidate> all = {strip_candidate(lowering, id, view, *strip, taps, bias, epilogue)};
  const auto single = window_strip_of(view.grid, view.image, 1);
  if (strip->windows > 1)
    all.push_back(strip_candidate(lowering, id, view, *single, taps, bias, epilogue));
  return all;
}

// A convolution of one tap is a product of all pixels and the weights.
std::optional<LibraryProduct> product_of(const ConvolutionView& view,
                                         const LibraryConvolution& convolution) {
  if (view.is_transposed || view.groups != 1 || view.grid.taps() != 1) return {};
  for (const kernels::WindowAxis& axis : view.grid.axes)
    if (axis.stride != 1 || axis.pad_begin != 0 || axis.pad_end != 0) return {};
  LibraryProduct product{.main = convolution.main,
                         .a = {.at = view.image},
                         .b = {.at = view.weight},
                         .result_like = convolution.result_like,
                         .bias = convolution.bias,
                         .column_axis = 1};
  const std::int64_t rows = view.batch * view.pixels();
  product.a.matrix = {
      .rows = rows, .columns = view.inputs, .leading = view.inputs + view.image.padding};
  product.b.matrix = {
      .rows = view.inputs, .columns = view.outputs, .leading = view.inputs, .by_columns = true};
  product.result = {.rows = rows, .columns = view.outputs, .leading = view.outputs};
  return product;
}

std::vector<Candidate> candidates_of(Lowering& lowering, const ConvolutionView& view,
                                     const LibraryConvolution& convolution,
                                     const Epilogue& epilogue, const OwnConvolution& own) {
  std::vector<Candidate> all = {own_candidate(lowering, name_of(own.kernel), own.kernel.kernel,
                                              own.kernel.is_tiled, own.draft)};
  const auto append = [&](std::vector<Candidate> more) {
    std::ranges::move(more, std::back_inserter(all));
  };
  append(strip_candidates(lowering, convolution.main, view, convolution.bias, epilogue));
  if (const auto product = product_of(view, convolution); product && can_multiply(*product))
    append(cublaslt_candidates(lowering, *product, epilogue));
  append(cudnn_candidates(lowering, convolution, epilogue));
  append(implicit_gemm_candidates(lowering, view, convolution.bias, epilogue, own.draft));
  append(winograd_candidates(lowering, view, convolution.stored_weight, convolution.bias, epilogue,
                             own.draft));
  return all;
}

bool lower_convolution(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_floating(lowering.type(node.inputs[0]))) return false;
  const auto view = convolution_view_of(lowering, node, 0, 1);
  if (!view) return false;
  std::optional<Placement> bias;
  if (node.has_input(2)) bias = along_axis(lowering.native(node.inputs[2]), view->result, 1);
  const Epilogue epilogue = epilogue_of(lowering, id, channels_last_placement);
  const OwnConvolution own = own_convolution(lowering, id, *view, bias, epilogue);
  const Tensor* weight = lowering.constant(node.inputs[1]);
  LibraryConvolution convolution{
      .main = id,
      .grid = view->grid,
      .is_transposed = view->is_transposed,
      .image = view->image,
      .weight = view->weight,
      .stored_weight = weight,
      .bias = bias,
      .result_like = channels_last_placement(lowering.type(node.outputs[0]), view->result)};
  if (const auto channels = padded_channels(lowering, node))
    convolution.padded_weight = lowering.padded_weight(*weight, *channels);
  convolution.folded = folded_convolution(lowering, node, view->grid);
  lowering.add_contest(own.draft, question_of(convolution) + following(lowering, epilogue),
                       candidates_of(lowering, *view, convolution, epilogue, own));
  return true;
}

}  // namespace

void add_convolution_lowering(LowerTable& table) {
  table["Conv"] = lower_convolution;
  table["ConvTranspose"] = lower_convolution;
}

}  // namespace assay::cuda
