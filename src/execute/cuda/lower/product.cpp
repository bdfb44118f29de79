// Matrix products: MatMul, Gemm, and FusedMatMul, whose sums are scaled.
#include <fmt/core.h>

#include "execute/cuda/epilogue.h"
#include "execute/cuda/kernel_text.h"
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

// alpha · sum + beta · C, as an expression of `sum`.
struct Scaled {
  std::string text = "sum";
  std::optional<Placement> added = {};  // read through "c"
};

Scaled scaled_sum(Lowering& lowering, const Node& node, const std::string& type,
                  std::span<const std::string> at) {
  Scaled scaled;
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

bool is_supported(const Lowering& lowering, const Node& node) {
  if (node.int_or("transBatchA", 0) != 0 || node.int_or("transBatchB", 0) != 0) return false;
  if (lowering.type(node.inputs[0]) != lowering.type(node.inputs[1])) return false;
  return lowering.type(node.inputs[0]) != DataType::Bool;
}

bool lower_product(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_supported(lowering, node)) return false;
  const ProductView view = product_view_of(lowering, node, 0, 1);
  const std::int64_t batches = view.batches();
  if (!view.fits_a_grid()) return false;
  const std::string type = sum_type_of(view.a.type);
  const auto at_a = batch_coordinates(view.batch, {"row", "k"});
  const auto at_b = batch_coordinates(view.batch, {"k", "column"});
  const auto at_result = result_coordinates(view);
  const Scaled scaled = scaled_sum(lowering, node, type, at_result);
  const Epilogue epilogue = epilogue_of(lowering, id);
  std::string parameters = fmt::format("const {}* __restrict__ a, const {}* __restrict__ b, ",
                                       stored_type(view.a.type), stored_type(view.b.type));
  StepDraft draft{.nodes = epilogue.nodes(id), .algorithm = "own tiles", .reads = {view.a, view.b}};
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
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text, true), kernel.shape);
  return true;
}

}  // namespace

void add_product_lowering(LowerTable& table) {
  table["MatMul"] = lower_product;
  table["Gemm"] = lower_product;
  table["com.microsoft.FusedMatMul"] = lower_product;
}

}  // namespace assay::cuda
