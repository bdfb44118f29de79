#include "execute/cuda/library_convolution.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <memory>

#include "assay/error.h"
#include "execute/cuda/convolution_algorithm.h"
#include "execute/cuda/folded_convolution.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/log.h"
#include "execute/cuda/lowering.h"
#include "gpu/cudnn_convolution.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kMostAlignment = 16;  // that engines ask for
// Engines that compile take a while: so many of a form are tried.
constexpr std::size_t kMostFused = 8;
constexpr std::size_t kMostAlone = 5;

gpu::CudnnActivation cudnn_activation(TailActivation activation) {
  switch (activation) {
    case TailActivation::None:
      return gpu::CudnnActivation::None;
    case TailActivation::Relu:
      return gpu::CudnnActivation::Relu;
    case TailActivation::ClippedRelu:
      return gpu::CudnnActivation::ClippedRelu;
    case TailActivation::Sigmoid:
      return gpu::CudnnActivation::Sigmoid;
    case TailActivation::Tanh:
      return gpu::CudnnActivation::Tanh;
    case TailActivation::Swish:
      return gpu::CudnnActivation::Swish;
    case TailActivation::Gelu:
      return gpu::CudnnActivation::Gelu;
    case TailActivation::GeluTanh:
      return gpu::CudnnActivation::GeluTanh;
  }
  return gpu::CudnnActivation::None;
}

// Two spatial axes at least: cuDNN has no convolutions of one.
gpu::CudnnTensor tensor_of(const Placement& placement) {
  gpu::CudnnTensor tensor{.dims = placement.dims,
                          .strides = placement.strides,
                          .alignment = alignment_of(placement, kMostAlignment)};
  if (tensor.dims.size() == 3) {
    tensor.dims.insert(tensor.dims.begin() + 2, 1);
    tensor.strides.insert(tensor.strides.begin() + 2, tensor.strides[2] * tensor.dims[3]);
  }
  return tensor;
}

// Axes of one element may have any stride in a placement; cuDNN tells layouts by them, and zeros
// behind the channels are channels.
Placement plain_channels_last(Placement placement) {
  placement.dims[1] += placement.padding;
  placement.strides = channels_last_placement(placement.type, placement.dims).strides;
  return placement;
}

// The convolution without what follows it.
gpu::CudnnConvolution convolution_of(const Lowering& lowering, const LibraryConvolution& wanted) {
  gpu::CudnnConvolution convolution{.type = *number_type(wanted.image.type),
                                    .math = float32_math(lowering),
                                    .is_transposed = wanted.is_transposed,
                                    .is_weight_gradient = wanted.is_weight_gradient,
                                    .image = tensor_of(plain_channels_last(wanted.image)),
                                    .weight = tensor_of(plain_channels_last(wanted.weight)),
                                    .result = tensor_of(wanted.result_like)};
  for (std::size_t i = 5 - convolution.image.dims.size(); i < wanted.grid.axes.size(); ++i) {
    const kernels::WindowAxis& axis = wanted.grid.axes[i];
    convolution.pads_begin.push_back(axis.pad_begin);
    convolution.pads_end.push_back(axis.pad_end);
    convolution.strides.push_back(axis.stride);
    convolution.dilations.push_back(axis.dilation);
  }
  return convolution;
}

// cuDNN derives the number of windows from the padding.
bool has_usual_padding(const LibraryConvolution& wanted) {
  for (const kernels::WindowAxis& axis : wanted.grid.axes) {
    if (axis.pad_begin < 0 || axis.pad_end < 0) return false;
    const std::int64_t padded = axis.input + axis.pad_begin + axis.pad_end;
    if ((padded - axis.extent()) / axis.stride + 1 != axis.output) return false;
  }
  return true;
}

ConvolutionSizes sizes_of(const LibraryConvolution& wanted) {
  return {.grid = wanted.grid,
          .is_transposed = wanted.is_transposed,
          .batch = wanted.image.dims[0],
          .channels_of_group = wanted.weight.dims[1],
          .filters = wanted.weight.dims[0]};
}

// "cudnn engine 3, winograd 2x2", and the arithmetic of that. An engine of which nothing is known
// is taken for direct; of one that surely is not, no arithmetic is known.
void describe(const gpu::CudnnGraph::Engine& engine, const std::string& suffix,
              const ConvolutionSizes& sizes, std::span<const std::string> kernels, StepInfo& step) {
  const ConvolutionAlgorithm algorithm = algorithm_of(engine, kernels, sizes.grid);
  step.algorithm = engine.name + (algorithm.name.empty() ? "" : ", " + algorithm.name) + suffix;
  const auto flops = executed_flops(algorithm, sizes);
  if (flops) {
    step.executed_flops += *flops - direct_flops(sizes);
    return;
  }
  step.isa.clear();
  if (algorithm.kind != ConvolutionAlgorithm::Kind::Unknown) step.executed_flops = 0;
}

// A graph of operations, and where its operands are.
struct ConvolutionForm {
  std::shared_ptr<const gpu::CudnnGraph> graph;
  Placement image;
  Placement weight;
  std::optional<Placement> added;
  std::optional<Placement> bias;
  bool adds_result = false;  // times 0
  std::shared_ptr<Remainder> remainder;
  std::string suffix = "";                // of names
  std::string fused = "";                 // what tells it from other forms
  std::shared_ptr<KernelCall> copy = {};  // of the image, runs before the graph
  std::string copy_text = "";
};

class ConvolutionForms {
 public:
  ConvolutionForms(Lowering& lowering, const LibraryConvolution& wanted, const Epilogue& epilogue)
      : lowering_(lowering),
        wanted_(wanted),
        epilogue_(epilogue),
        handle_(lowering.libraries().cudnn()) {
    const TailRules rules{
        .bias_axis = 1,
        .takes_bias = !wanted.bias,
        .activations = {TailActivation::Relu, TailActivation::ClippedRelu, TailActivation::Sigmoid,
                        TailActivation::Tanh, TailActivation::Swish, TailActivation::Gelu,
                        TailActivation::GeluTanh}};
    tail_ = tail_of(lowering, epilogue.chain, rules, wanted.result_like);
    if (wanted.bias) tail_.bias = wanted.bias;
  }

  // An image that lies padded is computed so, if some engine supports it.
  std::vector<Candidate> candidates() {
    if (wanted_.folded) {
      folds_ = true;
      offer(tail_, false, kMostFused);
      folds_ = false;
    }
    const std::size_t folded = candidates_.size();
    pads_ = wanted_.image.is_padded();
    offer_all();
    if (pads_ && candidates_.size() == folded) {
      pads_ = false;
      offer_all();
    } else if (!pads_ && wanted_.padded_weight) {
      pads_ = true;
      offer(tail_, false, kMostFused);
    }
    return std::move(candidates_);
  }

 private:
  void offer_all() {
    const bool is_fused = tail_.bias || !tail_.nodes.empty();
    if (is_fused) {
      const bool fits = offer(tail_, false, kMostFused);
      if (knows_old_form()) offer(tail_, true, kMostFused);
      if (!fits) offer_smaller_fusion();
    }
    offer({.value = epilogue_.chain.start}, false, is_fused ? kMostAlone : kMostFused);
  }

  // Engines of real float32 know the convolution with addition, bias and ReLU, in this order.
  bool knows_old_form() const {
    const bool is_relu =
        tail_.activation == TailActivation::Relu || tail_.activation == TailActivation::None;
    return is_relu && tail_.bias && !tail_.added && !wanted_.is_transposed &&
           !wanted_.is_weight_gradient;
  }

  // The bias alone.
  void offer_smaller_fusion() {
    if (wanted_.bias && !tail_.nodes.empty())
      offer({.bias = wanted_.bias, .value = epilogue_.chain.start}, false, kMostAlone);
  }

  bool offer(const Tail& tail, bool old_form, std::size_t most) {
    LibraryConvolution wanted = wanted_;
    lay_out(wanted);
    gpu::CudnnConvolution convolution = convolution_of(lowering_, wanted);
    if (tail.added) convolution.added = tensor_of(plain_channels_last(*tail.added));
    if (old_form) convolution.added = convolution.result;
    convolution.multiplies_added_by_0 = old_form;
    convolution.has_bias = tail.bias.has_value();
    if (tail.bias) convolution.bias_alignment = alignment_of(*tail.bias, kMostAlignment);
    convolution.activation = cudnn_activation(tail.activation);
    convolution.lower = tail.lower;
    convolution.upper = tail.upper;
    const bool bias_is_left = wanted_.bias && !tail.bias;
    ConvolutionForm form{
        .graph = {},
        .image = wanted.image,
        .weight = wanted.weight,
        .added = tail.added,
        .bias = tail.bias,
        .adds_result = old_form,
        .remainder = std::make_shared<Remainder>(lowering_, epilogue_, tail, wanted_.result_like,
                                                 bias_is_left ? wanted_.bias : std::nullopt),
        .suffix = std::string(old_form ? " (+ 0)" : "") + (pads_ ? " (padded)" : "")};
    if (!form.remainder->is_empty()) form.suffix += " + element-wise";
    form.fused = fmt::format(" of {}{}", tail.nodes.size(), tail.bias ? " and bias" : "");
    if (form.image.buffer != wanted_.image.buffer) add_copy(form);
    try {
      form.graph = std::make_shared<const gpu::CudnnGraph>(handle_, convolution);
    } catch (const Error& error) {
      log_line(fmt::format("{}, {}{}: {}", lowering_.graph().display_name(wanted_.main),
                           name(tail.activation), form.suffix, error.what()));
      return false;
    }
    const std::size_t count = std::min(form.graph->engines().size(), most);
    for (std::size_t i = 0; i < count; ++i) add(form, i);
    return true;
  }

  // Padded, folded or neither, in a buffer of its own unless the image lies so.
  void lay_out(LibraryConvolution& wanted) const {
    if (folds_) return fold(wanted);
    if (pads_) wanted.weight = *wanted.padded_weight;
    if (pads_ == wanted.image.is_padded()) return;
    const std::int64_t channels = pads_ ? wanted.weight.dims[1] : 0;
    wanted.image =
        lowering_.in_new_buffer(padded_placement(wanted.image.type, wanted.image.dims, channels));
  }

  void fold(LibraryConvolution& wanted) const {
    wanted.grid = wanted.folded->grid;
    wanted.weight = wanted.folded->weight;
    wanted.image = lowering_.in_new_buffer(channels_last_placement(
        wanted.image.type, {wanted.image.dims[0], wanted.weight.dims[1], wanted.grid.axes[1].input,
                            wanted.grid.axes[2].input}));
  }

  KernelText copy_of_image(const Placement& to) const {
    if (folds_) return folding_kernel(wanted_.image, to);
    return pads_ ? pixel_copy_kernel(wanted_.image, to) : copy_kernel(wanted_.image, to);
  }

  void add_copy(ConvolutionForm& form) const {
    const KernelText kernel = copy_of_image(form.image);
    form.copy = std::make_shared<KernelCall>(
        KernelCall{.kernel = 0, .shape = kernel.shape, .arguments = {wanted_.image, form.image}});
    form.copy_text = kernel.text;
    form.suffix += folds_ ? " (folded)" : " + copy";
  }

  static void add_kernels(Lowering& lowering, const ConvolutionForm& form) {
    form.remainder->add_kernel();
    if (form.copy) form.copy->kernel = lowering.kernels().add(form.copy_text);
  }

  void add(const ConvolutionForm& form, std::size_t engine) {
    const gpu::CudnnGraph::Engine& found = form.graph->engines()[engine];
    candidates_.push_back(
        {.name = found.name + form.suffix,
         .key = found.key + form.suffix + form.fused,
         .precision = library_precision(lowering_, form.image.type),
         .is_library = true,
         .add_kernels = [&lowering = lowering_, form] { add_kernels(lowering, form); },
         .prepare = [&lowering = lowering_, form,
                     engine] { return prepared(lowering, form, engine); },
         .describe =
             [found, suffix = form.suffix, sizes = sizes_of(wanted_)](
                 StepInfo& step, std::span<const std::string> kernels) {
               describe(found, suffix, sizes, kernels, step);
             }});
  }

  static Prepared prepared(Lowering& lowering, const ConvolutionForm& form, std::size_t engine) {
    const gpu::CudnnPlan plan = form.graph->plan(engine);
    const auto bind = [form, plan](const Addresses& at, BufferId workspace) -> Runner {
      const gpu::DevicePointer result = at.of(form.remainder->library_result());
      const auto address = [&](const std::optional<Placement>& placement) {
        return placement ? at.of(*placement) : 0;
      };
      Runner graph = plan.bind({.image = at.of(form.image),
                                .weight = at.of(form.weight),
                                .added = form.adds_result ? result : address(form.added),
                                .bias = address(form.bias),
                                .result = result,
                                .workspace = at.start(workspace)});
      if (!form.copy) return graph;
      return [graph, copy = binder_of(*form.copy)(at)](const gpu::Stream& stream) {
        copy(stream);
        graph(stream);
      };
    };
    Prepared prepared = prepared_with(form.remainder, plan.workspace_bytes(), lowering, bind);
    if (form.copy) prepared.workspace.push_back(form.image.buffer);
    return prepared;
  }

  Lowering& lowering_;
  const LibraryConvolution& wanted_;
  const Epilogue& epilogue_;
  std::shared_ptr<const gpu::CudnnHandle> handle_;
  Tail tail_;
  bool pads_ = false;  // the forms that are offered now
  bool folds_ = false;
  std::vector<Candidate> candidates_;
};

}  // namespace

std::optional<std::int64_t> padded_channels(Lowering& lowering, const Node& node) {
  const DataType type = lowering.type(node.inputs[0]);
  const bool is_half = type == DataType::Float16 || type == DataType::BFloat16;
  const bool is_tf32 = type == DataType::Float32 && lowering.options().cuda.tf32;
  const std::int64_t wanted = is_half ? 8 : 4;  // 16 bytes
  const bool fits = (is_half || is_tf32) && node.is("Conv") && node.int_or("group", 1) == 1 &&
                    lowering.constant(node.inputs[1]) != nullptr &&
                    lowering.libraries().cudnn() != nullptr;
  if (!fits || lowering.dims(node.inputs[0])[1] >= wanted) return {};
  return wanted;
}

std::optional<std::int64_t> wanted_channels(Lowering& lowering, ValueId id) {
  const Dims dims = lowering.dims(id);
  if (lowering.is_visible(id) || dims.size() < 3 || dims[1] > kMostPixelChannels) return {};
  std::optional<std::int64_t> wanted;
  for (const NodeId reader : lowering.readers(id)) {
    const Node& node = lowering.node(reader);
    if (!node.is("Conv") || node.inputs[0] != id || node.inputs[1] == id) return {};
    const std::int64_t channels = padded_channels(lowering, node).value_or(dims[1]);
    if (wanted && wanted != channels) return {};
    wanted = channels;
  }
  return wanted;
}

std::vector<Candidate> cudnn_candidates(Lowering& lowering, const LibraryConvolution& wanted,
                                        const Epilogue& epilogue) {
  const bool is_known = number_type(wanted.image.type) && wanted.weight.type == wanted.image.type &&
                        wanted.result_like.type == wanted.image.type &&
                        (!wanted.bias || wanted.bias->type == wanted.image.type) &&
                        has_usual_padding(wanted);
  if (!is_known || lowering.libraries().cudnn() == nullptr) return {};
  return ConvolutionForms(lowering, wanted, epilogue).candidates();
}

std::string question_of(const LibraryConvolution& wanted) {
  std::string text =
      fmt::format("{}convolution {} {} by {} to {}",
                  wanted.is_weight_gradient ? "weights of a "
                  : wanted.is_transposed    ? "transposed "
                                            : "",
                  name(wanted.image.type), fmt::join(wanted.image.dims, "x"),
                  fmt::join(wanted.weight.dims, "x"), fmt::join(wanted.result_like.dims, "x"));
  for (const kernels::WindowAxis& axis : wanted.grid.axes)
    text += fmt::format(" {}/{}/{}/{}", axis.stride, axis.dilation, axis.pad_begin, axis.pad_end);
  return text + (wanted.bias ? " + bias" : "");
}

}  // namespace assay::cuda
