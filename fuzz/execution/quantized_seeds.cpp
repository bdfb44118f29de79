#include "execution/quantized_seeds.h"

#include "assay/builder.h"

namespace assay::fuzz {

namespace {

// Small integers, different from one element to the next.
Tensor small_integers(DataType type, const std::vector<std::int64_t>& dims) {
  const auto bytes = static_cast<std::size_t>(*byte_size(type, *Shape(dims).elements()));
  std::vector<std::byte> content(bytes, std::byte{0});
  const auto width = static_cast<std::size_t>(bits(type) / 8);
  for (std::size_t i = 0; i < bytes; i += width) content[i] = std::byte(i / width % 7);
  return Tensor(type, dims, heap_storage(std::move(content)));
}

class QuantizedBuilder {
 public:
  QuantizedBuilder(const std::string& name, DataType type) : builder_(name), type_(type) {}

  GraphBuilder& builder() { return builder_; }

  // A value as 8-bit numbers and back: what an exporter writes after every layer.
  ValueId rounded(const std::string& name, ValueId value, float scale) {
    const ValueId step = builder_.scalar(name + ".scale", scale);
    const ValueId zero = builder_.constant(name + ".zero", small_integers(type_, {}));
    const ValueId numbers = builder_.node("QuantizeLinear", name + ".q", {value, step, zero});
    return builder_.node("DequantizeLinear", name + ".dq", {numbers, step, zero});
  }
  // A stored tensor of integers with a scale for each element of its first axis.
  ValueId stored(const std::string& name, DataType type, const std::vector<std::int64_t>& dims) {
    const ValueId numbers = builder_.constant(name, small_integers(type, dims));
    const ValueId scale = builder_.filled(name + ".scale", {dims[0]}, 0.05f);
    return builder_.node("DequantizeLinear", name + ".dq", {numbers, scale},
                         {{"axis", std::int64_t{0}}});
  }
  ValueId convolution(const std::string& name, ValueId x, std::int64_t from, std::int64_t to) {
    return builder_.node("Conv", name,
                         {x, stored(name + ".weight", DataType::Int8, {to, from, 3, 3}),
                          stored(name + ".bias", DataType::Int32, {to})},
                         {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  }

 private:
  GraphBuilder builder_;
  DataType type_;
};

}  // namespace

// Convolutions, a residual sum, pooling, and a classifier.
Graph quantized_block(DataType activation_type) {
  QuantizedBuilder block("quantized", activation_type);
  GraphBuilder& builder = block.builder();
  const ValueId x =
      block.rounded("x", builder.input("input", DataType::Float32, Shape{2, 3, 6, 6}), 0.02f);
  const ValueId relu = builder.node("Relu", "relu", {block.convolution("first", x, 3, 4)});
  const ValueId first = block.rounded("first_out", relu, 0.1f);
  const ValueId second =
      block.rounded("second_out", block.convolution("second", first, 4, 4), 0.1f);
  const ValueId sum = block.rounded("sum_out", builder.node("Add", "sum", {first, second}), 0.2f);
  const ValueId pooled =
      block.rounded("pool_out", builder.node("GlobalAveragePool", "pool", {sum}), 0.2f);
  const ValueId flat = builder.node("Flatten", "flat", {pooled});
  const ValueId weight = block.stored("classes", DataType::Int8, {4, 5});
  builder.output(block.rounded("scores", builder.node("MatMul", "product", {flat, weight}), 0.5f),
                 "y");
  return builder.finish();
}

Graph dynamically_quantized_product() {
  GraphBuilder builder("dynamic");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 4, 8});
  const auto parts = builder.node_with_outputs("DynamicQuantizeLinear", "quantize", {x}, 3, {});
  const ValueId weight = builder.constant("weight", small_integers(DataType::Int8, {8, 5}));
  const ValueId zero = builder.constant("weight.zero", small_integers(DataType::Int8, {}));
  const ValueId sums = builder.node("MatMulInteger", "product", {parts[0], weight, parts[2], zero});
  const ValueId real =
      builder.node("Cast", "cast", {sums}, {{"to", static_cast<std::int64_t>(DataType::Float32)}});
  const ValueId scale = builder.node("Mul", "scale", {parts[1], builder.scalar("step", 0.05f)});
  const ValueId scaled = builder.node("Mul", "scaled", {real, scale});
  builder.output(builder.node("Add", "sum", {scaled, builder.filled("bias", {5}, 0.1f)}), "y");
  return builder.finish();
}

}  // namespace assay::fuzz
