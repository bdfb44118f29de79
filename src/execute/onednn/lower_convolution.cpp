// Conv and ConvTranspose: direct, Winograd or matrix product, whichever is fastest for the layer,
// in layouts that stay blocked from layer to layer.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "execute/onednn/epilogue.h"
#include "execute/onednn/steps.h"
#include "execute/onednn/tuner.h"
#include "kernels/window_grid.h"

namespace assay::onednn {

namespace {

struct Layer {
  NodeId id;
  Dims input;
  Dims output;
  Dims weights;  // as stored
  std::int64_t groups = 1;
  bool is_transposed = false;
  WindowGrid grid;
  const Tensor* weight = nullptr;
  const Tensor* bias = nullptr;
};

std::span<const std::int64_t> spatial(const Dims& dims) {
  return std::span(dims).subspan(2);
}

std::optional<Layer> layer_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() < 2 || !lowering.is_float(node.inputs[0])) return {};
  Layer layer;
  layer.id = id;
  layer.is_transposed = node.op == "ConvTranspose";
  layer.weight = lowering.constant(node.inputs[1]);
  layer.bias = node.has_input(2) ? lowering.constant(node.inputs[2]) : nullptr;
  if (layer.weight == nullptr || (node.has_input(2) && layer.bias == nullptr)) return {};
  if (layer.weight->type() != DataType::Float32) return {};
  layer.input = lowering.dims(node.inputs[0]);
  layer.output = lowering.dims(node.outputs[0]);
  layer.weights = layer.weight->dims();
  layer.groups = node.int_or("group", 1);
  const bool is_empty = checked_product(layer.input).value_or(0) == 0 ||
                        checked_product(layer.output).value_or(0) == 0;
  if (layer.input.size() < 3 || layer.input.size() > 5 || is_empty) return {};
  const KernelCall call{node, {}, lowering.graph().opset()};
  const std::span<const std::int64_t> kernel = spatial(layer.weights);
  layer.grid = layer.is_transposed ? transposed_window_grid(call, spatial(layer.input), kernel)
                                   : window_grid(call, spatial(layer.input), kernel);
  return layer;
}

Dims along_axes(const WindowGrid& grid, std::int64_t WindowAxis::*member, std::int64_t shift = 0) {
  Dims numbers;
  for (std::size_t i = 3 - grid.rank; i < 3; ++i) numbers.push_back(grid.axes[i].*member + shift);
  return numbers;
}

// oneDNN: [groups,] outputs, inputs, kernel…; a transposed one is stored inputs first.
Dims described_weights(const Layer& layer) {
  Dims dims;
  if (layer.groups > 1) dims.push_back(layer.groups);
  const std::int64_t first = layer.weights[0];
  const std::int64_t second = layer.weights[1];
  dims.push_back(layer.is_transposed ? second : first / layer.groups);
  dims.push_back(layer.is_transposed ? first / layer.groups : second);
  dims.insert(dims.end(), layer.weights.begin() + 2, layer.weights.end());
  return dims;
}

Desc stored_weights(const Layer& layer) {
  const Dims dims = described_weights(layer);
  if (!layer.is_transposed) return plain_desc(dims);
  const std::size_t outputs = layer.groups > 1 ? 1 : 0;
  Dims turned = dims;
  std::swap(turned[outputs], turned[outputs + 1]);
  Dims strides = row_major_strides(turned);
  std::swap(strides[outputs], strides[outputs + 1]);
  return strided_desc(dims, strides);
}

// Products with padding are not executed.
std::int64_t effective_macs(const Layer& layer) {
  std::int64_t taps = 1;
  for (const WindowAxis& axis : layer.grid.axes) {
    std::int64_t inside = 0;
    for (std::int64_t window = 0; window < axis.output; ++window) {
      inside += axis.taps_inside(window).count();
    }
    taps = saturating_multiply(taps, inside);
  }
  const std::int64_t channels = saturating_multiply(layer.weights[0], layer.weights[1]);
  return saturating_multiply(saturating_multiply(layer.input[0], channels), taps);
}

// A tile of m×m results takes (m + 2)² products for each pair of channels.
std::int64_t winograd_macs(const Layer& layer, std::int64_t tile) {
  std::int64_t tiles = layer.input[0];
  for (const std::int64_t size : spatial(layer.output)) tiles *= (size + tile - 1) / tile;
  return tiles * (tile + 2) * (tile + 2) * layer.weights[0] * layer.weights[1];
}

std::string algorithm_name(const std::string& implementation) {
  if (implementation.find("wino_4x3") != std::string::npos) return "winograd 4x3";
  if (implementation.find("wino_2x3") != std::string::npos) return "winograd 2x3";
  return implementation;
}

std::int64_t executed_flops(const Layer& layer, const std::string& algorithm) {
  if (algorithm == "winograd 4x3") return 2 * winograd_macs(layer, 4);
  if (algorithm == "winograd 2x3") return 2 * winograd_macs(layer, 2);
  return saturating_multiply(2, effective_macs(layer));
}

bool may_use_winograd(const Lowering& lowering, const Layer& layer) {
  if (lowering.options().careful || layer.is_transposed || layer.groups != 1) return false;
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) return false;
  const auto is_three_by_three = [](const WindowAxis& axis) {
    return axis.kernel == 3 && axis.stride == 1 && axis.dilation == 1;
  };
  return layer.grid.rank == 2 && is_three_by_three(layer.grid.axes[1]) &&
         is_three_by_three(layer.grid.axes[2]);
}

bool is_slow(const Choice& choice) {
  const std::string& name = choice.implementation;
  return name.starts_with("ref") || name.find("sse41") != std::string::npos;
}

// Transformed weights and tiles that are this much larger have to come from memory each time: such
// a choice was never seen to win, and even trying it would take more memory than the model.
bool is_wasteful(const Choice& choice, const std::vector<Choice>& others) {
  constexpr std::size_t kModest = std::size_t{32} << 20;
  const std::size_t bytes = bytes_of(choice.weights) + bytes_of(choice.scratchpad);
  return bytes > kModest && !others.empty() && bytes > 4 * bytes_of(others.front().weights);
}

ConvolutionKind kind_of(const Layer& layer) {
  return layer.is_transposed ? ConvolutionKind::Transposed : ConvolutionKind::Direct;
}

std::vector<Choice> choices_for(const Lowering& lowering, const Layer& layer,
                                const Convolution& what) {
  std::vector<Choice> choices = convolutions(what, kind_of(layer), 3);
  while (choices.size() > 1 && is_slow(choices.back())) choices.pop_back();
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) keep_small_weights(choices);
  if (may_use_winograd(lowering, layer)) {
    for (Choice& choice : convolutions(what, ConvolutionKind::Winograd, 2)) {
      if (!is_wasteful(choice, choices)) choices.push_back(std::move(choice));
    }
  }
  return choices;
}

std::string key_of(const Layer& layer, const Convolution& what, const Epilogue& epilogue) {
  std::string key = layer.is_transposed ? "deconv" : "conv";
  for (const Dims* dims : {&layer.input, &layer.output, &layer.weights, &what.strides,
                           &what.dilations, &what.pads_begin, &what.pads_end}) {
    key += " " + join_dims(*dims);
  }
  key += " g" + std::to_string(layer.groups);
  for (const PostOp& op : epilogue.post_ops) {
    key += " " + std::to_string(static_cast<int>(op.kind)) + "." +
           std::to_string(static_cast<int>(op.algorithm));
  }
  return key;
}

Convolution described(const Layer& layer, const Epilogue& epilogue, const Desc& result) {
  Convolution what;
  what.source = any_desc(layer.input);
  what.weights = any_desc(described_weights(layer));
  if (layer.bias != nullptr) what.bias = plain_desc(layer.bias->dims());
  what.result = result;
  what.strides = along_axes(layer.grid, &WindowAxis::stride);
  what.dilations = along_axes(layer.grid, &WindowAxis::dilation, -1);
  what.pads_begin = along_axes(layer.grid, &WindowAxis::pad_begin);
  what.pads_end = along_axes(layer.grid, &WindowAxis::pad_end);
  what.post_ops = post_ops_for(epilogue, result);
  // oneDNN wants the padding at the end that makes its own arithmetic come out.
  for (std::size_t i = 0; i < layer.grid.rank; ++i) {
    const WindowAxis& axis = layer.grid.axes[3 - layer.grid.rank + i];
    what.pads_end[i] =
        (axis.output - 1) * axis.stride + axis.extent() - axis.input - axis.pad_begin;
  }
  return what;
}

// Layouts that the result may have: any, or where something is added to it, one that the addend has
// or could be brought into.
std::vector<Desc> result_layouts(Lowering& lowering, const Layer& layer, const Epilogue& epilogue) {
  if (!epilogue.addend) return {any_desc(layer.output)};
  std::vector<Desc> layouts = lowering.layouts(*epilogue.addend);
  if (layer.output.size() != 4) return layouts;
  const Desc blocks(layer.output, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nChw16c);
  if (std::ranges::find(layouts, blocks) == layouts.end()) layouts.push_back(blocks);
  return layouts;
}

void add_convolution_step(Lowering& lowering, const Layer& layer, const Epilogue& epilogue,
                          const Choice& choice) {
  const Place source = lowering.in_layout(lowering.node(layer.id).inputs[0], choice.source);
  const Place weights = lowering.weight(*layer.weight, stored_weights(layer), choice.weights);
  std::vector<Argument> arguments = {{DNNL_ARG_SRC, choice.source, source},
                                     {DNNL_ARG_WEIGHTS, choice.weights, weights}};
  StepDraft draft{.nodes = {layer.id}, .reads = {source, weights}};
  if (layer.bias != nullptr) {
    const Place bias = lowering.weight(*layer.bias, plain_desc(layer.bias->dims()), choice.bias);
    arguments.push_back({DNNL_ARG_BIAS, choice.bias, bias});
    draft.reads.push_back(bias);
  }
  std::optional<Place> addend;
  if (epilogue.addend) {
    addend = lowering.in_layout(*epilogue.addend, choice.result);
    draft.reads.push_back(*addend);
    add_addend_argument(epilogue, choice.result, *addend, arguments);
  }
  const Place result =
      epilogue.in_place
          ? *addend
          : place_for(lowering.new_buffer(static_cast<std::int64_t>(bytes_of(choice.result))),
                      choice.result, layer.output);
  arguments.push_back({DNNL_ARG_DST, choice.result, result});
  draft.writes.push_back(result);
  add_scratchpad(lowering, choice, draft, arguments);
  draft.nodes.insert(draft.nodes.end(), epilogue.nodes.begin(), epilogue.nodes.end());
  draft.algorithm = algorithm_name(choice.implementation);
  draft.executed_flops = saturating_add(executed_flops(layer, draft.algorithm), epilogue.flops);
  lowering.add_step(draft, primitive_binder(choice.primitive, std::move(arguments)));
  lowering.set_place(epilogue.result, result);
}

// Changes of layout that a choice asks for, because a value is not there yet as it wants it.
Reorders reorders_for(Lowering& lowering, const Layer& layer, const Epilogue& epilogue,
                      const Choice& choice) {
  Reorders reorders;
  const auto ask = [&](ValueId value, const Desc& wanted) {
    if (!lowering.has_layout(value, wanted)) {
      reorders.emplace_back(desc_of(lowering.native(value)), wanted);
    }
  };
  ask(lowering.node(layer.id).inputs[0], choice.source);
  if (epilogue.addend) ask(*epilogue.addend, choice.result);
  return reorders;
}

std::vector<Choice> all_choices(Lowering& lowering, const Layer& layer, const Epilogue& epilogue) {
  std::vector<Choice> all;
  for (const Desc& layout : result_layouts(lowering, layer, epilogue)) {
    for (Choice& choice : choices_for(lowering, layer, described(layer, epilogue, layout))) {
      all.push_back(std::move(choice));
    }
  }
  return all;
}

bool lower_convolution(Lowering& lowering, NodeId id) {
  const auto layer = layer_of(lowering, id);
  if (!layer) return false;
  // Asked before neighbours are fused: a layer nobody can run fast leaves them alone.
  const ValueId value = lowering.node(id).outputs[0];
  Epilogue epilogue = empty_epilogue(value);
  const Convolution bare = described(*layer, epilogue, any_desc(layer->output));
  if (convolutions(bare, kind_of(*layer), 1).empty()) return false;
  epilogue = find_epilogue(lowering, id, value,
                           layer->is_transposed ? Additions::NotTaken : Additions::Taken);
  auto choices = all_choices(lowering, *layer, epilogue);
  if (choices.empty()) {
    epilogue = empty_epilogue(value);
    choices = all_choices(lowering, *layer, epilogue);
  }
  if (choices.empty())
    fail_running("Conv '{}': oneDNN refuses what it offered", lowering.node(id).name);
  for (const NodeId node : epilogue.nodes) lowering.cover(node);
  std::vector<Reorders> reorders;
  for (const Choice& choice : choices) {
    reorders.push_back(reorders_for(lowering, *layer, epilogue, choice));
  }
  const std::size_t chosen =
      lowering.tuner().fastest(key_of(*layer, bare, epilogue), choices, reorders);
  add_convolution_step(lowering, *layer, epilogue, choices[chosen]);
  return true;
}

}  // namespace

void add_convolution_lowering(LowerTable& table) {
  table["Conv"] = lower_convolution;
  table["ConvTranspose"] = lower_convolution;
}

}  // namespace assay::onednn
