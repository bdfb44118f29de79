#include "execute/quantized_graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <set>

#include "assay/builder.h"

namespace assay {

namespace {

using Ints = std::vector<std::int64_t>;
using Attributes = std::vector<Attribute>;

// The spread of 8-bit numbers that are drawn evenly.
constexpr double kSpread = 74;

struct Quantized {
  ValueId value;
  Ints dims;
  DataType type = DataType::UInt8;
  ValueId scale;
  ValueId zero_point;
  double step = 1;  // the scale's number
};

// Quantisation of a result that is still to be made.
struct Target {
  DataType type = DataType::UInt8;
  double step = 1;
  int zero = 0;
};

class QuantizedAuthor {
 public:
  explicit QuantizedAuthor(std::uint64_t seed) : random_(seed), builder_("quantised", seed) {}

  QuantizedGraph write() {
    type_ = chance(2) ? DataType::UInt8 : DataType::Int8;
    mixes_types_ = chance(5);
    has_round_scales_ = chance(4);
    add_input();
    const std::int64_t layers = between(2, 5);
    for (std::int64_t i = 0; i < layers; ++i) add_layer();
    if (chance(3)) add_classifier();
    name_outputs();
    QuantizedGraph result{builder_.finish(), std::move(inputs_)};
    for (std::uint32_t i = 0; i < result.graph.node_count(); ++i) {
      Node& node = result.graph.node(NodeId{i});
      if (fused_.contains(node.name)) node.domain = "com.microsoft";
    }
    result.graph.opsets["com.microsoft"] = 1;
    return result;
  }

 private:
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(std::int64_t one_in) { return between(1, one_in) == 1; }
  std::int64_t pick(const Ints& from) {
    return from[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(from.size()) - 1))];
  }
  double real(double low, double high) {
    return low + (high - low) * static_cast<double>(random_() % 10000) / 10000;
  }
  std::string name(const std::string& what) { return what + std::to_string(count_++); }

  ValueId node(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return builder_.node(op, name(op), std::move(inputs), std::move(attributes));
  }
  ValueId fused(const std::string& op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    const std::string own = name(op);
    fused_.insert(own);
    return builder_.node(op, own, std::move(inputs), std::move(attributes));
  }

  Tensor bytes(DataType type, const Ints& dims) {
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    std::vector<std::byte> data(count);
    for (std::byte& one : data) one = static_cast<std::byte>(random_());
    return Tensor(type, dims, heap_storage(std::move(data)));
  }
  ValueId bytes_of(DataType type, const Ints& dims, const std::vector<int>& numbers) {
    std::vector<std::byte> data;
    for (const int number : numbers) data.push_back(static_cast<std::byte>(number));
    return builder_.constant(name("zero"), Tensor(type, dims, heap_storage(std::move(data))));
  }
  ValueId reals(const Ints& dims, const std::vector<float>& numbers) {
    return builder_.constant(name("scale"), Tensor::of_float(dims, numbers));
  }

  DataType result_type() {
    if (!mixes_types_) return type_;
    return chance(2) ? DataType::UInt8 : DataType::Int8;
  }
  int zero_for(DataType type) {
    const int middle = type == DataType::UInt8 ? 128 : 0;
    switch (between(0, 3)) {
      case 0:
        return middle;
      case 1:
        return type == DataType::UInt8 ? 0 : -128;
      default:
        return middle + static_cast<int>(between(-40, 40));
    }
  }
  // Numbers with a spread of `spread` fill the range about three times.
  Target target(double spread) { return target(spread, result_type()); }
  Target target(double spread, DataType type) {
    double step = spread / 45 * real(0.8, 1.3);
    if (has_round_scales_) step = std::exp2(std::round(std::log2(step)));
    return {type, static_cast<double>(static_cast<float>(step)), zero_for(type)};
  }

  Quantized with_scale(const Target& target) {
    Quantized result;
    result.type = target.type;
    result.step = target.step;
    const Ints dims = chance(4) ? Ints{1} : Ints{};
    result.scale = reals(dims, {static_cast<float>(target.step)});
    result.zero_point = bytes_of(target.type, dims, {target.zero});
    return result;
  }

  void add(Quantized made, ValueId value, Ints dims) {
    made.value = value;
    made.dims = std::move(dims);
    values_.push_back(std::move(made));
  }

  void add_input() {
    const Ints dims = {between(1, 2), pick({1, 2, 3, 4, 8, 12, 16}), between(3, 9), between(3, 9)};
    const Quantized made = with_scale({type_, 0.02, zero_for(type_)});
    if (chance(2)) {
      inputs_.push_back(bytes(type_, dims));
      return add(made, builder_.input("input", type_, Shape(dims)), dims);
    }
    std::vector<float> numbers(static_cast<std::size_t>(dims[0] * dims[1] * dims[2] * dims[3]));
    for (float& number : numbers) number = static_cast<float>(real(-3, 3));
    inputs_.push_back(Tensor::of_float(dims, numbers));
    const ValueId input = builder_.input("input", DataType::Float32, Shape(dims));
    add(made, node("QuantizeLinear", {input, made.scale, made.zero_point}), dims);
  }

  // Mostly the newest value, sometimes an older one.
  Quantized source() {
    const auto last = static_cast<std::int64_t>(values_.size()) - 1;
    return values_[static_cast<std::size_t>(chance(4) ? between(0, last) : last)];
  }

  void add_layer() {
    const Quantized from = source();
    switch (between(0, 12)) {
      case 0:
        return add_binary(from, "Mul");
      case 1:
      case 2:
        return add_binary(from, "Add");
      case 3:
        return add_concat(from);
      case 4:
        return add_average_pool(from);
      case 5:
        return add_max_pool(from);
      case 6:
        return add_table(from);
      case 7:
        return add_squeeze_excite(from);
      case 8:
        return add_residual(from);
      case 9:
        return add_clip(from);
      default:
        return add_convolution(from);
    }
  }

  // --- layers written with float ops

  ValueId dequantized(const Quantized& from) {
    return node("DequantizeLinear", {from.value, from.scale, from.zero_point});
  }
  // Perhaps a Relu or Clip first.
  void quantize(ValueId value, const Target& to, Ints dims) {
    if (chance(4))
      value = node("Relu", {value});
    else if (chance(5)) {
      const double limit = to.step * static_cast<double>(between(20, 120));
      value = node("Clip", {value, reals({}, {static_cast<float>(chance(2) ? 0 : -limit)}),
                            reals({}, {static_cast<float>(limit)})});
    }
    const Quantized made = with_scale(to);
    add(made, node("QuantizeLinear", {value, made.scale, made.zero_point}), std::move(dims));
  }

  // --- convolutions

  struct Weights {
    Quantized tensor;
    std::vector<float> steps;
    std::int64_t axis = 0;
  };

  Weights weights(const Ints& dims, std::int64_t axis, bool by_channel) {
    const DataType type = chance(6) ? DataType::UInt8 : DataType::Int8;
    const std::size_t count = by_channel ? static_cast<std::size_t>(dims[axis]) : 1;
    Weights made{.tensor = {}, .steps = std::vector<float>(count), .axis = axis};
    for (float& step : made.steps) step = static_cast<float>(real(0.004, 0.02));
    const int zero = type == DataType::UInt8 ? 128 : chance(5) ? 3 : 0;
    const Ints scale_dims = by_channel ? Ints{dims[axis]} : Ints{};
    made.tensor.type = type;
    made.tensor.dims = dims;
    made.tensor.step = 0.012;
    made.tensor.value = builder_.constant(name("weight"), bytes(type, dims));
    made.tensor.scale = reals(scale_dims, made.steps);
    made.tensor.zero_point = bytes_of(type, scale_dims, std::vector<int>(count, zero));
    return made;
  }

  ValueId bias(const std::vector<std::int32_t>& sums) {
    return builder_.constant(
        name("bias"),
        Tensor::of<std::int32_t>(DataType::Int32, {static_cast<std::int64_t>(sums.size())}, sums));
  }
  std::vector<std::int32_t> bias_sums(std::int64_t channels, double spread) {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(channels));
    for (auto& sum : sums) sum = static_cast<std::int32_t>(real(-spread, spread));
    return sums;
  }

  // The bias of a float layer: real numbers, or sums with a scale of their own.
  ValueId real_bias(const std::vector<std::int32_t>& sums, double x_step, const Weights& w) {
    std::vector<float> scales;
    for (const float step : w.steps) scales.push_back(static_cast<float>(x_step) * step);
    if (chance(2)) {
      const Ints dims =
          scales.size() == 1 ? Ints{} : Ints{static_cast<std::int64_t>(scales.size())};
      return node("DequantizeLinear", {bias(sums), reals(dims, scales)},
                  {{"axis", std::int64_t{0}}});
    }
    std::vector<float> numbers;
    for (std::size_t i = 0; i < sums.size(); ++i)
      numbers.push_back(static_cast<float>(sums[i]) * scales[scales.size() == 1 ? 0 : i]);
    return reals({static_cast<std::int64_t>(sums.size())}, numbers);
  }

  struct ConvolutionPlan {
    std::int64_t outputs = 1;
    std::int64_t groups = 1;
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    std::int64_t dilation = 1;
    Ints pads = {0, 0, 0, 0};
  };

  ConvolutionPlan plan(const Quantized& from) {
    const std::int64_t channels = from.dims[1];
    ConvolutionPlan made;
    made.kernel = pick({1, 1, 3, 3, 3, 5});
    made.kernel = std::min({made.kernel, from.dims[2], from.dims[3]});
    made.stride = chance(4) ? 2 : 1;
    if (made.kernel == 3 && from.dims[2] >= 5 && from.dims[3] >= 5 && chance(8)) made.dilation = 2;
    made.outputs = pick({1, 2, 3, 4, 8, 16, 17});
    if (chance(3)) {
      made.groups = made.outputs = channels;  // depthwise
      if (chance(5)) made.outputs *= 2;
    } else if (channels % 2 == 0 && chance(4)) {
      made.groups = 2;
      made.outputs += made.outputs % 2;
    }
    for (std::int64_t& pad : made.pads) pad = made.kernel == 1 ? 0 : between(0, made.kernel / 2);
    return made;
  }

  Ints convolved(const Quantized& from, const ConvolutionPlan& plan) {
    const std::int64_t extent = (plan.kernel - 1) * plan.dilation + 1;
    Ints dims = {from.dims[0], plan.outputs, 0, 0};
    for (std::size_t i = 0; i < 2; ++i)
      dims[2 + i] = (from.dims[2 + i] + plan.pads[i] + plan.pads[2 + i] - extent) / plan.stride + 1;
    return dims;
  }

  void add_convolution(const Quantized& from) { add_convolution(from, plan(from)); }
  void add_convolution(const Quantized& from, const ConvolutionPlan& plan) {
    const std::int64_t per_group = from.dims[1] / plan.groups;
    const Ints dims = convolved(from, plan);
    const Weights w = weights({plan.outputs, per_group, plan.kernel, plan.kernel}, 0, chance(2));
    const double spread = kSpread * from.step * kSpread * w.tensor.step *
                          std::sqrt(static_cast<double>(per_group * plan.kernel * plan.kernel));
    const Attributes attributes = {{"group", plan.groups},
                                   {"kernel_shape", Ints{plan.kernel, plan.kernel}},
                                   {"strides", Ints{plan.stride, plan.stride}},
                                   {"dilations", Ints{plan.dilation, plan.dilation}},
                                   {"pads", plan.pads}};
    const bool has_bias = !chance(3);
    const auto sums = bias_sums(plan.outputs, spread / (from.step * w.tensor.step));
    const Target to = target(spread);
    if (chance(2)) return add_float_convolution(from, w, has_bias, sums, to, attributes, dims);
    const Quantized made = with_scale(to);
    std::vector<ValueId> inputs = {from.value,     from.scale,     from.zero_point,
                                   w.tensor.value, w.tensor.scale, w.tensor.zero_point,
                                   made.scale,     made.zero_point};
    if (has_bias) inputs.push_back(bias(sums));
    add(made, node("QLinearConv", inputs, attributes), dims);
  }

  void add_float_convolution(const Quantized& from, const Weights& w, bool has_bias,
                             const std::vector<std::int32_t>& sums, const Target& to,
                             const Attributes& attributes, const Ints& dims) {
    const ValueId weight =
        node("DequantizeLinear", {w.tensor.value, w.tensor.scale, w.tensor.zero_point},
             {{"axis", w.axis}});
    std::vector<ValueId> inputs = {dequantized(from), weight};
    if (has_bias) inputs.push_back(real_bias(sums, from.step, w));
    quantize(node("Conv", inputs, attributes), to, dims);
  }

  // --- sums and products

  static bool is_image_vector(const Quantized& value, const Quantized& image) {
    return value.dims.size() == 4 && value.dims[0] == image.dims[0] &&
           value.dims[1] == image.dims[1] && value.dims[2] == 1 && value.dims[3] == 1;
  }

  Quantized constant_like(const Quantized& from) {
    Quantized made = with_scale({from.type, from.step * real(0.5, 2), zero_for(from.type)});
    made.step = made.step;
    made.dims = chance(2) ? from.dims : Ints{from.dims[1], 1, 1};
    made.value = builder_.constant(name("operand"), bytes(from.type, made.dims));
    return made;
  }

  Quantized partner_of(const Quantized& from, bool needs_same_type) {
    std::vector<Quantized> fitting;
    for (const Quantized& value : values_) {
      const bool fits = value.dims == from.dims || is_image_vector(value, from);
      if (fits && (!needs_same_type || value.type == from.type)) fitting.push_back(value);
    }
    if (chance(5) || fitting.empty()) return constant_like(from);
    return fitting[static_cast<std::size_t>(
        between(0, static_cast<std::int64_t>(fitting.size()) - 1))];
  }

  void combine(const Quantized& first, const Quantized& second, const std::string& op) {
    const Quantized& a = chance(2) ? first : second;
    const Quantized& b = a.value == first.value ? second : first;
    const double spread = op == "Add" ? 1.1 * kSpread * std::hypot(a.step, b.step) + 8 * a.step
                                      : kSpread * a.step * kSpread * b.step;
    const Ints dims = first.dims;
    if (chance(2) || a.type != b.type)
      return quantize(node(op, {dequantized(a), dequantized(b)}), target(spread), dims);
    const Quantized made = with_scale(target(spread, a.type));
    add(made,
        fused("QLinear" + op, {a.value, a.scale, a.zero_point, b.value, b.scale, b.zero_point,
                               made.scale, made.zero_point}),
        dims);
  }

  void add_binary(const Quantized& from, const std::string& op) {
    combine(from, partner_of(from, false), op);
  }

  // A convolution added to what it started from, which is often read again later.
  void add_residual(const Quantized& from) {
    ConvolutionPlan same{.outputs = from.dims[1]};
    same.kernel = std::min<std::int64_t>({3, from.dims[2] | 1, from.dims[3] | 1});
    if (same.kernel > from.dims[2] || same.kernel > from.dims[3]) same.kernel = 1;
    same.pads.assign(4, same.kernel / 2);
    if (chance(3)) same.groups = from.dims[1];
    add_convolution(from, same);
    combine(values_.back(), from, "Add");
  }

  void add_concat(const Quantized& from) {
    std::vector<Quantized> parts = {from};
    for (const Quantized& value : values_) {
      const bool fits = value.dims.size() == 4 && value.dims[0] == from.dims[0] &&
                        value.dims[2] == from.dims[2] && value.dims[3] == from.dims[3];
      if (fits && parts.size() < 3) parts.push_back(value);
    }
    if (parts.size() == 1) parts.push_back(from);
    Ints dims = from.dims;
    dims[1] = 0;
    double step = 0;
    bool is_of_one_type = true;
    for (const Quantized& part : parts) {
      dims[1] += part.dims[1];
      step = std::max(step, part.step);
      is_of_one_type = is_of_one_type && part.type == from.type;
    }
    const Attributes axis = {{"axis", std::int64_t{1}}};
    if (chance(2) || !is_of_one_type) {
      std::vector<ValueId> inputs;
      for (const Quantized& part : parts) inputs.push_back(dequantized(part));
      return quantize(node("Concat", inputs, axis), target(45 * step), dims);
    }
    const Quantized made = with_scale(target(45 * step, from.type));
    std::vector<ValueId> inputs = {made.scale, made.zero_point};
    for (const Quantized& part : parts)
      inputs.insert(inputs.end(), {part.value, part.scale, part.zero_point});
    add(made, fused("QLinearConcat", inputs, axis), dims);
  }

  // --- pools

  struct PoolPlan {
    Attributes attributes;
    Ints dims;
  };

  PoolPlan pool_plan(const Quantized& from, bool averages) {
    const std::int64_t kernel = std::min({between(1, 3), from.dims[2], from.dims[3]});
    const std::int64_t stride = between(1, 2);
    Ints pads(4);
    for (std::int64_t& pad : pads) pad = between(0, kernel / 2);
    PoolPlan made{
        {{"kernel_shape", Ints{kernel, kernel}}, {"strides", Ints{stride, stride}}, {"pads", pads}},
        from.dims};
    if (averages && chance(2)) made.attributes.push_back({"count_include_pad", std::int64_t{1}});
    for (std::size_t i = 0; i < 2; ++i)
      made.dims[2 + i] = (from.dims[2 + i] + pads[i] + pads[2 + i] - kernel) / stride + 1;
    return made;
  }

  Target averaged(const Quantized& from) {
    if (chance(3)) return {from.type, from.step, zero_for(from.type)};
    return target(45 * from.step, chance(2) ? from.type : result_type());
  }

  void add_average_pool(const Quantized& from) {
    PoolPlan made = pool_plan(from, true);
    std::string op = "AveragePool";
    if (chance(3)) {
      op = "GlobalAveragePool";
      made = {{}, {from.dims[0], from.dims[1], 1, 1}};
    }
    const Target to = averaged(from);
    if (chance(2) || to.type != from.type)
      return quantize(node(op, {dequantized(from)}, made.attributes), to, made.dims);
    const Quantized result = with_scale(to);
    add(result,
        fused("QLinear" + op,
              {from.value, from.scale, from.zero_point, result.scale, result.zero_point},
              made.attributes),
        made.dims);
  }

  // On the 8-bit numbers, or between ops that change nothing.
  void add_max_pool(const Quantized& from) {
    const PoolPlan made = pool_plan(from, false);
    if (chance(2)) return add(from, node("MaxPool", {from.value}, made.attributes), made.dims);
    const ValueId value = node("MaxPool", {dequantized(from)}, made.attributes);
    add(from, node("QuantizeLinear", {value, from.scale, from.zero_point}), made.dims);
  }

  // --- one number at a time

  void add_table(const Quantized& from) {
    if (chance(3)) return add_quantized_table(from);
    static const std::array<std::string, 4> kOps = {"Sigmoid", "HardSwish", "Tanh", "LeakyRelu"};
    const std::string& op = kOps[static_cast<std::size_t>(between(0, 3))];
    const bool is_bounded = op == "Sigmoid" || op == "Tanh";
    const double step = is_bounded ? std::max(0.008, from.step / 2) : from.step;
    quantize(node(op, {dequantized(from)}), target(45 * step), from.dims);
  }

  void add_quantized_table(const Quantized& from) {
    const bool is_sigmoid = chance(2);
    const double step = is_sigmoid ? std::max(0.004, from.step / 3) : from.step;
    const Quantized made = with_scale(target(45 * step, from.type));
    const Attributes alpha = {{"alpha", 0.2f}};
    add(made,
        fused(is_sigmoid ? "QLinearSigmoid" : "QLinearLeakyRelu",
              {from.value, from.scale, from.zero_point, made.scale, made.zero_point},
              is_sigmoid ? Attributes{} : alpha),
        from.dims);
  }

  void add_clip(const Quantized& from) {
    const int low = from.type == DataType::UInt8 ? 30 : -100;
    const int high = from.type == DataType::UInt8 ? 220 : 90;
    add(from,
        node("Clip", {from.value, bytes_of(from.type, {}, {low}), bytes_of(from.type, {}, {high})}),
        from.dims);
  }

  void add_squeeze_excite(const Quantized& from) {
    const Quantized squeezed = with_scale({from.type, from.step, zero_for(from.type)});
    add(squeezed,
        fused("QLinearGlobalAveragePool",
              {from.value, from.scale, from.zero_point, squeezed.scale, squeezed.zero_point}),
        {from.dims[0], from.dims[1], 1, 1});
    add_convolution(values_.back(), {.outputs = pick({2, 4})});
    add_convolution(values_.back(), {.outputs = from.dims[1]});
    add_table(values_.back());
    combine(from, values_.back(), "Mul");
  }

  // --- matrices

  void add_classifier() {
    const Quantized from = values_.back();
    std::int64_t features = 1;
    for (std::size_t i = 1; i < from.dims.size(); ++i) features *= from.dims[i];
    const ValueId flat = node("Flatten", {from.value}, {{"axis", std::int64_t{1}}});
    add(from, flat, {from.dims[0], features});
    add_product(values_.back());
    if (chance(2)) add_product(values_.back());
  }

  void add_product(const Quantized& from) {
    const std::int64_t features = from.dims[1];
    const std::int64_t outputs = pick({1, 3, 8, 10, 17});
    const double spread =
        kSpread * from.step * kSpread * 0.012 * std::sqrt(static_cast<double>(features));
    const Target to = target(spread);
    const Ints dims = {from.dims[0], outputs};
    switch (between(0, 3)) {
      case 0:
        return add_gemm(from, outputs, spread, to, dims);
      case 1:
        return add_float_product(from, outputs, spread, to, dims);
      case 2:
        return add_dynamic_product(from, outputs, to, dims);
      default:
        return add_matmul(from, outputs, to, dims);
    }
  }

  void add_matmul(const Quantized& from, std::int64_t outputs, const Target& to, const Ints& dims) {
    const Weights w = weights({from.dims[1], outputs}, 1, chance(2));
    const Quantized made = with_scale(to);
    add(made,
        node("QLinearMatMul", {from.value, from.scale, from.zero_point, w.tensor.value,
                               w.tensor.scale, w.tensor.zero_point, made.scale, made.zero_point}),
        dims);
  }

  void add_gemm(const Quantized& from, std::int64_t outputs, double spread, const Target& to,
                const Ints& dims) {
    const bool is_transposed = chance(2);
    const Ints shape = is_transposed ? Ints{outputs, from.dims[1]} : Ints{from.dims[1], outputs};
    const Weights w = weights(shape, is_transposed ? 0 : 1, chance(2));
    const Quantized made = with_scale(to);
    const auto sums = bias_sums(outputs, spread / (from.step * w.tensor.step));
    add(made,
        fused(
            "QGemm",
            {from.value, from.scale, from.zero_point, w.tensor.value, w.tensor.scale,
             w.tensor.zero_point, chance(3) ? ValueId{} : bias(sums), made.scale, made.zero_point},
            {{"transB", std::int64_t{is_transposed}}}),
        dims);
  }

  void add_float_product(const Quantized& from, std::int64_t outputs, double spread,
                         const Target& to, const Ints& dims) {
    const bool is_gemm = chance(2);
    const bool is_transposed = is_gemm && chance(2);
    const Ints shape = is_transposed ? Ints{outputs, from.dims[1]} : Ints{from.dims[1], outputs};
    const std::int64_t axis = is_transposed ? 0 : 1;
    const Weights w = weights(shape, axis, chance(2));
    const ValueId weight =
        node("DequantizeLinear", {w.tensor.value, w.tensor.scale, w.tensor.zero_point},
             {{"axis", axis}});
    if (!is_gemm) return quantize(node("MatMul", {dequantized(from), weight}), to, dims);
    const auto sums = bias_sums(outputs, spread / (from.step * w.tensor.step));
    std::vector<ValueId> inputs = {dequantized(from), weight};
    if (!chance(3)) inputs.push_back(real_bias(sums, from.step, w));
    quantize(node("Gemm", inputs, {{"transB", std::int64_t{is_transposed}}}), to, dims);
  }

  // Quantised as it arrives, multiplied as integers, scaled by both scales.
  void add_dynamic_product(const Quantized& from, std::int64_t outputs, const Target& to,
                           const Ints& dims) {
    const Weights w = weights({from.dims[1], outputs}, 1, chance(2));
    const auto codes = builder_.node_with_outputs(
        "DynamicQuantizeLinear", name("DynamicQuantizeLinear"), {dequantized(from)}, 3);
    const ValueId sums =
        node("MatMulInteger", {codes[0], w.tensor.value, codes[2], w.tensor.zero_point});
    const ValueId cast =
        node("Cast", {sums}, {{"to", static_cast<std::int64_t>(DataType::Float32)}});
    ValueId value = node("Mul", {cast, node("Mul", {codes[1], w.tensor.scale})});
    if (chance(2)) {
      std::vector<float> numbers(static_cast<std::size_t>(outputs));
      for (float& number : numbers) number = static_cast<float>(real(-50, 50) * to.step);
      value = node("Add", {value, reals({outputs}, numbers)});
    }
    quantize(value, to, dims);
  }

  // --- outputs

  void name_outputs() {
    std::set<std::uint32_t> named;
    for (std::size_t i = values_.size(); i-- > 1;) {
      const bool is_last = i + 1 == values_.size();
      if (!is_last && chance(2)) continue;
      if (named.insert(values_[i].value.number).second)
        builder_.output(values_[i].value, "output" + std::to_string(i));
    }
    if (named.empty()) builder_.output(values_[0].value, "output");
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  DataType type_ = DataType::UInt8;
  bool mixes_types_ = false;
  bool has_round_scales_ = false;
  std::vector<Quantized> values_;
  std::vector<Tensor> inputs_;
  std::set<std::string> fused_;
  int count_ = 0;
};

}  // namespace

QuantizedGraph quantized_graph(std::uint64_t seed) {
  return QuantizedAuthor(seed).write();
}

}  // namespace assay
