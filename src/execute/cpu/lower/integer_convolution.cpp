// ConvInteger by oneDNN, channels last, and what quantize_dynamic writes after it: Cast, Mul by the
// scales, Add of a bias, Relu or Clip.
//
// oneDNN multiplies the 8-bit numbers as they are. What the source's zero point, known only at run
// time, takes from a sum is its product with the sum of the weights whose taps fall on the image;
// those sums are known ahead, one list of channels for each kind of position. Taps on padding,
// which stands for the zero point, count neither here nor there.
#include <algorithm>
#include <array>
#include <limits>
#include <memory>

#include "base/checked.h"
#include "execute/cpu/lower/convolution_layer.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/onednn/instruction_sets.h"
#include "execute/cpu/onednn/tuner.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::IndexRange;
using kernels::WindowAxis;

namespace {

// Weights less their zero point, which may need 9 bits, as the sum of one or two signed 8-bit ones.
std::optional<std::vector<Tensor>> weight_parts(const Lowering& lowering, const Node& node) {
  const ValueId zero_id = node.has_input(3) ? node.inputs[3] : ValueId{};
  if (auto whole = signed_weights(lowering, node.inputs[1], zero_id, 0))
    return std::vector{std::move(*whole)};
  const Tensor* weights = lowering.constant(node.inputs[1]);
  const Tensor* zero = zero_id.is_valid() ? lowering.constant(zero_id) : nullptr;
  if (weights == nullptr || zero == nullptr || !is_8_bit(weights->type())) return {};
  const auto zeros = zero->to_double();
  const auto stored = weights->to_double();
  const auto outputs = static_cast<std::size_t>(weights->dims()[0]);
  if (stored.empty() || (zeros.size() != 1 && zeros.size() != outputs)) return {};
  std::vector<std::int8_t> most(stored.size());
  std::vector<std::int8_t> rest(stored.size());
  const std::size_t taps = stored.size() / outputs;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const auto number = static_cast<int>(stored[i] - zeros[zeros.size() == 1 ? 0 : i / taps]);
    most[i] = static_cast<std::int8_t>(std::clamp(number, -128, 127));
    rest[i] = static_cast<std::int8_t>(number - most[i]);
  }
  return std::vector{Tensor::of<std::int8_t>(DataType::Int8, weights->dims(), most),
                     Tensor::of<std::int8_t>(DataType::Int8, weights->dims(), rest)};
}

// Windows along an axis by the taps that fall on the image.
struct WindowKinds {
  std::vector<IndexRange> ranges;      // by kind
  std::vector<std::size_t> of_window;  // the kind of each
};

WindowKinds window_kinds(const WindowAxis& axis) {
  WindowKinds kinds;
  for (std::int64_t window = 0; window < axis.output; ++window) {
    const IndexRange inside = axis.taps_inside(window);
    const auto same = [&](const IndexRange& range) {
      return range.first == inside.first && range.last == inside.last;
    };
    const auto found = std::ranges::find_if(kinds.ranges, same);
    kinds.of_window.push_back(static_cast<std::size_t>(found - kinds.ranges.begin()));
    if (found == kinds.ranges.end()) kinds.ranges.push_back(inside);
  }
  return kinds;
}

// Sums of the weights that meet the image, by output channel, for each kind of position.
class WeightSums {
 public:
  WeightSums(const ConvolutionLayer& layer, const std::vector<Tensor>& parts)
      : channels_(layer.weights[0]) {
    for (std::size_t i = 0; i < 3; ++i) kinds_[i] = window_kinds(layer.grid.axes[i]);
    const auto& [depth, height, width] = kinds_;
    sums_.resize(depth.ranges.size() * height.ranges.size() * width.ranges.size() *
                 static_cast<std::size_t>(channels_));
    for (const Tensor& part : parts) add(layer, part.to_vector<std::int8_t>());
  }

  const std::int32_t* at(std::size_t z, std::size_t y, std::size_t x) const {
    return of_kinds(kinds_[0].of_window[z], kinds_[1].of_window[y], kinds_[2].of_window[x]);
  }

 private:
  std::size_t start_of(std::size_t z, std::size_t y, std::size_t x) const {
    return ((z * kinds_[1].ranges.size() + y) * kinds_[2].ranges.size() + x) *
           static_cast<std::size_t>(channels_);
  }
  const std::int32_t* of_kinds(std::size_t z, std::size_t y, std::size_t x) const {
    return sums_.data() + start_of(z, y, x);
  }

  // By tap first: input channels do not matter.
  void add(const ConvolutionLayer& layer, const std::vector<std::int8_t>& weights) {
    const auto taps = static_cast<std::size_t>(layer.grid.taps());
    std::vector<std::int32_t> by_tap(static_cast<std::size_t>(channels_) * taps, 0);
    const std::size_t filter = weights.size() / static_cast<std::size_t>(channels_);
    for (std::size_t i = 0; i < weights.size(); ++i)
      by_tap[i / filter * taps + i % taps] += weights[i];
    for (std::size_t z = 0; z < kinds_[0].ranges.size(); ++z) {
      for (std::size_t y = 0; y < kinds_[1].ranges.size(); ++y) {
        for (std::size_t x = 0; x < kinds_[2].ranges.size(); ++x)
          add_kind(layer, by_tap, {z, y, x});
      }
    }
  }

  void add_kind(const ConvolutionLayer& layer, const std::vector<std::int32_t>& by_tap,
                const std::array<std::size_t, 3>& kind) {
    const auto& [depth, height, width] = layer.grid.axes;
    const auto taps = static_cast<std::size_t>(layer.grid.taps());
    std::int32_t* sums = sums_.data() + start_of(kind[0], kind[1], kind[2]);
    kernels::for_each_kernel_tap(layer.grid, [&](const kernels::WindowTap& tap) {
      for (std::size_t i = 0; i < 3; ++i) {
        const IndexRange& inside = kinds_[i].ranges[kind[i]];
        if (tap[i] < inside.first || tap[i] >= inside.last) return;
      }
      const auto position =
          static_cast<std::size_t>((tap[0] * height.kernel + tap[1]) * width.kernel + tap[2]);
      for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels_); ++channel)
        sums[channel] += by_tap[channel * taps + position];
    });
  }

  std::int64_t channels_ = 0;
  std::array<WindowKinds, 3> kinds_;
  std::vector<std::int32_t> sums_;
};

// What follows the sums, as far as it is taken in.
struct ScaledEnding {
  std::vector<NodeId> nodes;
  ValueId value;
  std::optional<ValueId> factor = {};  // one number, or one for each channel
  std::vector<float> bias = {};
  bool is_clamped = false;
  float low = 0, high = 0;
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
  if (!lowering.is_float(other) || !lowering.is_available(other)) return {};
  const Dims dims = lowering.dims(other);
  if (dims.size() > whole.size()) return {};
  const std::int64_t count = checked_product(dims).value_or(0);
  if (count == 1) return other;
  const std::size_t lead = whole.size() - dims.size();
  const bool is_by_channel = lead <= 1 && dims[1 - lead] == count && count == whole[1];
  return is_by_channel ? std::optional(other) : std::nullopt;
}

void take(const Lowering& lowering, NodeId id, ScaledEnding& ending) {
  ending.nodes.push_back(id);
  ending.value = lowering.node(id).outputs[0];
}

bool take_scaling(const Lowering& lowering, const Dims& whole, ScaledEnding& ending) {
  const NodeId cast = next_after(lowering, ending.value);
  if (!cast.is_valid() || !lowering.node(cast).is("Cast") ||
      !lowering.is_float(lowering.node(cast).outputs[0]))
    return false;
  const ValueId floats = lowering.node(cast).outputs[0];
  const NodeId mul = next_after(lowering, floats);
  if (!mul.is_valid() || !lowering.node(mul).is("Mul")) return false;
  ending.factor = channel_operand(lowering, lowering.node(mul), floats, whole);
  if (!ending.factor) return false;
  take(lowering, cast, ending);
  take(lowering, mul, ending);
  return true;
}

void take_bias(const Lowering& lowering, const Dims& whole, ScaledEnding& ending) {
  const NodeId add = next_after(lowering, ending.value);
  if (!add.is_valid() || !lowering.node(add).is("Add")) return;
  const auto bias = channel_operand(lowering, lowering.node(add), ending.value, whole);
  if (!bias || lowering.constant(*bias) == nullptr) return;
  ending.bias = constant_numbers(lowering, *bias);
  ending.bias.resize(static_cast<std::size_t>(whole[1]), ending.bias.front());
  take(lowering, add, ending);
}

void take_clamp(const Lowering& lowering, ScaledEnding& ending) {
  const NodeId id = next_after(lowering, ending.value);
  if (!id.is_valid() || lowering.options().ieee_strict) return;
  const Node& node = lowering.node(id);
  if (node.inputs[0] != ending.value || (!node.is("Relu") && !node.is("Clip"))) return;
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
  ending.is_clamped = true;
  ending.low = low;
  ending.high = high;
  take(lowering, id, ending);
}

ScaledEnding scaled_ending(const Lowering& lowering, NodeId id) {
  ScaledEnding ending{.nodes = {id}, .value = lowering.node(id).outputs[0]};
  const Dims whole = lowering.dims(ending.value);
  if (!take_scaling(lowering, whole, ending)) return ending;
  take_bias(lowering, whole, ending);
  take_clamp(lowering, ending);
  return ending;
}

// From sums in memory to results, row of windows by row of windows.
struct SumsPass {
  std::shared_ptr<const WeightSums> weight_sums;
  ScaledEnding ending;
  std::vector<float> ones;
  std::int64_t rows = 0;  // of all images
  std::int64_t depth = 1, height = 1, width = 1, channels = 0;
};

std::shared_ptr<const SumsPass> sums_pass(const ConvolutionLayer& layer,
                                          const std::vector<Tensor>& parts,
                                          const ScaledEnding& ending) {
  const auto& [depth, height, width] = layer.grid.axes;
  const std::int64_t channels = layer.output[1];
  return std::make_shared<const SumsPass>(
      SumsPass{.weight_sums = std::make_shared<const WeightSums>(layer, parts),
               .ending = ending,
               .ones = std::vector<float>(static_cast<std::size_t>(channels), 1.0f),
               .rows = layer.output[0] * depth.output * height.output,
               .depth = depth.output,
               .height = height.output,
               .width = width.output,
               .channels = channels});
}

// The factor is read in every run.
struct RunNumbers {
  std::int32_t zero_point = 0;
  const float* factor = nullptr;  // null: results are the sums
  bool has_many_factors = false;
};

void scale_row(const SumsPass& pass, const RunNumbers& numbers, std::int64_t row,
               const std::int32_t* from, std::byte* to) {
  const auto y = static_cast<std::size_t>(row % pass.height);
  const auto z = static_cast<std::size_t>(row / pass.height % pass.depth);
  const auto channels = static_cast<std::size_t>(pass.channels);
  ScaledSums how{.source_zero_point = numbers.zero_point};
  if (numbers.factor != nullptr) {
    how.source_scale = numbers.has_many_factors ? 1.0f : *numbers.factor;
    how.scales = numbers.has_many_factors ? numbers.factor : pass.ones.data();
    how.bias = pass.ending.bias.empty() ? nullptr : pass.ending.bias.data();
  }
  for (std::int64_t x = 0; x < pass.width; ++x) {
    const std::size_t at = static_cast<std::size_t>(row * pass.width + x) * channels;
    how.column_sums = pass.weight_sums->at(z, y, static_cast<std::size_t>(x));
    if (numbers.factor != nullptr) {
      simd().scale_sums(how, from + at, reinterpret_cast<float*>(to) + at, channels);
      continue;
    }
    auto* sums = reinterpret_cast<std::int32_t*>(to) + at;
    for (std::size_t i = 0; i < channels; ++i)
      sums[i] = from[at + i] - how.source_zero_point * how.column_sums[i];
  }
  if (!pass.ending.is_clamped) return;
  float* results =
      reinterpret_cast<float*>(to) + static_cast<std::size_t>(row * pass.width) * channels;
  simd().unary(UnaryOp::Clip, pass.ending.low, pass.ending.high, results, results,
               static_cast<std::size_t>(pass.width) * channels);
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

bool lower_integer_convolution(Lowering& lowering, NodeId id) {
  if (!has_exact_8_bit_products()) return false;
  const Node& node = lowering.node(id);
  if (!is_8_bit(lowering, node.inputs[0])) return false;
  const ValueId zero_id = node.has_input(2) ? node.inputs[2] : ValueId{};
  if (zero_id.is_valid() && checked_product(lowering.dims(zero_id)).value_or(0) != 1) return false;
  const auto layer = integer_convolution_layer_of(lowering, id);
  const auto parts = weight_parts(lowering, node);
  if (!layer || !parts) return false;
  const DataType type = type_of(lowering, node.inputs[0]);
  std::vector<Choice> choices;
  for (std::size_t i = 0; i < parts->size(); ++i) {
    const auto choice = choice_for(lowering, *layer, type, i > 0);
    if (!choice) return false;
    choices.push_back(*choice);
  }
  const ScaledEnding ending = scaled_ending(lowering, id);
  for (const NodeId one : ending.nodes) lowering.cover(one);
  const Placement source = lowering.in_layout(node.inputs[0], image_desc(layer->input, 0, type));
  const Placement sums =
      lowering.new_placement(image_desc(layer->output, 0, DataType::Int32), layer->output);
  const Placement result = lowering.new_placement(
      image_desc(layer->output, 0, ending.factor ? DataType::Float32 : DataType::Int32),
      layer->output);
  StepDraft draft{.nodes = ending.nodes,
                  .algorithm = choices.front().implementation,
                  .precision = "int8",
                  .reads = {source},
                  .writes = {result},
                  .workspace = {sums.buffer}};
  std::vector<Binder> products;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = choices[i];
    const Placement weights = lowering.weights().reordered(
        (*parts)[i], plain_desc(described_weights(*layer), DataType::Int8), choice.weights);
    std::vector<Argument> arguments = {{argument::kSource, choice.source, source},
                                       {argument::kWeights, choice.weights, weights},
                                       {argument::kResult, choice.result, sums}};
    draft.reads.push_back(weights);
    draft.executed_flops = saturating_add(draft.executed_flops, executed_flops(*layer, choice));
    add_scratchpad(lowering, choice.scratchpad, draft, arguments);
    products.push_back(primitive_binder(choice.primitive, std::move(arguments)));
  }
  std::optional<Placement> zero;
  std::optional<Placement> factor;
  if (zero_id.is_valid()) zero = lowering.row_major(zero_id);
  if (ending.factor) factor = lowering.row_major(*ending.factor);
  for (const auto& read : {zero, factor}) {
    if (read) draft.reads.push_back(*read);
  }
  const auto pass = sums_pass(*layer, *parts, ending);
  const int threads = threads_for(lowering, Rows{pass->rows, pass->width * pass->channels});
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    std::vector<Runner> multiply;
    for (const Binder& product : products) multiply.push_back(product(at));
    const auto* from = reinterpret_cast<const std::int32_t*>(at.bytes(sums));
    std::byte* to = at.bytes(result);
    const std::byte* zero_at = zero ? at.bytes(*zero) : nullptr;
    RunNumbers numbers{.factor = factor ? at.floats(*factor) : nullptr,
                       .has_many_factors = factor && factor->elements() > 1};
    return [=]() mutable {
      for (const Runner& run : multiply) run();
      if (zero_at != nullptr) {
        numbers.zero_point = type == DataType::Int8 ? static_cast<std::int8_t>(*zero_at)
                                                    : static_cast<std::int32_t>(*zero_at);
      }
      execute::in_parallel(threads, pass->rows, [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) scale_row(*pass, numbers, row, from, to);
      });
    };
  });
  lowering.set_placement(ending.value, result);
  return true;
}

}  // namespace

void add_integer_convolution_lowering(LowerTable& table) {
  table["ConvInteger"] = lower_integer_convolution;
}

}  // namespace assay::cpu
