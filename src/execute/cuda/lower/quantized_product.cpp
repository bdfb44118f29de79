// Products of 8-bit numbers, whose sums are exact: MatMulInteger, QLinearMatMul, QGemm and
// MatMulIntegerToFloat. With stored weights without zero points, tensor cores compete with the
// plain kernel.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include "base/checked.h"
#include "execute/cuda/byte_convolution.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/product_view.h"
#include "execute/cuda/quantized_text.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

namespace {

// What the numbers of a vector of scales or zero points belong to.
enum class ScaleVector { Rows, Columns };

// Seen as of `dims`; nothing where it does not fit.
std::optional<Placement> spread_over(Placement numbers, const Dims& dims, ScaleVector kind) {
  if (numbers.elements() == 1 && numbers.dims.size() == 1) {
    numbers.dims.clear();
    numbers.strides.clear();
  }
  if (numbers.dims.size() == 1 && kind == ScaleVector::Rows) {
    numbers.dims.push_back(1);
    numbers.strides.push_back(0);
  }
  if (kernels::broadcast_dims(dims, numbers.dims) != dims) return {};
  return broadcast(numbers, dims);
}

// Where the operands stand among the inputs; kNone: there is no such one.
constexpr std::size_t kNone = 99;
struct ProductInputs {
  std::size_t a = 0;
  std::size_t a_zero_point = kNone;
  std::size_t b = 0;
  std::size_t b_zero_point = kNone;
};

bool has_8_bits(const Lowering& lowering, ValueId id) {
  const DataType type = lowering.type(id);
  return type == DataType::Int8 || type == DataType::UInt8;
}

class IntegerProduct {
 public:
  IntegerProduct(Lowering& lowering, NodeId id, const ProductInputs& inputs)
      : lowering_(lowering), id_(id), node_(lowering.node(id)), operands_(lowering) {
    const bool fits = has_8_bits(lowering, node_.inputs[inputs.a]) &&
                      has_8_bits(lowering, node_.inputs[inputs.b]);
    if (!fits) return;
    view_ = product_view_of(lowering, node_, inputs.a, inputs.b);
    is_supported_ = view_.fits_a_grid();
    at_result_ = result_coordinates(view_);
    const auto kind = [](bool is_flipped) {
      return is_flipped ? ScaleVector::Columns : ScaleVector::Rows;
    };
    a_ = centred(inputs.a, view_.a, inputs.a_zero_point, kind(view_.flips_a), {"row", "k"},
                 &ProductView::as_a);
    b_ = centred(inputs.b, view_.b, inputs.b_zero_point, kind(!view_.flips_b), {"k", "column"},
                 &ProductView::as_b);
    if (is_supported_) find_columns(inputs);
  }

  bool is_supported() const { return is_supported_; }
  const Node& node() const { return node_; }
  Operands& operands() { return operands_; }
  DataType result_type() const { return lowering_.type(node_.outputs[0]); }

  // The number of input `input` for an element of the result, as double.
  std::string spread_real(std::size_t input, ScaleVector kind) {
    const ValueId id = node_.inputs[input];
    if (lowering_.number(id)) return operands_.real(id);
    const auto seen = spread_over(lowering_.native(id), lowering_.dims(node_.outputs[0]), kind);
    if (!seen) is_supported_ = false;
    return seen ? "(double)" + operands_.element(*seen, at_result_) : "";
  }

  // `result` is an expression of the number `sum`.
  bool finish(const std::string& result) {
    if (!is_supported_) return false;
    const Epilogue epilogue = epilogue_of(lowering_, id_);
    const std::int64_t flops = 2 * view_.batches() * view_.rows * view_.columns * view_.depth;
    const StepDraft draft = draft_with(epilogue, id_, operands_.reads(), flops);
    const std::string parameters = operands_.parameters() + epilogue.parameters();
    const KernelText kernel = tiled_kernel({.batches = view_.batches(),
                                            .rows = view_.rows,
                                            .columns = view_.columns,
                                            .depth = view_.depth,
                                            .sum_type = sum_type(),
                                            .parameters = parameters,
                                            .load_a = a_,
                                            .load_b = b_,
                                            .store = epilogue.statements(result, at_result_)});
    std::vector<Candidate> candidates = {
        own_candidate(lowering_, "own tiles", kernel, true, draft)};
    if (columns_)
      for (Candidate& candidate :
           byte_tile_candidates(lowering_, tiles(result, parameters, epilogue), draft))
        candidates.push_back(std::move(candidate));
    lowering_.add_contest(draft, question() + following(lowering_, epilogue),
                          std::move(candidates));
    return true;
  }

 private:
  // A stored matrix whose columns lie side by side, and their sums.
  struct Columns {
    Placement numbers;
    std::string name;
    std::string sums;
    std::string a;
    std::string zero_point;
  };

  void find_columns(const ProductInputs& inputs) {
    const ValueId id = node_.inputs[inputs.b];
    const Tensor* tensor = lowering_.constant(id);
    const bool has_one_zero =
        !node_.has_input(inputs.a_zero_point) ||
        checked_product(lowering_.dims(node_.inputs[inputs.a_zero_point])) == 1;
    const std::size_t last = view_.a.dims.size() - 1;
    if (tensor == nullptr || tensor->dims().size() != 2 || !has_one_zero ||
        !has_no_zero_point(lowering_, node_, inputs.b_zero_point) || view_.a.strides[last] != 1 ||
        !has_exact_sums(view_.depth))
      return;
    const bool lies_by_columns = view_.flips_b;
    const Placement numbers =
        lies_by_columns ? lowering_.native(id) : lowering_.weight_by_columns(*tensor);
    const Tensor sums = lies_by_columns
                            ? column_sums(*tensor, view_.columns, view_.depth, view_.depth, 1)
                            : column_sums(*tensor, view_.columns, view_.depth, 1, view_.columns);
    columns_ =
        Columns{.numbers = numbers,
                .name = operands_.pointer(numbers),
                .sums = operands_.pointer(lowering_.weight(sums)),
                .a = operands_.pointer(view_.a),
                .zero_point = node_.has_input(inputs.a_zero_point)
                                  ? "(int)" + operands_.whole(node_.inputs[inputs.a_zero_point])
                                  : "0"};
  }

  std::int64_t group() const {
    const std::size_t last = view_.a.dims.size() - 1;
    for (const std::int64_t group : {16, 8, 4})
      if (view_.depth % group == 0 && lies_in_groups(view_.a, last, group)) return group;
    return 1;
  }

  ByteTiles tiles(const std::string& result, const std::string& parameters,
                  const Epilogue& epilogue) const {
    const std::string rows =
        fmt::format("    const int z = all_row / {0}, row = all_row % {0};\n", view_.rows);
    const auto at_line = batch_coordinates(view_.batch, {"row", "0"});
    return {.rows = view_.batches() * view_.rows,
            .columns = view_.columns,
            .depth = view_.depth,
            .group = group(),
            .a_type = view_.a.type,
            .b_type = view_.b.type,
            .parameters = parameters,
            .a = columns_->a,
            .b = columns_->name,
            .column_stride = view_.depth,
            .locate = rows + fmt::format("      line.base = {};\n", offset_text(view_.a, at_line)),
            .find = "    offset = line.base + k;\n",
            .fill = columns_->zero_point,
            .coordinates = rows,
            .computing = fmt::format("      const int sum = sum_of_numbers - {} * {}[column];\n",
                                     columns_->zero_point, columns_->sums) +
                         epilogue.computing(result, at_result_),
            .result = epilogue.stored_result(),
            .place = offset_text(epilogue.result, at_result_),
            .result_type = epilogue.result.type,
            .results_together = results_together(epilogue.result, epilogue.result.dims.size() - 1)};
  }

  std::string question() const {
    const auto described = [](const Placement& placement) {
      return fmt::format("{} {}/{}", name(placement.type), fmt::join(placement.dims, "x"),
                         fmt::join(placement.strides, ","));
    };
    return fmt::format("bytes {} by {}", described(view_.a), described(view_.b));
  }

  // Products have 16 bits and a sign.
  std::string sum_type() const { return view_.depth < (1 << 14) ? "int" : "long long"; }

  std::string centred(std::size_t input, const Placement& matrix, std::size_t zero_point,
                      ScaleVector kind, std::initializer_list<std::string> last,
                      Placement (ProductView::*as_matrix)(Placement) const) {
    const auto at = batch_coordinates(view_.batch, last);
    const std::string number = "(int)" + operands_.element(matrix, at);
    if (!node_.has_input(zero_point)) return fmt::format("    return {};\n", number);
    const ValueId zero = node_.inputs[zero_point];
    if (lowering_.number(zero))
      return fmt::format("    return {} - (int){};\n", number, operands_.whole(zero));
    const auto spread =
        spread_over(lowering_.native(zero), lowering_.dims(node_.inputs[input]), kind);
    if (!spread) is_supported_ = false;
    if (!spread) return "";
    return fmt::format("    return {} - (int){};\n", number,
                       operands_.element((view_.*as_matrix)(*spread), at));
  }

  Lowering& lowering_;
  NodeId id_;
  const Node& node_;
  Operands operands_;
  ProductView view_ = {};
  std::vector<std::string> at_result_;
  std::string a_;
  std::string b_;
  std::optional<Columns> columns_ = {};
  bool is_supported_ = false;
};

bool lower_integer_product(Lowering& lowering, NodeId id) {
  IntegerProduct product(lowering, id, {.a = 0, .a_zero_point = 2, .b = 1, .b_zero_point = 3});
  return product.is_supported() && product.finish("(int)sum");
}

bool lower_quantized_product(Lowering& lowering, NodeId id) {
  IntegerProduct product(lowering, id, {.a = 0, .a_zero_point = 2, .b = 3, .b_zero_point = 5});
  if (!product.is_supported()) return false;
  const std::string factor = fmt::format("{} * {} / {}", product.spread_real(1, ScaleVector::Rows),
                                         product.spread_real(4, ScaleVector::Columns),
                                         product.spread_real(6, ScaleVector::Rows));
  return product.finish(saturated_text(product.result_type(),
                                       fmt::format("rint((double)sum * ({})) + {}", factor,
                                                   product.spread_real(7, ScaleVector::Rows))));
}

bool lower_quantized_gemm(Lowering& lowering, NodeId id) {
  IntegerProduct product(lowering, id, {.a = 0, .a_zero_point = 2, .b = 3, .b_zero_point = 5});
  const Node& node = product.node();
  if (!product.is_supported() || !is_one_number(lowering, node, {7, 8})) return false;
  std::string sum = "sum";
  if (node.has_input(6)) {
    const Dims dims = lowering.dims(node.outputs[0]);
    const auto added = broadcast(lowering.native(node.inputs[6]), dims);
    sum = fmt::format("(sum + (long long){})",
                      product.operands().element(added, std::vector<std::string>{"row", "column"}));
  }
  std::string real =
      fmt::format("((double){} * {} * {})", sum, product.spread_real(1, ScaleVector::Rows),
                  product.spread_real(4, ScaleVector::Columns));
  const float alpha = node.float_or("alpha", 1);
  if (alpha != 1) real = fmt::format("({} * {})", real, number_text(alpha, "double"));
  if (!node.has_input(7))
    return product.finish(fmt::format("({}){}", computed_type(product.result_type()), real));
  return product.finish(
      quantized_text(product.operands(), node, {7, 8}, product.result_type(), real));
}

bool lower_product_to_float(Lowering& lowering, NodeId id) {
  IntegerProduct product(lowering, id, {.a = 0, .a_zero_point = 4, .b = 1, .b_zero_point = 5});
  const Node& node = product.node();
  if (!product.is_supported()) return false;
  std::string real = fmt::format("(double)sum * {} * {}", product.spread_real(2, ScaleVector::Rows),
                                 product.spread_real(3, ScaleVector::Columns));
  if (node.has_input(6)) real += " + " + product.spread_real(6, ScaleVector::Columns);
  return product.finish(fmt::format("({})({})", computed_type(product.result_type()), real));
}

}  // namespace

void add_quantized_product_lowering(LowerTable& table) {
  table["MatMulInteger"] = lower_integer_product;
  table["QLinearMatMul"] = lower_quantized_product;
  table["com.microsoft.QGemm"] = lower_quantized_gemm;
  table["com.microsoft.MatMulIntegerToFloat"] = lower_product_to_float;
}

}  // namespace assay::cuda
