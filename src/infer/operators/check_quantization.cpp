// Scales and zero points: how many there are, of which type, and whether their numbers make sense.
#include <cmath>
#include <string>
#include <unordered_map>

#include "infer/dims.h"
#include "infer/operators/signature.h"

namespace assay::infer {

namespace {

// What the numbers of a vector of scales belong to.
enum class ScaleAxis { None, Rows, Columns, Channels, Gates };

struct QuantizedOperand {
  std::optional<std::size_t> data = {};  // nothing for the result
  std::optional<std::size_t> scale = {};
  std::size_t zero_point = 0;
  ScaleAxis axis = ScaleAxis::None;
};

using QuantizedOperands = std::vector<QuantizedOperand>;

constexpr std::int64_t kMostChecked = 1 << 16;  // larger tensors of scales are not read

const std::unordered_map<std::string_view, QuantizedOperands>& quantized_operands() {
  using enum ScaleAxis;
  static const QuantizedOperands unary = {{0, 1, 2}, {{}, 3, 4}};
  static const QuantizedOperands binary = {{0, 1, 2}, {3, 4, 5}, {{}, 6, 7}};
  static const std::unordered_map<std::string_view, QuantizedOperands> table = {
      {"QLinearConv", {{0, 1, 2}, {3, 4, 5, Channels}, {{}, 6, 7}}},
      {"ConvInteger", {{0, {}, 2}, {1, {}, 3, Channels}}},
      {"QLinearMatMul", {{0, 1, 2, Rows}, {3, 4, 5, Columns}, {{}, 6, 7, Rows}}},
      {"MatMulInteger", {{0, {}, 2, Rows}, {1, {}, 3, Columns}}},
      {"QGemm", {{0, 1, 2}, {3, 4, 5, Columns}, {{}, 7, 8}}},
      {"MatMulIntegerToFloat", {{0, 2, 4, Rows}, {1, 3, 5, Columns}}},
      {"DynamicQuantizeMatMul", {{1, 2, 3, Columns}}},
      {"QAttention", {{0, 3, 6}, {1, 4, 7, Columns}}},
      {"DynamicQuantizeLSTM", {{1, 8, 9, Gates}, {2, 10, 11, Gates}}},
      {"QLinearAdd", binary},
      {"QLinearMul", binary},
      {"QLinearSigmoid", unary},
      {"QLinearLeakyRelu", unary},
      {"QLinearSoftmax", unary},
      {"QLinearAveragePool", unary},
      {"QLinearGlobalAveragePool", unary},
  };
  return table;
}

// Its parts come after the scale and zero point of the result.
QuantizedOperands concat_operands(const InferContext& context) {
  QuantizedOperands operands = {{{}, 0, 1}};
  for (std::size_t i = 2; i + 2 < context.input_count(); i += 3)
    operands.push_back({i, i + 1, i + 2});
  return operands;
}

bool is_read(const Tensor* tensor) {
  return tensor != nullptr && tensor->elements() <= kMostChecked;
}

enum class Sign { Positive, Any };

// Weights in blocks may have scales below 0: some writers give the largest number the one code that
// has no counterpart of the other sign.
void check_scale_numbers(const InferContext& context, std::size_t input, Sign sign) {
  const Tensor* scale = context.stored(input);
  if (!is_read(scale) || !is_floating(scale->type()) || bits(scale->type()) < 16) return;
  const auto numbers = scale->to_double();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool is_good = std::isfinite(numbers[i]) && (sign == Sign::Any || numbers[i] > 0);
    if (is_good) continue;
    context.fail("scale '{}' is {} at {}; scales must be {}: quantise the model again",
                 context.input_name(input), numbers[i], i,
                 sign == Sign::Any ? "finite" : "finite and greater than 0");
  }
}

void check_zero_point_type(const InferContext& context, std::size_t zero_point, std::size_t data) {
  const DataType wanted = context.element(data);
  const DataType given = context.element(zero_point);
  if (wanted == given || wanted == DataType::Undefined || given == DataType::Undefined) return;
  context.fail("zero point '{}' is {}, its tensor '{}' is {}; give both one type",
               context.input_name(zero_point), name(given), context.input_name(data), name(wanted));
}

std::optional<std::size_t> data_axis(const InferContext& context, const QuantizedOperand& operand,
                                     std::size_t rank) {
  if (operand.axis == ScaleAxis::Channels && rank > 0) return 0;
  if (rank < 2) return std::nullopt;
  const bool is_transposed = context.node().op == "QGemm" &&
                             context.node().int_or(operand.data == 3 ? "transB" : "transA", 0) != 0;
  const bool wants_rows = (operand.axis == ScaleAxis::Rows) != is_transposed;
  return wants_rows ? rank - 2 : rank - 1;
}

bool may_be_equal(const Dim& a, const Dim& b) {
  return !a.is_known() || !b.is_known() || a == b;
}

bool is_one_number(const Shape& shape) {
  for (const Dim& dim : shape) {
    if (dim != Dim(1)) return false;
  }
  return true;
}

// One number for each index of the data's `axis`, as a vector or with all other axes 1 or the
// data's.
bool fits_axis(const Shape& numbers, const Shape& data, std::size_t axis, ScaleAxis kind) {
  if (numbers.rank() == 1) return may_be_equal(numbers[0], data[axis]);
  if (kind == ScaleAxis::Channels || numbers.rank() != data.rank()) return false;
  const std::size_t summed = axis + 1 == data.rank() ? axis - 1 : axis + 1;
  if (numbers[summed].is_known() && numbers[summed] != Dim(1)) return false;
  for (std::size_t i = 0; i < data.rank(); ++i) {
    if (i != summed && numbers[i] != Dim(1) && !may_be_equal(numbers[i], data[i])) return false;
  }
  return true;
}

// One number for each direction, or for each direction and row of the weights.
bool fits_gates(const Shape& numbers, const Shape& data) {
  if (data.rank() != 3) return true;  // its rule refuses it
  if (numbers.rank() == 1) return may_be_equal(numbers[0], data[0]);
  return numbers.rank() == 2 && may_be_equal(numbers[0], data[0]) &&
         may_be_equal(numbers[1], data[2]);
}

[[noreturn]] void fail_count(const InferContext& context, std::size_t input, const Shape& numbers,
                             const std::string& wanted) {
  context.fail("input '{}' of shape [{}] does not fit; {}", context.input_name(input),
               numbers.to_string(), wanted);
}

void check_count(const InferContext& context, const QuantizedOperand& operand, std::size_t input) {
  const Shape* numbers = context.shape(input);
  if (numbers == nullptr) return;
  const bool is_one = is_one_number(*numbers) || !numbers->is_known();
  if (is_one && operand.axis != ScaleAxis::Gates) return;
  if (operand.axis == ScaleAxis::None)
    fail_count(context, input, *numbers, "one number for the whole tensor would");
  const Shape* data = operand.data ? context.shape(*operand.data) : nullptr;
  if (data == nullptr) return;
  if (operand.axis == ScaleAxis::Gates) {
    if (!fits_gates(*numbers, *data))
      fail_count(context, input, *numbers,
                 "one number a direction would, or one for each direction and gate's row");
    return;
  }
  const auto axis = data_axis(context, operand, data->rank());
  if (!axis || !fits_axis(*numbers, *data, *axis, operand.axis))
    fail_count(context, input, *numbers,
               fmt::format("one number would, or one for each of {}",
                           axis ? (*data)[*axis].to_string() : "1"));
}

void check_operand(const InferContext& context, const QuantizedOperand& operand) {
  if (operand.scale && context.has(*operand.scale)) {
    check_scale_numbers(context, *operand.scale, Sign::Positive);
    check_count(context, operand, *operand.scale);
  }
  if (!context.has(operand.zero_point)) return;
  if (operand.data) check_zero_point_type(context, operand.zero_point, *operand.data);
  check_count(context, operand, operand.zero_point);
}

// One scale for each `block` numbers along the axis.
void check_blocks(const InferContext& context, const Shape& data, const Shape& numbers,
                  std::size_t input, std::int64_t block) {
  if (block < 0) context.fail("block_size {} is negative", block);
  const std::size_t axis = context.axis(context.node().int_or("axis", 1), data.rank());
  Shape wanted = data;
  if (data[axis].is_known()) {
    const std::int64_t length = data[axis].value();
    wanted[axis] = Dim(length / block + (length % block == 0 ? 0 : 1));
  }
  bool fits = numbers.rank() == wanted.rank();
  for (std::size_t i = 0; fits && i < wanted.rank(); ++i)
    fits = may_be_equal(numbers[i], wanted[i]);
  if (!fits)
    fail_count(context, input, numbers,
               fmt::format("blocks of {} along axis {} of [{}] need [{}]", block, axis,
                           data.to_string(), wanted.to_string()));
}

void check_linear_count(const InferContext& context, std::size_t input) {
  const Shape* data = context.shape(0);
  const Shape* numbers = context.shape(input);
  if (data == nullptr || numbers == nullptr || is_one_number(*numbers)) return;
  if (const std::int64_t block = context.node().int_or("block_size", 0); block != 0)
    return check_blocks(context, *data, *numbers, input, block);
  const std::size_t axis = context.axis(context.node().int_or("axis", 1), data->rank());
  if (numbers->rank() != 1 || !may_be_equal((*numbers)[0], (*data)[axis]))
    fail_count(context, input, *numbers,
               fmt::format("one number would, or one for each of {} along axis {}",
                           (*data)[axis].to_string(), axis));
}

// There is nothing to shift where every number of the type has its own code.
void check_wide_zero_point(const InferContext& context) {
  if (context.element(0) != DataType::Int32) return;
  const Tensor* zeros = context.stored(2);
  if (!is_read(zeros)) return;
  for (const double zero : zeros->to_double()) {
    if (zero != 0)
      context.fail("zero point '{}' is {}; that of int32 must be 0", context.input_name(2), zero);
  }
}

// QuantizeLinear and DequantizeLinear.
void check_linear(const InferContext& context) {
  const bool is_dequantizer = context.node().op == "DequantizeLinear";
  const bool has_narrow_weights =
      context.node().int_or("block_size", 0) != 0 ||
      (is_dequantizer && is_integer(context.element(0)) && bits(context.element(0)) < 8);
  check_scale_numbers(context, 1, has_narrow_weights ? Sign::Any : Sign::Positive);
  check_linear_count(context, 1);
  if (!context.has(2)) return;
  check_linear_count(context, 2);
  if (is_dequantizer) {
    check_zero_point_type(context, 2, 0);
    return check_wide_zero_point(context);
  }
  const DataType asked = context.type_from("output_dtype", DataType::Undefined);
  if (asked != DataType::Undefined && asked != context.element(2))
    context.fail("output_dtype is {}, zero point '{}' is {}; give both one type", name(asked),
                 context.input_name(2), name(context.element(2)));
}

// The layout of weights of a few bits in blocks.
class BlockedLayout {
 public:
  explicit BlockedLayout(const InferContext& context) : context_(context) {
    columns_ = positive("N", 0);
    rows_ = positive("K", 0);
    bits_ = positive("bits", 4);
    block_ = positive("block_size", 0);
    if (bits_ != 2 && bits_ != 4 && bits_ != 8)
      context.fail("weights of {} bits are not known; 2, 4 and 8 are", bits_);
    if (block_ > INT64_MAX / 8 || block_ * bits_ % 8 != 0)
      context.fail("a block of {} weights of {} bits does not fill whole bytes", block_, bits_);
    blocks_ = (rows_ - 1) / block_ + 1;
  }

  void check() const {
    const Dim columns(columns_), blocks(blocks_);
    expect(1, multiplied(context_, multiplied(context_, columns, blocks), Dim(block_ * bits_ / 8)));
    expect(2, multiplied(context_, columns, blocks));
    check_scale_numbers(context_, 2, Sign::Any);
    if (context_.has(3)) {
      const bool is_packed = is_integer(context_.element(3));
      const Dim row =
          is_packed ? Dim((multiplied(context_, blocks, Dim(bits_)).value() + 7) / 8) : blocks;
      expect(3, multiplied(context_, columns, row));
    }
    if (context_.has(4)) check_groups();
    if (context_.has(5)) expect(5, columns);
  }

 private:
  std::int64_t positive(const char* attribute, std::int64_t otherwise) const {
    const std::int64_t number = context_.node().int_or(attribute, otherwise);
    if (number <= 0)
      context_.fail("attribute '{}' is missing or not positive: {}", attribute, number);
    return number;
  }

  void expect(std::size_t input, const Dim& count) const {
    const Shape* shape = context_.shape(input);
    if (shape == nullptr || !shape->is_known() || shape->elements() == count.value()) return;
    fail_count(context_, input, *shape,
               fmt::format("{} weights of {} bits for each of {} columns, in blocks of {}, need {} "
                           "numbers",
                           rows_, bits_, columns_, block_, count.value()));
  }

  void check_groups() const {
    const Shape* shape = context_.shape(4);
    if (shape != nullptr && shape->is_known() && shape->elements() < rows_)
      fail_count(context_, 4, *shape, fmt::format("{} numbers would", rows_));
    const Tensor* groups = context_.stored(4);
    if (!is_read(groups)) return;
    for (const std::int64_t group : groups->to_int64()) {
      if (group < 0 || group >= blocks_)
        context_.fail("'{}' names block {}, there are {}", context_.input_name(4), group, blocks_);
    }
  }

  const InferContext& context_;
  std::int64_t columns_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t bits_ = 0;
  std::int64_t block_ = 0;
  std::int64_t blocks_ = 0;
};

}  // namespace

void check_quantization(const InferContext& context) {
  const std::string& op = context.node().op;
  if (op == "QuantizeLinear" || op == "DequantizeLinear") return check_linear(context);
  if (op == "MatMulNBits") return BlockedLayout(context).check();
  const auto found = quantized_operands().find(op);
  const QuantizedOperands operands = op == "QLinearConcat" ? concat_operands(context)
                                     : found != quantized_operands().end() ? found->second
                                                                           : QuantizedOperands{};
  for (const QuantizedOperand& operand : operands) check_operand(context, operand);
}

}  // namespace assay::infer
