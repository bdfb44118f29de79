// A product with dequantised constants (DequantizeLinear of 4- or 8-bit weights, with a scale for
// the tensor, for each column or for each block of a column) becomes the one op that it is:
// MatMulNBits. Its weights stay codes instead of being folded to floats.
#include <bit>

#include "transform/simplify.h"

namespace assay::transform {

namespace {

// A matrix [k, n] of codes; stored [n, k] if transposed.
struct CodedWeight {
  Tensor codes;
  Tensor scales;
  Tensor zero_points;  // empty: all zero
  bool is_transposed = false;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t block = 0;         // of MatMulNBits
  std::int64_t own_block = 0;     // of DequantizeLinear: rows that share a scale
  bool has_column_scales = true;  // false: one scale for all columns

  std::int64_t bit_count() const { return bits(codes.type()); }
  bool is_signed() const {
    return codes.type() == DataType::Int4 || codes.type() == DataType::Int8;
  }
  std::int64_t blocks() const { return (k + block - 1) / block; }
};

// The code at a position, moved to the range of unsigned ones.
std::uint8_t unsigned_code(const CodedWeight& weight, const Tensor& tensor, std::int64_t at) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(tensor.bytes().data());
  if (weight.bit_count() == 8)
    return static_cast<std::uint8_t>(bytes[at] ^ (weight.is_signed() ? 0x80 : 0));
  const int nibble = (bytes[at / 2] >> (at % 2 * 4)) & 15;
  return static_cast<std::uint8_t>(nibble ^ (weight.is_signed() ? 8 : 0));
}

void put_code(std::byte* packed, std::int64_t at, std::int64_t bit_count, std::uint8_t code) {
  if (bit_count == 8)
    packed[at] = std::byte{code};
  else
    packed[at / 2] |= std::byte{code} << (at % 2 * 4);
}

// Where a column's block finds its scale and zero point.
std::int64_t scale_position(const CodedWeight& weight, std::int64_t column, std::int64_t block) {
  if (!weight.has_column_scales) return 0;
  const std::int64_t own = (weight.k + weight.own_block - 1) / weight.own_block;
  return weight.is_transposed ? column * own + block : block * weight.n + column;
}

Tensor packed_weight(const CodedWeight& weight) {
  const std::int64_t block_bytes = weight.block * weight.bit_count() / 8;
  const auto size = static_cast<std::size_t>(weight.n * weight.blocks() * block_bytes);
  const auto fill = [weight, block_bytes](std::span<std::byte> out) {
    for (std::int64_t column = 0; column < weight.n; ++column) {
      std::byte* to = out.data() + column * weight.blocks() * block_bytes;
      for (std::int64_t k = 0; k < weight.k; ++k) {
        const std::int64_t at =
            weight.is_transposed ? column * weight.k + k : k * weight.n + column;
        put_code(to, k, weight.bit_count(), unsigned_code(weight, weight.codes, at));
      }
    }
  };
  return Tensor(DataType::UInt8, {weight.n, weight.blocks(), block_bytes},
                generated_storage(size, fill));
}

Tensor ordered_scales(const CodedWeight& weight) {
  const auto given = weight.scales.to_vector<float>();
  std::vector<float> scales;
  for (std::int64_t column = 0; column < weight.n; ++column) {
    for (std::int64_t b = 0; b < weight.blocks(); ++b)
      scales.push_back(given[static_cast<std::size_t>(scale_position(weight, column, b))]);
  }
  return Tensor::of_float({weight.n * weight.blocks()}, scales);
}

Tensor packed_zero_points(const CodedWeight& weight) {
  const std::int64_t column_bytes = (weight.blocks() * weight.bit_count() + 7) / 8;
  std::vector<std::byte> packed(static_cast<std::size_t>(weight.n * column_bytes));
  for (std::int64_t column = 0; column < weight.n; ++column) {
    for (std::int64_t b = 0; b < weight.blocks(); ++b) {
      const bool is_given = weight.zero_points.has_value();
      const std::uint8_t code =
          is_given ? unsigned_code(weight, weight.zero_points, scale_position(weight, column, b))
                   : std::uint8_t{0};
      put_code(packed.data() + column * column_bytes, b, weight.bit_count(), code);
    }
  }
  return Tensor(DataType::UInt8, {weight.n * column_bytes}, heap_storage(std::move(packed)));
}

bool is_code(DataType type) {
  return type == DataType::Int4 || type == DataType::UInt4 || type == DataType::Int8 ||
         type == DataType::UInt8;
}

// How scales are shared out; false: not along the columns of a product.
bool take_scales(const Node& node, CodedWeight& weight) {
  const std::int64_t column_axis = weight.is_transposed ? 0 : 1;
  std::int64_t axis = node.int_or("axis", 1);
  if (axis < 0) axis += 2;
  weight.own_block = node.int_or("block_size", 0);
  const auto& dims = weight.scales.dims();
  if (weight.own_block > 0) {
    const std::int64_t blocks = (weight.k + weight.own_block - 1) / weight.own_block;
    const auto expected = weight.is_transposed ? std::vector<std::int64_t>{weight.n, blocks}
                                               : std::vector<std::int64_t>{blocks, weight.n};
    weight.block = weight.own_block;
    return axis != column_axis && dims == expected && weight.block >= 16 &&
           std::has_single_bit(static_cast<std::uint64_t>(weight.block));
  }
  weight.own_block = weight.k;
  weight.block = static_cast<std::int64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(weight.k, 16))));
  weight.has_column_scales = weight.scales.elements() != 1;
  return !weight.has_column_scales ||
         (axis == column_axis && dims == std::vector<std::int64_t>{weight.n});
}

std::optional<CodedWeight> coded_weight(const GraphEdit& edit, ValueId value, bool is_transposed) {
  const Node* node = edit.maker(value);
  if (node == nullptr || !node->is("DequantizeLinear")) return {};
  const Tensor* codes = edit.constant(node->inputs[0]);
  const Tensor* scales = edit.constant(node->inputs[1]);
  if (codes == nullptr || scales == nullptr || codes->dims().size() != 2) return {};
  if (!is_code(codes->type()) || scales->type() != DataType::Float32) return {};
  CodedWeight weight{.codes = *codes, .scales = *scales, .zero_points = {}};
  weight.is_transposed = is_transposed;
  weight.k = codes->dims()[is_transposed ? 1 : 0];
  weight.n = codes->dims()[is_transposed ? 0 : 1];
  if (weight.k == 0 || weight.n == 0 || !take_scales(*node, weight)) return {};
  if (node->has_input(2)) {
    const Tensor* zeros = edit.constant(node->inputs[2]);
    const bool fits = zeros != nullptr && zeros->type() == codes->type() &&
                      zeros->elements() == scales->elements();
    if (!fits) return {};
    weight.zero_points = *zeros;
  }
  return weight;
}

// A Gemm that is a product with, perhaps, a constant vector added.
bool is_plain(const GraphEdit& edit, const Node& gemm, std::int64_t n) {
  if (gemm.int_or("transA", 0) != 0 || gemm.float_or("alpha", 1) != 1.0f) return false;
  if (!gemm.has_input(2)) return true;
  const Tensor* bias = edit.constant(gemm.inputs[2]);
  return gemm.float_or("beta", 1) == 1.0f && bias != nullptr && bias->type() == DataType::Float32 &&
         bias->dims() == std::vector<std::int64_t>{n};
}

void recognise_weight_only(GraphEdit& edit, NodeId id) {
  const Node& old = edit.node(id);
  const bool is_gemm = old.is("Gemm");
  if ((!is_gemm && !old.is("MatMul")) || !old.has_input(1)) return;
  if (edit.type(old.inputs[0]).element != DataType::Float32) return;
  const auto weight = coded_weight(edit, old.inputs[1], is_gemm && old.int_or("transB", 0) != 0);
  if (!weight || (is_gemm && !is_plain(edit, old, weight->n))) return;
  const std::string name = edit.graph().display_name(id);
  Node node{.name = old.name, .op = "MatMulNBits", .domain = "com.microsoft"};
  node.outputs = old.outputs;
  node.inputs = {old.inputs[0], edit.add_constant(name + ".codes", packed_weight(*weight)),
                 edit.add_constant(name + ".scales", ordered_scales(*weight))};
  // Without zero points, those of signed codes are in the middle: that is what the op assumes.
  if (weight->zero_points.has_value() || !weight->is_signed())
    node.inputs.push_back(edit.add_constant(name + ".zero_points", packed_zero_points(*weight)));
  if (is_gemm && old.has_input(2)) {
    node.inputs.resize(5);
    node.inputs.push_back(old.inputs[2]);
  }
  node.set("K", weight->k);
  node.set("N", weight->n);
  node.set("bits", weight->bit_count());
  node.set("block_size", weight->block);
  edit.set_node(id, std::move(node));
}

}  // namespace

void recognise_weight_only_products(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    if (edit.is_alive(NodeId{i})) recognise_weight_only(edit, NodeId{i});
  }
  drop_unread_nodes(edit);
}

}  // namespace assay::transform
