// Products of com.microsoft with quantised weights: sums of 8-bit products scaled to real numbers
// or to 8 bits (QGemm, MatMulIntegerToFloat, DynamicQuantizeMatMul), and real numbers times weights
// of a few bits in blocks (MatMulNBits).
#include <algorithm>

#include "base/checked.h"
#include "kernels/families.h"
#include "kernels/integer_products.h"
#include "kernels/product.h"
#include "kernels/quantization.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Inputs: A, its scale and zero point; B, its own; C in units of the sums; Y's scale and zero
// point, without which Y is real.
std::vector<Tensor> quantized_gemm(const KernelCall& call) {
  if (call.input(0).dims().size() != 2 || call.input(3).dims().size() != 2)
    call.fail("needs two matrices");
  if (call.has(7) != call.has(8)) call.fail("needs both y_scale and y_zero_point, or neither");
  const TransposedOperands flips = {call.node.int_or("transA", 0) != 0,
                                    call.node.int_or("transB", 0) != 0};
  ScaledProduct product = scaled_product(
      call, {.a = 0, .a_scale = 1, .a_zero_point = 2, .b = 3, .b_scale = 4, .b_zero_point = 5},
      flips, 6);
  const double alpha = static_cast<double>(call.node.float_or("alpha", 1));
  for (double& value : product.values) value *= alpha;
  if (!call.has(7)) return {store_real(call.input(1).type(), product.dims, product.values)};
  const Tensor reals = store_real(DataType::Float64, product.dims, product.values);
  return {quantized_result(call, call.input(0).type(), reals, 7)};
}

// Inputs: A, B, their scales, their optional zero points, a bias.
std::vector<Tensor> integer_product_to_float(const KernelCall& call) {
  ScaledProduct product = scaled_product(
      call, {.a = 0, .a_scale = 2, .a_zero_point = 4, .b = 1, .b_scale = 3, .b_zero_point = 5});
  add_input(call, product.values, product.dims, 6);
  return {store_real(call.input(2).type(), product.dims, product.values)};
}

// Inputs: A in real numbers, B, its scale and optional zero point, a bias. All of A has one range.
std::vector<Tensor> dynamic_product(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const auto reals = load_real(call, a);
  const DynamicRange range = dynamic_range(reals);
  std::vector<double> codes;
  for (const double real : reals) codes.push_back(range.quantized(real));
  const Tensor scale = Tensor::of_float({}, {static_cast<float>(range.scale)});
  const Tensor zero_point = store_saturated(call, DataType::UInt8, {}, {range.zero_point});
  const Tensor left = store_saturated(call, DataType::UInt8, a.dims(), codes);
  const auto given = [&](std::size_t i) { return call.has(i) ? call.input(i) : Tensor(); };
  const std::vector<Tensor> inputs = {left,          scale,    zero_point, call.input(1),
                                      call.input(2), given(3), given(4)};
  const KernelCall quantized{call.node, inputs, call.opset};
  ScaledProduct product = scaled_product(
      quantized,
      {.a = 0, .a_scale = 1, .a_zero_point = 2, .b = 3, .b_scale = 4, .b_zero_point = 5});
  add_input(quantized, product.values, product.dims, 6);
  return {store_real(a.type(), product.dims, product.values)};
}

// Weights of a few bits each, `block` of a row sharing a scale and a zero point. A row begins with
// a byte of its own; the first weight has the lowest bits.
class BlockedWeights {
 public:
  explicit BlockedWeights(const KernelCall& call) : call_(call) {
    columns_ = positive("N", 0);
    rows_ = positive("K", 0);
    bits_ = positive("bits", 4);
    block_ = positive("block_size", 0);
    const bool has_known_width = bits_ == 2 || bits_ == 4 || bits_ == 8;
    if (!has_known_width) call.fail("weights of {} bits are not known; 2, 4 and 8 are", bits_);
    blocks_ = (rows_ - 1) / block_ + 1;
    const std::int64_t bits = saturating_multiply(blocks_, saturating_multiply(block_, bits_));
    if (bits % 8 != 0) call.fail("a block of {} weights does not fill whole bytes", block_);
    row_bytes_ = bits / 8;
    weights_ = bytes_of(1, saturating_multiply(columns_, row_bytes_));
    scales_ = load_real(call, 2, saturating_multiply(columns_, blocks_));
    read_zero_points();
    read_groups();
  }

  // K × N, as the product reads them.
  std::vector<double> unpacked() const {
    std::vector<double> values(result_elements(call_, {rows_, columns_}));
    for (std::int64_t column = 0; column < columns_; ++column) {
      for (std::int64_t row = 0; row < rows_; ++row) {
        const std::int64_t block =
            column * blocks_ + (groups_.empty() ? row / block_ : groups_[row]);
        const double number = packed(weights_, column * row_bytes_, row);
        values[row * columns_ + column] = (number - zero_points_[block]) * scales_[block];
      }
    }
    return values;
  }

  Dims dims() const { return {rows_, columns_}; }

 private:
  std::int64_t positive(const char* attribute, std::int64_t otherwise) const {
    const std::int64_t number = call_.node.int_or(attribute, otherwise);
    if (number <= 0) call_.fail("attribute '{}' is missing or not positive", attribute);
    return number;
  }

  std::vector<std::uint8_t> bytes_of(std::size_t input, std::int64_t count) const {
    const Tensor& tensor = call_.input(input);
    if (tensor.type() != DataType::UInt8 || tensor.elements() != count)
      call_.fail("input {} holds {} numbers of type {}, needs {} of uint8", input,
                 tensor.elements(), name(tensor.type()), count);
    return tensor.to_vector<std::uint8_t>();
  }

  double packed(const std::vector<std::uint8_t>& bytes, std::int64_t first,
                std::int64_t position) const {
    const std::int64_t bit = position * bits_;
    const unsigned mask = (1u << bits_) - 1;
    return static_cast<double>((bytes[first + bit / 8] >> (bit % 8)) & mask);
  }

  // Packed as the weights are, or one real number for each block; by default the middle.
  void read_zero_points() {
    zero_points_.assign(scales_.size(), static_cast<double>(1 << (bits_ - 1)));
    if (!call_.has(3)) return;
    if (is_floating(call_.input(3).type())) {
      zero_points_ = load_real(call_, 3, columns_ * blocks_);
      return;
    }
    const std::int64_t stride = (blocks_ * bits_ + 7) / 8;
    const auto bytes = bytes_of(3, columns_ * stride);
    for (std::int64_t column = 0; column < columns_; ++column) {
      for (std::int64_t block = 0; block < blocks_; ++block)
        zero_points_[column * blocks_ + block] = packed(bytes, column * stride, block);
    }
  }

  // Which block's scale each input feature has, where they do not follow each other.
  void read_groups() {
    if (!call_.has(4)) return;
    groups_ = call_.input(4).to_int64();
    if (call_.input(4).elements() < rows_)
      call_.fail("g_idx holds {} numbers for {} features", groups_.size(), rows_);
    for (const std::int64_t group : groups_) {
      if (group < 0 || group >= blocks_) call_.fail("g_idx names block {} of {}", group, blocks_);
    }
  }

  const KernelCall& call_;
  std::int64_t columns_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t bits_ = 0;
  std::int64_t block_ = 0;
  std::int64_t blocks_ = 0;
  std::int64_t row_bytes_ = 0;
  std::vector<std::uint8_t> weights_;
  std::vector<double> scales_;
  std::vector<double> zero_points_;
  Dims groups_;
};

std::vector<Tensor> blocked_product(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const BlockedWeights weights(call);
  const BatchedProduct product(call, a.dims(), weights.dims());
  auto values = product.multiplied(load_real(call, a), weights.unpacked());
  add_input(call, values, product.result_dims(), 5);
  return {store_real(a.type(), product.result_dims(), values)};
}

}  // namespace

void add_quantized_product_kernels(KernelTable& table) {
  table["QGemm"] = quantized_gemm;
  table["MatMulIntegerToFloat"] = integer_product_to_float;
  table["DynamicQuantizeMatMul"] = dynamic_product;
  table["MatMulNBits"] = blocked_product;
}

}  // namespace assay::kernels
