// MatMulNBits: rows of floats times a matrix of 4- or 8-bit codes, with a scale (and a zero point)
// for each block of a column. A few rows are multiplied with codes that become floats in registers,
// so that only codes are read; for more rows, a panel of columns at a time becomes floats first.
#include <algorithm>
#include <bit>

#include "base/checked.h"
#include "execute/cpu/lower/own_product.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

namespace {

struct CodedMatrix {
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::int64_t bits = 0;
  std::int64_t stored_block = 0;  // of the model
  std::int64_t block = 0;         // of our panels: no more than there are rows
  std::int64_t blocks = 0;        // of a column
  Tensor codes = {};              // [n, blocks, stored_block · bits / 8]
  Tensor scales = {};             // [n · blocks]
  Tensor zero_points = {};        // empty: in the middle of the codes' range

  bool has_shifts() const { return zero_points.has_value(); }
  std::int64_t middle() const { return std::int64_t{1} << (bits - 1); }
  std::int64_t column_bytes() const { return blocks * stored_block * bits / 8; }
  std::int64_t zero_point_bytes() const { return (blocks * bits + 7) / 8; }  // of a column
  std::int64_t block_bytes(std::int64_t columns) const {
    return columns * ((has_shifts() ? 2 : 1) * std::int64_t{4} + block * bits / 8);
  }
  std::int64_t panel_bytes(std::int64_t columns) const { return blocks * block_bytes(columns); }
};

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

bool has_elements(const Tensor* tensor, std::int64_t elements) {
  return tensor != nullptr && tensor->elements() == elements;
}

bool take_zero_points(const Lowering& lowering, ValueId id, CodedMatrix& matrix) {
  const Tensor* given = lowering.constant(id);
  if (given == nullptr) return false;
  const std::int64_t packed = matrix.n * matrix.zero_point_bytes();
  const bool are_codes = given->type() == DataType::UInt8 && given->elements() == packed;
  const bool are_floats =
      given->type() == DataType::Float32 && given->elements() == matrix.n * matrix.blocks;
  matrix.zero_points = *given;
  return are_codes || are_floats;
}

std::optional<CodedMatrix> coded_matrix_of(const Lowering& lowering, const Node& node) {
  CodedMatrix matrix{.k = node.int_or("K", 0),
                     .n = node.int_or("N", 0),
                     .bits = node.int_or("bits", 4),
                     .stored_block = node.int_or("block_size", 0)};
  const bool is_known = (matrix.bits == 4 || matrix.bits == 8) && matrix.k > 0 && matrix.n > 0 &&
                        matrix.stored_block > 0 && matrix.stored_block % 8 == 0;
  if (!is_known || node.has_input(4)) return {};  // reordered columns
  matrix.blocks = (matrix.k + matrix.stored_block - 1) / matrix.stored_block;
  matrix.block = std::min(matrix.stored_block, rounded_up(matrix.k, 8));
  const Tensor* codes = lowering.constant(node.inputs[1]);
  const Tensor* scales = lowering.constant(node.inputs[2]);
  if (!has_elements(codes, saturating_multiply(matrix.n, matrix.column_bytes()))) return {};
  if (codes->type() != DataType::UInt8 || !has_elements(scales, matrix.n * matrix.blocks))
    return {};
  if (scales->type() != DataType::Float32) return {};
  matrix.codes = *codes;
  matrix.scales = *scales;
  if (node.has_input(3) && !take_zero_points(lowering, node.inputs[3], matrix)) return {};
  return matrix;
}

// The code at position `at` of packed bytes.
std::uint32_t code_at(const std::uint8_t* packed, std::int64_t at, std::int64_t bits) {
  if (bits == 8) return packed[at];
  return (packed[at / 2] >> (at % 2 * 4)) & 15u;
}

// (code − zero point) · scale is (code − middle) · scale + shift.
std::vector<float> shifts_of(const CodedMatrix& matrix, const std::vector<float>& scales) {
  std::vector<float> shifts;
  if (!matrix.has_shifts()) return shifts;
  const bool are_codes = matrix.zero_points.type() == DataType::UInt8;
  const auto codes =
      are_codes ? matrix.zero_points.to_vector<std::uint8_t>() : std::vector<std::uint8_t>();
  const auto floats = are_codes ? std::vector<float>() : matrix.zero_points.to_vector<float>();
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) / matrix.blocks;
    const auto block = static_cast<std::int64_t>(i) % matrix.blocks;
    const float zero_point =
        are_codes ? static_cast<float>(code_at(codes.data() + column * matrix.zero_point_bytes(),
                                               block, matrix.bits))
                  : floats[i];
    shifts.push_back((static_cast<float>(matrix.middle()) - zero_point) * scales[i]);
  }
  return shifts;
}

// Writes panels as CodedPanel describes them.
class PanelPacker {
 public:
  PanelPacker(const CodedMatrix& matrix, const Tensor& codes, std::int64_t width)
      : matrix_(matrix),
        codes_(reinterpret_cast<const std::uint8_t*>(codes.bytes().data())),
        width_(width),
        scales_(matrix.scales.to_vector<float>()),
        shifts_(shifts_of(matrix, scales_)) {}

  void pack(std::byte* to) const {
    for (std::int64_t first = 0; first < matrix_.n; first += width_) {
      for (std::int64_t b = 0; b < matrix_.blocks; ++b) {
        to = put_numbers(scales_, first, b, to);
        if (matrix_.has_shifts()) to = put_numbers(shifts_, first, b, to);
        to = put_codes(first, b, to);
      }
    }
  }

 private:
  std::byte* put_numbers(const std::vector<float>& numbers, std::int64_t first, std::int64_t block,
                         std::byte* to) const {
    auto* floats = reinterpret_cast<float*>(to);
    for (std::int64_t c = 0; c < width_; ++c) {
      const std::int64_t at = (first + c) * matrix_.blocks + block;
      floats[c] = first + c < matrix_.n ? numbers[static_cast<std::size_t>(at)] : 0.0f;
    }
    return reinterpret_cast<std::byte*>(floats + width_);
  }

  std::byte* put_codes(std::int64_t first, std::int64_t block, std::byte* to) const {
    auto* words = reinterpret_cast<std::uint32_t*>(to);
    const std::int64_t in_word = 32 / matrix_.bits;
    for (std::int64_t k = 0; k < matrix_.block; k += in_word) {
      for (std::int64_t c = 0; c < width_; ++c) *words++ = word_at(first + c, block, k);
    }
    return reinterpret_cast<std::byte*>(words);
  }

  // In two's complement: the middle of the range becomes zero.
  std::uint32_t word_at(std::int64_t column, std::int64_t block, std::int64_t k) const {
    if (column >= matrix_.n) return 0;
    const std::uint8_t* from =
        codes_ + column * matrix_.column_bytes() + block * matrix_.stored_block * matrix_.bits / 8;
    std::uint32_t word = 0;
    for (std::int64_t j = 0; j < 32 / matrix_.bits; ++j) {
      if (block * matrix_.stored_block + k + j >= matrix_.k) break;
      const std::uint32_t code = code_at(from, k + j, matrix_.bits);
      word |= (code ^ static_cast<std::uint32_t>(matrix_.middle())) << (j * matrix_.bits);
    }
    return word;
  }

  const CodedMatrix& matrix_;
  const std::uint8_t* codes_ = nullptr;
  std::int64_t width_ = 0;
  std::vector<float> scales_;
  std::vector<float> shifts_;
};

Placement packed_codes(Lowering& lowering, const CodedMatrix& matrix) {
  const auto width = static_cast<std::int64_t>(simd().panel_width);
  const std::int64_t panels = (matrix.n + width - 1) / width;
  return lowering.weights().prepared(matrix.codes,
                                     "coded panels of " + std::to_string(matrix.block),
                                     static_cast<std::size_t>(panels * matrix.panel_bytes(width)),
                                     [matrix, width](const Tensor& codes, std::byte* prepared) {
                                       PanelPacker(matrix, codes, width).pack(prepared);
                                     });
}

// Of a panel at a time.
class CodedPanels {
 public:
  explicit CodedPanels(const CodedMatrix& matrix)
      : bits_(static_cast<int>(matrix.bits)),
        block_(static_cast<std::size_t>(matrix.block)),
        blocks_(static_cast<std::size_t>(matrix.blocks)),
        has_shifts_(matrix.has_shifts()),
        bytes_(matrix.panel_bytes(static_cast<std::int64_t>(simd().panel_width))) {}

  std::size_t depth() const { return block_ * blocks_; }
  CodedPanel at(const std::byte* weights, std::int64_t panel) const {
    return {bits_, block_, blocks_, has_shifts_, weights + panel * bytes_};
  }

  void multiply_few_rows(const std::byte* weights, const ProductRows& rows, std::int64_t first,
                         std::int64_t last, const ProductTarget& target) const {
    for (std::int64_t unit = first; unit < last; ++unit)
      simd().coded_product(
          at(weights, unit), rows.first, static_cast<std::size_t>(rows.count),
          static_cast<std::size_t>(rows.stride), rows.block_sums,
          target.products + (unit - first) * static_cast<std::int64_t>(simd().panel_width),
          static_cast<std::size_t>(target.stride));
  }

  void multiply_many_rows(const std::byte* weights, const ProductRows& rows, std::int64_t unit,
                          const ProductTarget& target) const {
    simd().decode_panel(at(weights, unit), target.scratch);
    constexpr std::size_t kDepthTogether = 256;
    for (std::size_t start = 0; start < depth(); start += kDepthTogether) {
      const auto multiply = start == 0 ? simd().panel_product : simd().add_panel_product;
      const float* panel = target.scratch + start * simd().panel_width;
      multiply(rows.first + start, static_cast<std::size_t>(rows.count),
               static_cast<std::size_t>(rows.stride), panel,
               std::min(kDepthTogether, depth() - start), target.products,
               static_cast<std::size_t>(target.stride), {panel, 0});
    }
  }

 private:
  int bits_ = 4;
  std::size_t block_ = 0;
  std::size_t blocks_ = 0;
  bool has_shifts_ = false;
  std::int64_t bytes_ = 0;
};

// Decoding a panel first pays from here on.
constexpr std::int64_t kManyRows = 9;
constexpr std::int64_t kPanelsAtOnce = 16;

void set_kernel(const CodedMatrix& matrix, OwnProduct& product) {
  const CodedPanels panels(matrix);
  product.unit = static_cast<std::int64_t>(simd().panel_width);
  if (product.m < kManyRows) {
    product.block = matrix.has_shifts() ? matrix.block : 0;
    product.units_at_once = kPanelsAtOnce;
    product.multiply = [panels](const std::byte* weights, const ProductRows& rows,
                                std::int64_t first, std::int64_t last,
                                const ProductTarget& target) {
      panels.multiply_few_rows(weights, rows, first, last, target);
    };
    return;
  }
  product.scratch_floats = static_cast<std::int64_t>(panels.depth() * simd().panel_width);
  product.multiply = [panels](const std::byte* weights, const ProductRows& rows, std::int64_t unit,
                              std::int64_t, const ProductTarget& target) {
    panels.multiply_many_rows(weights, rows, unit, target);
  };
}

bool lower_weight_only_product(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0]) || !lowering.is_float(node.outputs[0])) return false;
  const auto matrix = coded_matrix_of(lowering, node);
  if (!matrix) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  if (dims.empty() || dims.back() != matrix->k) return false;
  OwnProduct product{.id = id,
                     .source = node.inputs[0],
                     .m = checked_product(dims).value_or(0) / matrix->k,
                     .k = matrix->k,
                     .n = matrix->n,
                     .algorithm = "int" + std::to_string(matrix->bits) + " weights",
                     .depth = matrix->blocks * matrix->block};
  if (product.m == 0) return false;
  if (node.has_input(5)) {
    if (!lowering.is_float(node.inputs[5]) || lowering.dims(node.inputs[5]) != Dims{matrix->n})
      return false;
    product.bias = node.inputs[5];
  }
  product.weights = packed_codes(lowering, *matrix);
  set_kernel(*matrix, product);
  add_own_product(lowering, std::move(product));
  return true;
}

}  // namespace

void add_weight_only_product_lowering(LowerTable& table) {
  table["com.microsoft.MatMulNBits"] = lower_weight_only_product;
}

}  // namespace assay::cpu
