// Sums, means, maxima and minima over axes that stand side by side.
#include <algorithm>

#include "base/checked.h"
#include "execute/onednn/steps.h"
#include "execute/simd/simd.h"
#include "execute/threads.h"
#include "kernels/shape_math.h"

namespace assay::onednn {

namespace {

struct Reduction {
  ReduceOp op = ReduceOp::Sum;
  bool is_mean = false;
};

std::optional<Reduction> reduction_of(const Node& node) {
  if (node.op == "ReduceSum") return Reduction{ReduceOp::Sum};
  if (node.op == "ReduceMean") return Reduction{ReduceOp::Sum, true};
  if (node.op == "ReduceMax") return Reduction{ReduceOp::Max};
  if (node.op == "ReduceMin") return Reduction{ReduceOp::Min};
  if (node.op == "ReduceSumSquare") return Reduction{ReduceOp::SumSquare};
  if (node.op == "ReduceL1") return Reduction{ReduceOp::SumAbs};
  return {};
}

// The input seen as [outer, reduced, inner].
struct Shape3 {
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;
};

std::optional<Shape3> shape_of(const Lowering& lowering, const Node& node, const Dims& dims) {
  auto given = ints_of(lowering, node, "axes", 1);
  if (!given && node.has_input(1)) return {};
  if (!given || given->empty()) {
    if (node.int_or("noop_with_empty_axes", 0) != 0) return {};
    return Shape3{1, checked_product(dims).value_or(0), 1};
  }
  const auto axes = normalized_axes(*given, dims.size());
  if (!axes || axes->back() - axes->front() + 1 != axes->size()) return {};
  const std::span<const std::int64_t> all = dims;
  return Shape3{checked_product(all.first(axes->front())).value_or(0),
                checked_product(all.subspan(axes->front(), axes->size())).value_or(0),
                checked_product(all.subspan(axes->back() + 1)).value_or(0)};
}

void reduce_columns(const Reduction& what, const Shape3& shape, const float* from, float* to) {
  const auto inner = static_cast<std::size_t>(shape.inner);
  simd().unary(UnaryOp::Copy, 0, 0, from, to, inner);
  const BinaryOp op = what.op == ReduceOp::Max   ? BinaryOp::Max
                      : what.op == ReduceOp::Min ? BinaryOp::Min
                                                 : BinaryOp::Add;
  for (std::int64_t i = 1; i < shape.reduced; ++i) {
    simd().binary(op, to, from + i * shape.inner, to, inner);
  }
}

void reduce_one(const Reduction& what, const Shape3& shape, const float* from, float* to) {
  if (shape.inner == 1) {
    *to = simd().reduce(what.op, from, static_cast<std::size_t>(shape.reduced));
  } else {
    reduce_columns(what, shape, from, to);
  }
  if (!what.is_mean) return;
  simd().binary_number(BinaryOp::Div, to, static_cast<float>(shape.reduced), to,
                       static_cast<std::size_t>(shape.inner));
}

bool lower_reduction(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto what = reduction_of(node);
  if (!what || !lowering.is_float(node.inputs[0])) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto shape = shape_of(lowering, node, dims);
  if (!shape || checked_product(dims).value_or(0) == 0) return false;
  const bool needs_rows = what->op == ReduceOp::SumSquare || what->op == ReduceOp::SumAbs;
  if (shape->inner != 1 && needs_rows) return false;
  const Place source = lowering.row_major(node.inputs[0]);
  const Place result = lowering.new_row_major(node.outputs[0]);
  constexpr std::int64_t kElementsWorthSharing = 16384;
  const int threads = source.elements() >= kElementsWorthSharing ? lowering.threads() : 1;
  lowering.add_step({.nodes = {id},
                     .algorithm = "reduce",
                     .executed_flops = source.elements(),
                     .reads = {source},
                     .writes = {result}},
                    [=](const Addresses& at) -> Runner {
                      const float* from = at.floats(source);
                      float* to = at.floats(result);
                      return [=] {
                        in_parallel(
                            threads, shape->outer, [&](std::int64_t first, std::int64_t last) {
                              for (std::int64_t o = first; o < last; ++o) {
                                reduce_one(*what, *shape, from + o * shape->reduced * shape->inner,
                                           to + o * shape->inner);
                              }
                            });
                      };
                    });
  lowering.set_place(node.outputs[0], result);
  return true;
}

}  // namespace

void add_reduction_lowering(LowerTable& table) {
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1"}) {
    table[op] = lower_reduction;
  }
}

}  // namespace assay::onednn
