// ConvInteger by oneDNN, channels last, and what quantize_dynamic writes after it: Cast, Mul by the
// scales, Add of a bias, Relu or Clip. Also QLinearConv whose weights, less their zero point, need
// 9 bits.
//
// oneDNN multiplies the 8-bit numbers as they are. What the source's zero point, known only at run
// time, takes from a sum is its product with the sum of the weights whose taps fall on the image;
// those sums are known ahead, one list of channels for each kind of position. Taps on padding,
// which stands for the zero point, count neither here nor there.
#include <algorithm>
#include <limits>
#include <memory>

#include "base/checked.h"
#include "execute/cpu/lower/integer_sums.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/lower/weight_sums.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Weights as oneDNN multiplies them. Less their zero points they may need 9 bits; then there is
// either one more output channel of ones, whose results are the sums of windows, or, in groups,
// more parts to be added to the first.
struct IntegerWeights {
  std::vector<Tensor> parts;
  std::vector<std::int32_t> zero_points = {};  // with a channel of ones: to be subtracted yet
  std::vector<std::int16_t> numbers = {};      // less their zero points

  bool has_ones() const { return !zero_points.empty(); }
};

std::vector<std::int16_t> less_zero_points(const ShiftedWeights& weights) {
  const auto stored = weights.numbers.to_vector<std::int8_t>();
  std::vector<std::int16_t> numbers(stored.begin(), stored.end());
  if (weights.zero_points.empty()) return numbers;
  const std::size_t taps = numbers.size() / weights.zero_points.size();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<std::int16_t>(numbers[i] - weights.zero_points[i / taps]);
  return numbers;
}

Tensor with_ones(const Tensor& weights) {
  auto numbers = weights.to_vector<std::int8_t>();
  Dims dims = weights.dims();
  numbers.resize(numbers.size() + numbers.size() / static_cast<std::size_t>(dims[0]), 1);
  ++dims[0];
  return Tensor::of<std::int8_t>(DataType::Int8, dims, numbers);
}

// Signed 8-bit numbers that sum up to the numbers of 9 bits: two parts, or three where there is a
// 255.
std::vector<Tensor> summands(std::vector<std::int16_t> numbers, const Dims& dims) {
  std::vector<Tensor> parts;
  const auto is_left = [](std::int16_t number) { return number != 0; };
  while (parts.empty() || std::ranges::any_of(numbers, is_left)) {
    std::vector<std::int8_t> part;
    for (std::int16_t& number : numbers) {
      part.push_back(static_cast<std::int8_t>(std::clamp<int>(number, -128, 127)));
      number = static_cast<std::int16_t>(number - part.back());
    }
    parts.push_back(Tensor::of<std::int8_t>(DataType::Int8, dims, part));
  }
  return parts;
}

std::optional<IntegerWeights> integer_weights(const Lowering& lowering, ValueId weights,
                                              ValueId zero_point, std::int64_t groups) {
  auto shifted = shifted_weights(lowering, weights, zero_point, 0);
  if (!shifted || shifted->numbers.elements() == 0) return {};
  IntegerWeights all{.parts = {}, .numbers = less_zero_points(*shifted)};
  if (shifted->zero_points.empty()) {
    all.parts = {shifted->numbers};
  } else if (groups == 1) {
    all.parts = {with_ones(shifted->numbers)};
    all.zero_points = std::move(shifted->zero_points);
  } else {
    all.parts = summands(all.numbers, shifted->numbers.dims());
  }
  return all;
}

// The layer that oneDNN runs.
ConvolutionLayer layer_of_parts(ConvolutionLayer layer, const IntegerWeights& weights) {
  layer.has_bias = false;
  if (!weights.has_ones()) return layer;
  ++layer.weights[0];
  ++layer.output[1];
  return layer;
}

// What follows the sums, as far as it is taken in.
struct ScaledEpilogue {
  std::vector<NodeId> nodes;
  ValueId value;
  std::optional<ValueId> factor = {};  // one number, or one for each channel
  std::optional<ValueId> bias = {};    // in units of the sums, one number for each channel
  SumsEpilogue how = {};
};

NodeId next_after(const Lowering& lowering, ValueId value) {
  const NodeId reader = lowering.only_reader(value);
  const bool fits = reader.is_valid() && !lowering.is_covered(reader) &&
                    lowering.node(reader).is_standard() && lowering.node(reader).has_output(0);
  return fits ? reader : NodeId{};
}

// The operand beside `value`, of one element, or one for each channel of `whole`.
std::optional<ValueId> channel_operand(const Lowering& lowering, const Node& node, ValueId value,
                                       const Dims& whole) {
  if (node.inputs.size() != 2 || node.inputs[0] == node.inputs[1]) return {};
  const ValueId other = node.inputs[node.inputs[0] == value ? 1 : 0];
  if (lowering.is_dynamic(other) || !lowering.is_available(other)) return {};
  const Dims dims = lowering.dims(other);
  if (dims.size() > whole.size()) return {};
  const std::int64_t count = checked_product(dims).value_or(0);
  if (count == 1) return other;
  const std::size_t lead = whole.size() - dims.size();
  const bool is_by_channel = lead <= 1 && dims[1 - lead] == count && count == whole[1];
  return is_by_channel ? std::optional(other) : std::nullopt;
}

void take(const Lowering& lowering, NodeId id, ScaledEpilogue& epilogue) {
  epilogue.nodes.push_back(id);
  epilogue.value = lowering.node(id).outputs[0];
}

// Nothing where a reader other than an Add of one number for each channel comes next.
void take_integer_bias(const Lowering& lowering, const Dims& whole, ScaledEpilogue& epilogue) {
  const NodeId add = next_after(lowering, epilogue.value);
  if (!add.is_valid() || !lowering.node(add).is("Add")) return;
  const auto bias = channel_operand(lowering, lowering.node(add), epilogue.value, whole);
  if (!bias || checked_product(lowering.dims(*bias)).value_or(0) != whole[1]) return;
  epilogue.bias = bias;
  take(lowering, add, epilogue);
}

bool take_scaling(const Lowering& lowering, const Dims& whole, ScaledEpilogue& epilogue) {
  const NodeId cast = next_after(lowering, epilogue.value);
  if (!cast.is_valid() || !lowering.node(cast).is("Cast") ||
      !lowering.is_float(lowering.node(cast).outputs[0]))
    return false;
  const ValueId floats = lowering.node(cast).outputs[0];
  const NodeId mul = next_after(lowering, floats);
  if (!mul.is_valid() || !lowering.node(mul).is("Mul")) return false;
  const auto factor = channel_operand(lowering, lowering.node(mul), floats, whole);
  if (!factor || !lowering.is_float(*factor)) return false;
  epilogue.factor = factor;
  take(lowering, cast, epilogue);
  take(lowering, mul, epilogue);
  return true;
}

void take_bias(const Lowering& lowering, const Dims& whole, ScaledEpilogue& epilogue) {
  const NodeId add = next_after(lowering, epilogue.value);
  if (!add.is_valid() || !lowering.node(add).is("Add")) return;
  const auto bias = channel_operand(lowering, lowering.node(add), epilogue.value, whole);
  if (!bias || lowering.constant(*bias) == nullptr) return;
  epilogue.how.bias = constant_numbers(lowering, *bias);
  epilogue.how.bias.resize(static_cast<std::size_t>(whole[1]), epilogue.how.bias.front());
  take(lowering, add, epilogue);
}

void take_clamp(const Lowering& lowering, ScaledEpilogue& epilogue) {
  const NodeId id = next_after(lowering, epilogue.value);
  if (!id.is_valid() || lowering.options().ieee_strict) return;
  const Node& node = lowering.node(id);
  if (node.inputs[0] != epilogue.value || (!node.is("Relu") && !node.is("Clip"))) return;
  constexpr float kMost = std::numeric_limits<float>::infinity();
  float low = node.is("Relu") ? 0 : node.float_or("min", -kMost);
  float high = node.is("Relu") ? kMost : node.float_or("max", kMost);
  for (const std::size_t input : {1u, 2u}) {
    if (!node.has_input(input)) continue;
    const auto bound = lowering.number(node.inputs[input]);
    if (!bound) return;
    (input == 1 ? low : high) = static_cast<float>(*bound);
  }
  if (low > high) return;
  epilogue.how.clamp = FloatBounds{low, high};
  take(lowering, id, epilogue);
}

ScaledEpilogue scaled_epilogue(const Lowering& lowering, NodeId id) {
  ScaledEpilogue epilogue{.nodes = {id}, .value = lowering.node(id).outputs[0]};
  const Dims whole = lowering.dims(epilogue.value);
  take_integer_bias(lowering, whole, epilogue);
  if (!take_scaling(lowering, whole, epilogue)) return epilogue;
  epilogue.how.kind = SumsKind::Floats;
  take_bias(lowering, whole, epilogue);
  take_clamp(lowering, epilogue);
  return epilogue;
}

// From sums in memory to results, row of windows by row of windows.
struct SumsPass {
  WeightSums weight_sums;
  SumsEpilogue epilogue;
  std::vector<float> ones;
  std::int64_t rows = 0;  // of all images
  std::int64_t depth = 1, height = 1, width = 1;
  std::size_t channels = 0;
  std::size_t stride = 0;  // between the sums of neighbours
};

std::shared_ptr<const SumsPass> sums_pass(const ConvolutionLayer& layer,
                                          const IntegerWeights& weights,
                                          const SumsEpilogue& epilogue) {
  const auto& [depth, height, width] = layer.grid.axes;
  const auto channels = static_cast<std::size_t>(layer.output[1]);
  return std::make_shared<const SumsPass>(
      SumsPass{.weight_sums = WeightSums(layer, weights.numbers),
               .epilogue = epilogue,
               .ones = std::vector<float>(channels, 1.0f),
               .rows = layer.output[0] * depth.output * height.output,
               .depth = depth.output,
               .height = height.output,
               .width = width.output,
               .channels = channels,
               .stride = channels + (weights.has_ones() ? 1 : 0)});
}

// The factor is read in every run.
struct RunNumbers {
  std::int32_t zero_point = 0;
  const std::int32_t* bias = nullptr;
  const float* factor = nullptr;  // null: the epilogue has the scales
  bool has_many_factors = false;
};

void finish_windows(const SumsPass& pass, const RunNumbers& numbers, std::int64_t row,
                    std::int32_t* from, std::byte* to) {
  const auto y = static_cast<std::size_t>(row % pass.height);
  const auto z = static_cast<std::size_t>(row / pass.height % pass.depth);
  SumsRow how{.source_zero_point = numbers.zero_point,
              .scales = pass.epilogue.scales.data(),
              .integer_bias = numbers.bias};
  if (numbers.factor != nullptr) {
    how.source_scale = numbers.has_many_factors ? 1.0f : *numbers.factor;
    how.scales = numbers.has_many_factors ? numbers.factor : pass.ones.data();
  }
  const std::size_t bytes = pass.channels * pass.epilogue.result_bytes();
  for (std::int64_t x = 0; x < pass.width; ++x) {
    const auto at = static_cast<std::size_t>(row * pass.width + x);
    std::int32_t* sums = from + at * pass.stride;
    how.column_sums = pass.weight_sums.at(z, y, static_cast<std::size_t>(x));
    if (pass.stride > pass.channels) how.source_sum = sums[pass.channels];
    finish_sums(pass.epilogue, how, sums, to + at * bytes, pass.channels);
  }
}

// One convolution for each part of the weights; the second adds to what the first left.
std::optional<Choice> choice_for(Lowering& lowering, const ConvolutionLayer& layer, DataType source,
                                 bool adds) {
  Convolution what = described(layer, image_desc(layer.input, 0, source),
                               image_desc(layer.output, 0, DataType::Int32));
  what.weights = any_desc(described_weights(layer), DataType::Int8);
  if (adds) what.post_ops = {{.kind = PostOp::Kind::Sum, .type = DataType::Int32}};
  constexpr std::size_t kMost = 3;
  auto choices = convolutions(what, ConvolutionKind::Direct, kMost);
  std::erase_if(choices, [](const Choice& choice) {
    return !has_exact_8_bit_products(choice.implementation);
  });
  if (!std::ranges::all_of(choices, is_slow_convolution))
    std::erase_if(choices, is_slow_convolution);
  if (lowering.options().program.optimize_for == OptimizeFor::Memory) keep_small_weights(choices);
  if (choices.empty()) return {};
  const std::string key = "iconv" + key_of(layer, what) + (source == DataType::Int8 ? " s" : " u") +
                          (adds ? " sum" : "");
  return choices[lowering.tuner().fastest(key, choices)];
}

// The operands that differ between ConvInteger and QLinearConv.
struct IntegerConvolution {
  ConvolutionLayer layer;
  IntegerWeights weights;
  ValueId zero_point;  // of the source; may be missing: 0
  ScaledEpilogue epilogue;
};

DataType result_type(const SumsEpilogue& epilogue) {
  if (epilogue.kind == SumsKind::Sums) return DataType::Int32;
  if (epilogue.kind == SumsKind::Floats) return DataType::Float32;
  return epilogue.to.is_signed ? DataType::Int8 : DataType::UInt8;
}

// What is read besides source and weights.
struct RunPlaces {
  std::optional<Placement> zero_point, factor, bias;
};

RunPlaces run_places(Lowering& lowering, const IntegerConvolution& of) {
  RunPlaces places;
  if (of.zero_point.is_valid()) places.zero_point = lowering.row_major(of.zero_point);
  if (of.epilogue.factor) places.factor = lowering.row_major(*of.epilogue.factor);
  if (of.epilogue.bias) places.bias = lowering.row_major(*of.epilogue.bias);
  return places;
}

Binder windows_binder(const std::vector<Binder>& products,
                      const std::shared_ptr<const SumsPass>& pass, const Placement& sums,
                      const Placement& result, const RunPlaces& read, int threads) {
  return [=, zero = read.zero_point, factor = read.factor,
          bias = read.bias](const Addresses& at) -> Runner {
    std::vector<Runner> multiply;
    for (const Binder& product : products) multiply.push_back(product(at));
    auto* from = reinterpret_cast<std::int32_t*>(at.bytes(sums));
    std::byte* to = at.bytes(result);
    const std::byte* zero_at = zero ? at.bytes(*zero) : nullptr;
    const bool is_signed = zero && zero->type == DataType::Int8;
    RunNumbers numbers{
        .bias = bias ? reinterpret_cast<const std::int32_t*>(at.bytes(*bias)) : nullptr,
        .factor = factor ? at.floats(*factor) : nullptr,
        .has_many_factors = factor && factor->elements() > 1};
    return [=]() mutable {
      for (const Runner& run : multiply) run();
      numbers.zero_point = zero_point_at(zero_at, is_signed);
      execute::in_parallel(threads, pass->rows, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row)
          finish_windows(*pass, numbers, row, from, to);
      });
    };
  };
}

// Products of the 8-bit numbers, one for each part of the weights, added to the draft.
std::optional<std::vector<Binder>> products_of(Lowering& lowering, const IntegerConvolution& of,
                                               const Placement& source, const Placement& sums,
                                               StepDraft& draft) {
  const ConvolutionLayer run = layer_of_parts(of.layer, of.weights);
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < of.weights.parts.size(); ++i) {
    const auto choice = choice_for(lowering, run, source.type, i > 0);
    if (!choice) return {};
    choices.push_back(*choice);
  }
  draft.algorithm = choices.front().implementation;
  std::vector<Binder> products;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    const Placement weights = lowering.weights().reordered(
        of.weights.parts[i], plain_desc(described_weights(run), DataType::Int8), choice.weights);
    std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                       {argument::kWeights, choice.weights, weights},
                                       {argument::kResult, choice.result, sums}};
    draft.reads.push_back(weights);
    draft.executed_flops = saturating_add(draft.executed_flops, executed_flops(run, choice));
    add_scratchpad(lowering, choice.scratchpad, draft, arguments);
    products.push_back(primitive_binder(choice.primitive, std::move(arguments)));
  }
  return products;
}

bool add_integer_convolution(Lowering& lowering, const IntegerConvolution& of) {
  const ConvolutionLayer& layer = of.layer;
  const ValueId source_id = lowering.node(layer.id).inputs[0];
  const DataType type = type_of(lowering, source_id);
  const Placement source = lowering.in_layout(source_id, image_desc(layer.input, 0, type));
  const Dims summed = layer_of_parts(layer, of.weights).output;
  const Placement sums = lowering.new_placement(image_desc(summed, 0, DataType::Int32), summed);
  StepDraft draft{.nodes = of.epilogue.nodes,
                  .algorithm = {},
                  .precision = "int8",
                  .reads = {source},
                  .workspace = {sums.buffer}};
  const auto products = products_of(lowering, of, source, sums, draft);
  if (!products) return false;
  const Placement result = lowering.new_placement(
      image_desc(layer.output, 0, result_type(of.epilogue.how)), layer.output);
  draft.writes = {result};
  for (const NodeId one : of.epilogue.nodes) lowering.cover(one);
  const RunPlaces read = run_places(lowering, of);
  for (const auto& one : {read.zero_point, read.factor, read.bias}) {
    if (one) draft.reads.push_back(*one);
  }
  SumsEpilogue epilogue = of.epilogue.how;
  epilogue.zero_points = of.weights.zero_points;
  const auto pass = sums_pass(layer, of.weights, epilogue);
  const int threads = threads_for(lowering, Rows{pass->rows, pass->width * layer.output[1]});
  lowering.add_step(draft, windows_binder(*products, pass, sums, result, read, threads));
  lowering.set_placement(of.epilogue.value, result);
  return true;
}

bool lower_integer_convolution(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const Node& node = lowering.node(id);
  const auto input = [&](std::size_t i) { return node.has_input(i) ? node.inputs[i] : ValueId{}; };
  if (!is_8_bit(lowering, node.inputs[0])) return false;
  if (input(2).is_valid() && checked_product(lowering.dims(input(2))).value_or(0) != 1)
    return false;
  const auto layer = integer_convolution_layer_of(lowering, id);
  if (!layer) return false;
  auto weights = integer_weights(lowering, input(1), input(3), layer->groups);
  if (!weights) return false;
  return add_integer_convolution(
      lowering, {*layer, std::move(*weights), input(2), scaled_epilogue(lowering, id)});
}

// The sums' scales, bias and clamp.
std::optional<ScaledEpilogue> quantized_epilogue(const Lowering& lowering,
                                                 const ConvolutionLayer& layer) {
  const Node& node = lowering.node(layer.id);
  ScaledEpilogue epilogue{.nodes = {layer.id}, .value = node.outputs[0]};
  const auto source =
      scale8_of(lowering, node.inputs[1], node.inputs[2], type_of(lowering, node.inputs[0]));
  const auto to =
      scale8_of(lowering, node.inputs[6], node.inputs[7], type_of(lowering, epilogue.value));
  const auto scales = constant_numbers(lowering, node.inputs[4]);
  const auto channels = static_cast<std::size_t>(layer.output[1]);
  if (!source || !to || (scales.size() != 1 && scales.size() != channels)) return {};
  if (layer.has_bias && layer.bias == nullptr) return {};
  SumsEpilogue& how = epilogue.how;
  how.kind = SumsKind::Bytes;
  how.to = *to;
  for (std::size_t i = 0; i < channels; ++i)
    how.scales.push_back(source->scale * scales[scales.size() == 1 ? 0 : i] / to->scale);
  if (layer.has_bias) epilogue.bias = node.inputs[8];
  if (const auto clip = clip_after(lowering, epilogue.value)) {
    how.clamp = FloatBounds{static_cast<float>(clip->clamp.low - to->zero_point),
                            static_cast<float>(clip->clamp.high - to->zero_point)};
    epilogue.nodes.push_back(clip->node);
    epilogue.value = lowering.node(clip->node).outputs[0];
  }
  return epilogue;
}

}  // namespace

bool lower_convolution_by_sums(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_8_bit(lowering, node.inputs[0]) || !is_8_bit(lowering, node.outputs[0])) return false;
  const auto layer = quantized_convolution_layer_of(lowering, id);
  if (!layer) return false;
  auto weights = integer_weights(lowering, node.inputs[3], node.inputs[5], layer->groups);
  const auto epilogue = quantized_epilogue(lowering, *layer);
  if (!weights || !epilogue) return false;
  return add_integer_convolution(lowering,
                                 {*layer, std::move(*weights), node.inputs[2], *epilogue});
}

void add_integer_convolution_lowering(LowerTable& table) {
  table["ConvInteger"] = lower_integer_convolution;
}

}  // namespace assay::cpu
