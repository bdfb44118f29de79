// Matrix products: MatMul, Gemm, and FusedMatMul, whose sums are scaled. By cuBLASLt or by a kernel
// of our own.
#include <fmt/core.h>
#include <fmt/ranges.h>

#include <functional>

#include "base/checked.h"
#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/library_product.h"
#include "execute/cuda/lower/attention.h"
#include "execute/cuda/lower/few_rows_product.h"
#include "execute/cuda/lower/product.h"
#include "execute/cuda/product_view.h"
#include "execute/cuda/tiled_product.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

std::string load_text(const Placement& matrix, const std::string& name,
                      std::span<const std::string> at) {
  return fmt::format("    return {};\n",
                     loaded(matrix.type, fmt::format("{}[{}]", name, offset_text(matrix, at))));
}

}  // namespace

ScaledSum scaled_sum(Lowering& lowering, const Node& node, const std::string& type,
                     std::span<const std::string> at) {
  ScaledSum scaled;
  const float alpha = node.float_or("alpha", 1);
  if (alpha != 1) scaled.text = fmt::format("(sum * {})", number_text(alpha, type));
  if (!node.is("Gemm") || !node.has_input(2)) return scaled;
  scaled.added = broadcast(lowering.native(node.inputs[2]), lowering.dims(node.outputs[0]));
  const std::string added =
      loaded(scaled.added->type, fmt::format("c[{}]", offset_text(*scaled.added, at)));
  const float beta = node.float_or("beta", 1);
  scaled.text +=
      beta == 1 ? " + " + added : fmt::format(" + {} * {}", number_text(beta, type), added);
  return scaled;
}

namespace {

// The stride from one element of the batch to the next, if it is the same everywhere.
std::optional<std::int64_t> batch_stride_of(const Placement& matrix) {
  std::optional<std::int64_t> stride;
  std::int64_t next = 0;  // what the next axis outward has to step
  for (std::size_t axis = matrix.dims.size() - 2; axis-- > 0;) {
    if (matrix.dims[axis] == 1) continue;
    if (!stride) stride = next = matrix.strides[axis];
    if (matrix.strides[axis] != next) return {};
    next *= matrix.dims[axis];
  }
  return stride.value_or(0);
}

std::optional<MatrixView> matrix_of(const Placement& placement) {
  const std::size_t rank = placement.dims.size();
  const std::int64_t rows = placement.dims[rank - 2];
  const std::int64_t columns = placement.dims[rank - 1];
  const std::int64_t row_stride = placement.strides[rank - 2];
  const std::int64_t column_stride = placement.strides[rank - 1];
  const auto batch_stride = batch_stride_of(placement);
  if (!batch_stride) return {};
  MatrixView view{.at = placement,
                  .matrix = {.rows = rows, .columns = columns, .batch_stride = *batch_stride}};
  if ((columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns)) {
    view.matrix.leading = rows == 1 ? columns : row_stride;
  } else if ((rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows)) {
    view.matrix.leading = columns == 1 ? rows : column_stride;
    view.matrix.by_columns = true;
  } else {
    return {};
  }
  return view;
}

// An operand that cuBLASLt cannot read as it lies, where it could read a copy: our own kernel takes
// longer than to copy it.
void make_readable(Lowering& lowering, ValueId value, Placement& seen,
                   const std::function<Placement(Placement)>& as_seen) {
  const Placement copy = row_major_placement(lowering.type(value), lowering.dims(value));
  if (matrix_of(seen) || !matrix_of(as_seen(copy))) return;
  seen = as_seen(lowering.row_major(value));
}

void make_readable(Lowering& lowering, const Node& node, ProductView& view) {
  if (lowering.libraries().cublaslt() == nullptr || !number_type(view.a.type)) return;
  make_readable(lowering, node.inputs[0], view.a,
                [&](Placement placement) { return view.as_a(std::move(placement)); });
  make_readable(lowering, node.inputs[1], view.b,
                [&](Placement placement) { return view.as_b(std::move(placement)); });
}

// A batch of matrices that lie one behind the other is one tall matrix, if all are multiplied by
// the same.
void join_batch(LibraryProduct& product) {
  gpu::Matrix& a = product.a.matrix;
  const bool is_tall = !a.by_columns && a.batch_stride == a.rows * a.leading;
  if (product.batches == 1 || !is_tall || product.b.matrix.batch_stride != 0) return;
  a.rows *= product.batches;
  product.result.rows = a.rows;
  product.batches = 1;
}

// What a Gemm adds: as a bias where it is a row, otherwise behind the product; false: neither.
bool take_added(const Node& node, const ScaledSum& scaled, LibraryProduct& product) {
  if (!scaled.added) return true;
  if (node.float_or("beta", 1) != 1) return false;
  const Placement& added = *scaled.added;
  const std::size_t last = added.dims.size() - 1;
  bool is_row = added.strides[last] == 1 && added.type == product.result_like.type;
  for (std::size_t axis = 0; axis < last; ++axis)
    is_row = is_row && (added.strides[axis] == 0 || added.dims[axis] == 1);
  (is_row ? product.bias : product.other_added) = added;
  return true;
}

// As cuBLASLt reads and writes it, if it can.
std::optional<LibraryProduct> library_product(NodeId id, const ProductView& view,
                                              const Placement& result_like) {
  const auto a = matrix_of(view.a);
  const auto b = matrix_of(view.b);
  if (!a || !b) return {};
  return LibraryProduct{.main = id,
                        .batches = checked_product(view.batch).value_or(1),
                        .a = *a,
                        .b = *b,
                        .result = {.rows = view.rows,
                                   .columns = view.columns,
                                   .leading = view.columns,
                                   .batch_stride = view.rows * view.columns},
                        .result_like = result_like,
                        .column_axis = result_like.dims.size() - 1};
}

std::vector<Candidate> library_candidates(Lowering& lowering, NodeId id, const ProductView& view,
                                          const ScaledSum& scaled, const Epilogue& epilogue) {
  const Node& node = lowering.node(id);
  if (!view.has_columns) return {};
  const Dims dims = lowering.dims(node.outputs[0]);
  auto found = library_product(id, view, row_major_placement(lowering.type(node.outputs[0]), dims));
  if (!found) return {};
  LibraryProduct& product = *found;
  product.alpha = node.float_or("alpha", 1);
  if (!take_added(node, scaled, product) || !can_multiply(product)) return {};
  join_batch(product);
  return cublaslt_candidates(lowering, product, epilogue);
}

std::string question_of(const ProductView& view, const ScaledSum& scaled) {
  const auto matrix = [](const Placement& placement) {
    return fmt::format("{}/{}", fmt::join(placement.dims, "x"), fmt::join(placement.strides, ","));
  };
  return fmt::format("product {} {} by {}{}", name(view.a.type), matrix(view.a), matrix(view.b),
                     scaled.added ? " + " + matrix(*scaled.added) : "");
}

bool is_supported(const Lowering& lowering, const Node& node) {
  if (node.int_or("transBatchA", 0) != 0 || node.int_or("transBatchB", 0) != 0) return false;
  if (lowering.type(node.inputs[0]) != lowering.type(node.inputs[1])) return false;
  return lowering.type(node.inputs[0]) != DataType::Bool;
}

bool lower_product(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_supported(lowering, node)) return false;
  if (!node.is("Gemm") && lower_attention(lowering, id)) return true;
  if (lower_few_rows_product(lowering, id)) return true;
  ProductView view = product_view_of(lowering, node, 0, 1);
  const std::int64_t batches = view.batches();
  if (!view.fits_a_grid()) return false;
  make_readable(lowering, node, view);
  const std::string type = sum_type_of(view.a.type);
  const auto at_a = batch_coordinates(view.batch, {"row", "k"});
  const auto at_b = batch_coordinates(view.batch, {"k", "column"});
  const auto at_result = result_coordinates(view);
  const ScaledSum scaled = scaled_sum(lowering, node, type, at_result);
  const Epilogue epilogue = epilogue_of(lowering, id);
  std::string parameters = fmt::format("const {}* __restrict__ a, const {}* __restrict__ b, ",
                                       stored_type(view.a.type), stored_type(view.b.type));
  StepDraft draft{.nodes = epilogue.nodes(id), .reads = {view.a, view.b}};
  if (scaled.added) {
    parameters += fmt::format("const {}* __restrict__ c, ", stored_type(scaled.added->type));
    draft.reads.push_back(*scaled.added);
  }
  draft.reads.insert(draft.reads.end(), epilogue.text.operands.begin(),
                     epilogue.text.operands.end());
  draft.writes = {epilogue.result};
  draft.executed_flops = 2 * batches * view.rows * view.columns * view.depth + epilogue.text.flops;
  const KernelText kernel = tiled_kernel({.batches = batches,
                                          .rows = view.rows,
                                          .columns = view.columns,
                                          .depth = view.depth,
                                          .sum_type = type,
                                          .parameters = parameters + epilogue.parameters(),
                                          .load_a = load_text(view.a, "a", at_a),
                                          .load_b = load_text(view.b, "b", at_b),
                                          .store = epilogue.statements(scaled.text, at_result)});
  std::vector<Candidate> candidates = {own_candidate(lowering, "own tiles", kernel, true, draft)};
  for (Candidate& candidate : library_candidates(lowering, id, view, scaled, epilogue))
    candidates.push_back(std::move(candidate));
  lowering.add_contest(draft, question_of(view, scaled) + following(lowering, epilogue),
                       std::move(candidates));
  return true;
}

}  // namespace

void add_product_step(Lowering& lowering, NodeId id, const Placement& a, const Placement& b,
                      const Placement& result) {
  const ProductView view{.a = a,
                         .b = b,
                         .batch = {result.dims[0]},
                         .rows = result.dims[1],
                         .columns = result.dims[2],
                         .depth = a.dims[2]};
  Epilogue epilogue{.chain = {}, .text = {}, .result = result};
  const StepDraft draft{
      .nodes = {id},
      .executed_flops = 2 * view.batches() * view.rows * view.columns * view.depth,
      .reads = {a, b},
      .writes = {result}};
  const KernelText kernel = tiled_kernel(
      {.batches = view.batches(),
       .rows = view.rows,
       .columns = view.columns,
       .depth = view.depth,
       .sum_type = sum_type_of(a.type),
       .parameters = fmt::format("const {}* __restrict__ a, const {}* __restrict__ b, ",
                                 stored_type(a.type), stored_type(b.type)) +
                     epilogue.parameters(),
       .load_a = load_text(a, "a", batch_coordinates(view.batch, {"row", "k"})),
       .load_b = load_text(b, "b", batch_coordinates(view.batch, {"k", "column"})),
       .store = epilogue.statements("sum", result_coordinates(view))});
  std::vector<Candidate> candidates = {own_candidate(lowering, "own tiles", kernel, true, draft)};
  Placement like = result;
  like.buffer = {};
  auto product = library_product(id, view, like);
  if (product && can_multiply(*product)) {
    for (Candidate& candidate : cublaslt_candidates(lowering, *product, epilogue))
      candidates.push_back(std::move(candidate));
  }
  const std::string question = question_of(view, {}) + following(lowering, epilogue);
  lowering.add_contest(draft, question, std::move(candidates));
}

void add_product_lowering(LowerTable& table) {
  table["MatMul"] = lower_product;
  table["Gemm"] = lower_product;
  table["com.microsoft.FusedMatMul"] = lower_product;
}

}  // namespace assay::cuda
