// QLinearConv, channels last, by oneDNN or our own kernels (depthwise, tiles, 16-bit Winograd). The
// ops that follow on 8-bit numbers are fused: a Clip, and a QLinearAdd whose other operand may be
// overwritten.
#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "execute/cpu/kernels/quantized_depthwise.h"
#include "execute/cpu/kernels/winograd16.h"
#include "execute/cpu/lower/convolution_layer.h"
#include "execute/cpu/lower/own_choices.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/lower/tile_choices.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"

namespace assay::cpu {

namespace {

struct QuantizedLayer {
  ConvolutionLayer shape;
  Scale8 source, result;
  std::vector<float> weight_scales;
  Tensor weights;              // signed, zero point 0
  std::optional<Tensor> bias;  // in units of the sums
};

bool has_padding(const ConvolutionLayer& layer) {
  return std::ranges::any_of(layer.grid.axes, [](const kernels::WindowAxis& axis) {
    return axis.pad_begin > 0 ||
           (axis.output - 1) * axis.stride + axis.extent() > axis.input + axis.pad_begin;
  });
}

// Without padding every result has the same share of the zero point: it goes into the bias, and the
// source needs none.
void move_zero_point_into_bias(QuantizedLayer& layer) {
  if (layer.source.zero_point == 0 || has_padding(layer.shape)) return;
  const auto outputs = static_cast<std::size_t>(layer.shape.weights[0]);
  const auto weights = layer.weights.to_vector<std::int8_t>();
  std::vector<std::int32_t> bias(outputs, 0);
  if (layer.bias) bias = layer.bias->to_vector<std::int32_t>();
  const std::size_t taps = weights.size() / outputs;
  for (std::size_t i = 0; i < weights.size(); ++i)
    bias[i / taps] -= layer.source.zero_point * weights[i];
  layer.weights.release();  // they are read again when they are packed
  layer.bias = Tensor::of<std::int32_t>(DataType::Int32, {layer.shape.weights[0]}, bias);
  layer.source.zero_point = 0;
}

std::optional<QuantizedLayer> quantized_layer_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  auto shape = quantized_convolution_layer_of(lowering, id);
  if (!shape) return {};
  const auto source =
      scale8_of(lowering, node.inputs[1], node.inputs[2], type_of(lowering, node.inputs[0]));
  const auto result =
      scale8_of(lowering, node.inputs[6], node.inputs[7], type_of(lowering, node.outputs[0]));
  auto weights = signed_weights(lowering, node.inputs[3], node.inputs[5], 0);
  auto scales = constant_numbers(lowering, node.inputs[4]);
  const auto outputs = static_cast<std::size_t>(shape->weights[0]);
  if (!source || !result || !weights || (scales.size() != 1 && scales.size() != outputs)) return {};
  QuantizedLayer layer{.shape = *shape,
                       .source = *source,
                       .result = *result,
                       .weight_scales = std::move(scales),
                       .weights = std::move(*weights),
                       .bias = {}};
  if (shape->bias != nullptr) layer.bias = *shape->bias;
  if (shape->has_bias && !layer.bias) return {};
  move_zero_point_into_bias(layer);
  layer.shape.has_bias = layer.bias.has_value();
  return layer;
}

// What is done to the sums before they are written.
struct Epilogue8 {
  Scale8 result;
  std::vector<PostOp> post_ops = {};
  std::vector<NodeId> nodes = {};
  ValueId value;
  std::optional<ValueId> addend = {};
  Scale8 addend_scale = {};
  bool addend_is_first = false;  // operand of the addition
  NodeId addition = {};
};

PostOp eltwise_op(Algorithm algorithm, float alpha = 0, float beta = 0) {
  return {.kind = PostOp::Kind::Eltwise, .algorithm = algorithm, .alpha = alpha, .beta = beta};
}

PostOp clip_op(const Clamp8& clamp, const Scale8& of) {
  return eltwise_op(Algorithm::eltwise_clip, static_cast<float>(clamp.low - of.zero_point),
                    static_cast<float>(clamp.high - of.zero_point));
}

struct Addition8 {
  NodeId node;
  ValueId other;
  Scale8 other_scale, result;
  bool other_is_first = false;
};

// The convolution must not overwrite what it is still reading.
bool is_source(Lowering& lowering, NodeId convolution, ValueId id) {
  const ValueId source = lowering.node(convolution).inputs[0];
  if (lowering.constant(source) != nullptr) return false;
  return source == id || lowering.native(source).buffer == lowering.native(id).buffer;
}

// The QLinearAdd that alone reads `value`, if its other operand may be overwritten by the sum.
std::optional<Addition8> addition_after(Lowering& lowering, NodeId convolution, ValueId value) {
  const NodeId reader = lowering.only_reader(value);
  if (!reader.is_valid() || lowering.is_covered(reader)) return {};
  const Node& node = lowering.node(reader);
  if (node.op != "QLinearAdd" || node.inputs[0] == node.inputs[3]) return {};
  const std::size_t other = node.inputs[0] == value ? 3 : 0;
  const ValueId addend = node.inputs[other];
  if (!is_8_bit(lowering, addend) || lowering.dims(addend) != lowering.dims(node.outputs[0]))
    return {};
  if (lowering.dims(value) != lowering.dims(addend)) return {};
  if (!lowering.is_available(addend) || !lowering.may_overwrite(addend, reader)) return {};
  if (is_source(lowering, convolution, addend)) return {};
  const auto scale = scale8_of(lowering, node.inputs[other + 1], node.inputs[other + 2],
                               type_of(lowering, addend));
  const auto result =
      scale8_of(lowering, node.inputs[6], node.inputs.size() > 7 ? node.inputs[7] : ValueId{},
                type_of(lowering, node.outputs[0]));
  if (!scale || !result) return {};
  return Addition8{reader, addend, *scale, *result, other == 0};
}

bool take_clip(const Lowering& lowering, Epilogue8& epilogue) {
  const auto clip = clip_after(lowering, epilogue.value);
  if (!clip) return false;
  epilogue.post_ops.push_back(clip_op(clip->clamp, epilogue.result));
  epilogue.nodes.push_back(clip->node);
  epilogue.value = lowering.node(clip->node).outputs[0];
  return true;
}

// After a sum only a Relu: of two post-ops of one algorithm, two clips, oneDNN 2.6 runs the first
// one twice.
void take_relu(const Lowering& lowering, Epilogue8& epilogue) {
  const auto clip = clip_after(lowering, epilogue.value);
  if (!clip || clip->clamp.low != epilogue.result.zero_point ||
      clip->clamp.high < epilogue.result.range().high) {
    return;
  }
  epilogue.post_ops.push_back(eltwise_op(Algorithm::eltwise_relu));
  epilogue.nodes.push_back(clip->node);
  epilogue.value = lowering.node(clip->node).outputs[0];
}

// The convolution's own result is rounded and clamped to its 8 bits before the sum, as it would be
// in memory.
Epilogue8 epilogue_of(Lowering& lowering, const QuantizedLayer& layer, bool may_add) {
  const Epilogue8 bare{.result = layer.result, .value = lowering.node(layer.shape.id).outputs[0]};
  Epilogue8 epilogue = bare;
  // Rounded before the zero point is added: a sum of floats would round twice.
  if (layer.result.zero_point != 0)
    epilogue.post_ops.push_back(eltwise_op(Algorithm::eltwise_round));
  take_clip(lowering, epilogue);
  const auto addition =
      may_add ? addition_after(lowering, layer.shape.id, epilogue.value) : std::nullopt;
  if (!addition) return epilogue;
  epilogue = bare;
  epilogue.post_ops.push_back(eltwise_op(Algorithm::eltwise_round));
  if (!take_clip(lowering, epilogue))
    epilogue.post_ops.push_back(clip_op(layer.result.range(), layer.result));
  epilogue.post_ops.push_back(
      eltwise_op(Algorithm::eltwise_linear, layer.result.scale / addition->result.scale));
  epilogue.result = addition->result;
  epilogue.post_ops.push_back({.kind = PostOp::Kind::Sum,
                               .scale = addition->other_scale.scale / addition->result.scale,
                               .zero_point = addition->other_scale.zero_point,
                               .type = type_of(lowering, addition->other)});
  epilogue.nodes.push_back(addition->node);
  epilogue.value = lowering.node(addition->node).outputs[0];
  epilogue.addend = addition->other;
  epilogue.addend_scale = addition->other_scale;
  epilogue.addend_is_first = addition->other_is_first;
  epilogue.addition = addition->node;
  take_relu(lowering, epilogue);
  return epilogue;
}

Requantization requantization_of(const QuantizedLayer& layer, const Epilogue8& epilogue) {
  Requantization how{.scales = {},
                     .source_zero_point = layer.source.zero_point,
                     .result_zero_point = epilogue.result.zero_point};
  for (const float scale : layer.weight_scales)
    how.scales.push_back(layer.source.scale * scale / layer.result.scale);
  return how;
}

DataType type_of(const Scale8& scale) {
  return scale.is_signed ? DataType::Int8 : DataType::UInt8;
}

Convolution described(const QuantizedLayer& layer, const Epilogue8& epilogue) {
  const ConvolutionLayer& shape = layer.shape;
  Convolution what = described(shape, image_desc(shape.input, 0, type_of(layer.source)),
                               image_desc(shape.output, 0, type_of(epilogue.result)));
  what.weights = any_desc(described_weights(shape), DataType::Int8);
  if (layer.bias) what.bias = plain_desc({shape.output[1]}, DataType::Int32);
  what.post_ops = epilogue.post_ops;
  what.requantization = requantization_of(layer, epilogue);
  return what;
}

std::string key_of(const QuantizedLayer& layer, const Convolution& what) {
  std::string key = "qconv" + key_of(layer.shape, what);
  key += layer.source.is_signed ? " s" : " u";
  if (layer.source.zero_point != 0) key += " zero";
  for (const PostOp& op : what.post_ops) key += " " + std::to_string(static_cast<int>(op.kind));
  return key;
}

void add_convolution_step(Lowering& lowering, const QuantizedLayer& layer,
                          const Epilogue8& epilogue, const Choice& choice) {
  const ConvolutionLayer& shape = layer.shape;
  const Placement source = lowering.in_layout(lowering.node(shape.id).inputs[0], choice.source);
  const bool is_packed = packs_constants(choice);
  const Placement weights =
      is_packed
          ? packed_weights(
                lowering, choice, layer.weights,
                {.scales = requantization_of(layer, epilogue).scales, .bias = layer.bias}, shape.id)
          : lowering.weights().reordered(layer.weights,
                                         plain_desc(described_weights(shape), DataType::Int8),
                                         choice.weights);
  std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                     {argument::kWeights, choice.weights, weights}};
  StepDraft draft{.nodes = {shape.id},
                  .algorithm = choice.implementation,
                  .precision = precision_of(choice, "int8"),
                  .executed_flops = executed_flops(shape, choice),
                  .reads = {source, weights}};
  if (layer.bias && !is_packed) {
    const Placement bias = lowering.weights().reordered(
        *layer.bias, plain_desc({shape.output[1]}, DataType::Int32), choice.bias);
    arguments.push_back({argument::kBias, choice.bias, bias});
    draft.reads.push_back(bias);
  }
  Placement result;
  if (epilogue.addend) {
    const Desc as_addend = image_desc(shape.output, 0, type_of(lowering, *epilogue.addend));
    result = lowering.in_layout(*epilogue.addend, as_addend);
    draft.reads.push_back(result);
    result.type = type_of(epilogue.result);
    result.blocked = choice.result;
  } else {
    result = lowering.new_placement(choice.result, shape.output);
  }
  arguments.push_back({argument::kResult, choice.result, result});
  draft.writes.push_back(result);
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  draft.nodes.insert(draft.nodes.end(), epilogue.nodes.begin(), epilogue.nodes.end());
  const auto addend = epilogue.addend ? std::optional(result) : std::nullopt;
  lowering.add_step(draft, is_packed ? own_binder(choice, arguments, addend)
                                     : primitive_binder(choice.primitive, std::move(arguments)));
  lowering.set_placement(epilogue.value, result);
}

// Tiles of few channels are mostly padding, but small.
bool hardly_enlarges(const Choice& choice, const Tensor& weights) {
  constexpr std::size_t kSmall = std::size_t{16} << 10;
  const std::size_t stored = weights.byte_size();
  return bytes_of(choice.weights) <= stored + stored / 16 + kSmall;
}

// A step of the sum is rounded as QLinearAdd does it by itself, and as ONNX Runtime does: numbers
// with their zero points, which a shift takes out. Else one number in a million differs by a step,
// which spreads through a deep network.
void round_as_addition(const QuantizedLayer& layer, const Epilogue8& epilogue, TileEpilogue& tile) {
  const auto own_part = tile.factor * static_cast<float>(layer.result.zero_point);
  const auto other_part = tile.addend_scale * static_cast<float>(epilogue.addend_scale.zero_point);
  const auto zero_point = static_cast<float>(tile.zero_point);
  tile.own_zero_point = layer.result.zero_point;
  tile.addend_zero_point = 0;
  tile.addend_is_first = epilogue.addend_is_first;
  tile.addend_shift = zero_point - (own_part + other_part);
  tile.low_after += zero_point;
  tile.high_after += zero_point;
  tile.zero_point = 0;
}

TileEpilogue tile_epilogue_of(const QuantizedLayer& layer, const Epilogue8& epilogue) {
  TileEpilogue tile =
      tile_epilogue(epilogue.post_ops, type_of(epilogue.result), epilogue.result.zero_point);
  if (epilogue.addend) round_as_addition(layer, epilogue, tile);
  return tile;
}

TileLayer tile_layer_of(const QuantizedLayer& layer, const Epilogue8& epilogue) {
  const ConvolutionLayer& shape = layer.shape;
  return {.grid = shape.grid,
          .images = shape.input[0],
          .channels = shape.input[1],
          .outputs = shape.output[1],
          .type = tile_type(type_of(layer.source)),
          .source_zero_point = layer.source.zero_point,
          .epilogue = tile_epilogue_of(layer, epilogue)};
}

// Kernels of our own beside oneDNN's.
void add_own_choices(const Lowering& lowering, const QuantizedLayer& layer,
                     const Epilogue8& epilogue, std::vector<Choice>& choices) {
  const ConvolutionLayer& shape = layer.shape;
  const TileLayer what = tile_layer_of(layer, epilogue);
  const Desc source = image_desc(shape.input, 0, type_of(layer.source));
  const Desc result = image_desc(shape.output, 0, type_of(epilogue.result));
  const bool saves_memory = lowering.options().program.optimize_for == OptimizeFor::Memory;
  auto tiled = tile_choice(lowering, what, shape.groups, source, result);
  if (tiled && (!saves_memory || hardly_enlarges(*tiled, layer.weights))) {
    choices.insert(choices.begin(), std::move(*tiled));
  }
  auto winograd = winograd16_choice(lowering, what, shape.groups, source, result);
  if (winograd && Winograd16::is_exact(what, layer.weights.to_vector<std::int8_t>().data()))
    choices.push_back(std::move(*winograd));
}

std::vector<Choice> choices_for(const Lowering& lowering, const QuantizedLayer& layer,
                                const Epilogue8& epilogue) {
  constexpr std::size_t kMost = 3;
  auto choices = convolutions(described(layer, epilogue), ConvolutionKind::Direct, kMost);
  std::erase_if(choices, [](const Choice& choice) {
    return !has_exact_8_bit_products(choice.implementation);
  });
  if (!std::ranges::all_of(choices, is_slow_convolution))
    std::erase_if(choices, is_slow_convolution);
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) keep_small_weights(choices);
  // oneDNN rounds sums in another order.
  if (epilogue.addend) choices.clear();
  add_own_choices(lowering, layer, epilogue, choices);
  return choices;
}

bool is_depthwise(const ConvolutionLayer& layer) {
  return layer.groups == layer.input[1] && layer.weights[0] == layer.input[1] &&
         layer.weights[1] == 1;
}

DepthwiseNumbers depthwise_numbers(const QuantizedLayer& layer, const Clamp8& clamp) {
  const auto channels = static_cast<std::size_t>(layer.shape.input[1]);
  DepthwiseNumbers numbers{
      .source = layer.source,
      .result = layer.result,
      .clamp = clamp,
      .scales = requantization_of(layer, {.result = layer.result, .value = {}}).scales,
      .bias = std::vector<std::int32_t>(channels, 0),
      .weights = layer.weights.to_vector<std::int8_t>()};
  if (numbers.scales.size() == 1) numbers.scales.resize(channels, numbers.scales.front());
  if (layer.bias) numbers.bias = layer.bias->to_vector<std::int32_t>();
  return numbers;
}

// Channel by channel, by loops of our own: oneDNN's take one product at a time.
bool lower_depthwise(Lowering& lowering, const QuantizedLayer& layer) {
  const ConvolutionLayer& shape = layer.shape;
  if (!is_depthwise(shape) || !QuantizedDepthwise::has_form_for(shape.grid)) return false;
  ValueId value = lowering.node(shape.id).outputs[0];
  StepDraft draft{.nodes = {shape.id},
                  .algorithm = std::string("depthwise:") + vnni()->isa,
                  .precision = "int8",
                  .executed_flops = executed_flops(shape, {})};
  Clamp8 clamp = layer.result.range();
  if (const auto clip = clip_after(lowering, value)) {
    clamp = clip->clamp;
    lowering.cover(clip->node);
    draft.nodes.push_back(clip->node);
    value = lowering.node(clip->node).outputs[0];
  }
  const auto own = std::make_shared<const QuantizedDepthwise>(
      shape.grid, shape.input[0], shape.input[1], depthwise_numbers(layer, clamp),
      lowering.threads());
  const Placement source = lowering.in_layout(lowering.node(shape.id).inputs[0],
                                              image_desc(shape.input, 0, type_of(layer.source)));
  const Placement result =
      lowering.new_placement(image_desc(shape.output, 0, type_of(layer.result)), shape.output);
  const Placement weights = lowering.weights().prepared(
      layer.weights, draft.algorithm, own->weight_bytes(),
      [own](const Tensor& stored, std::byte* packed) {
        const auto numbers = stored.to_vector<std::int8_t>();
        own->pack_weights(numbers.data(), reinterpret_cast<std::int8_t*>(packed));
      });
  draft.reads = {source, weights};
  draft.writes = {result};
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const auto* from = reinterpret_cast<const std::uint8_t*>(at.bytes(source));
    const auto* packed = reinterpret_cast<const std::int8_t*>(at.bytes(weights));
    auto* to = reinterpret_cast<std::uint8_t*>(at.bytes(result));
    return [=] { own->run(from, packed, to); };
  });
  lowering.set_placement(value, result);
  return true;
}

bool lower_quantized_convolution(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const auto layer = quantized_layer_of(lowering, id);
  if (!layer) return lower_convolution_by_sums(lowering, id);
  if (lower_depthwise(lowering, *layer)) return true;
  Epilogue8 epilogue = epilogue_of(lowering, *layer, true);
  auto choices = choices_for(lowering, *layer, epilogue);
  if (choices.empty() || is_slow_convolution(choices.front())) {
    epilogue = epilogue_of(lowering, *layer, false);
    choices = choices_for(lowering, *layer, epilogue);
  }
  if (choices.empty()) return false;
  for (const NodeId node : epilogue.nodes) lowering.cover(node);
  const std::string key = key_of(*layer, described(*layer, epilogue));
  add_convolution_step(lowering, *layer, epilogue, choices[lowering.tuner().fastest(key, choices)]);
  return true;
}

}  // namespace

void add_quantized_convolution_lowering(LowerTable& table) {
  table["QLinearConv"] = lower_quantized_convolution;
}

}  // namespace assay::cpu
