// Sums, means, maxima and minima over any axes.
#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

using kernels::normalized_axes;

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
struct Pass {
  ReduceOp op = ReduceOp::Sum;
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;

  std::int64_t results() const { return outer * inner; }
};

// The axes in ascending order.
std::optional<std::vector<std::size_t>> axes_of(const Lowering& lowering, const Node& node,
                                                std::size_t rank) {
  auto given = ints_of(lowering, node, "axes", 1);
  if (!given && node.has_input(1)) return {};
  if (!given || given->empty()) {
    if (node.int_or("noop_with_empty_axes", 0) != 0) return {};
    given.emplace(rank);
    std::iota(given->begin(), given->end(), 0);
  }
  return normalized_axes(*given, rank);
}

// Axes side by side are one pass; the last ones come first. What one pass leaves is added up by the
// next.
std::vector<Pass> passes_of(ReduceOp op, Dims dims, const std::vector<std::size_t>& axes) {
  std::vector<Pass> passes;
  for (std::size_t end = axes.size(); end > 0;) {
    std::size_t begin = end - 1;
    while (begin > 0 && axes[begin - 1] + 1 == axes[begin]) --begin;
    const std::span<const std::int64_t> all = dims;
    passes.push_back({op, checked_product(all.first(axes[begin])).value_or(0),
                      checked_product(all.subspan(axes[begin], end - begin)).value_or(0),
                      checked_product(all.subspan(axes[end - 1] + 1)).value_or(0)});
    for (; end > begin; --end) dims[axes[end - 1]] = 1;
    const bool is_extreme = op == ReduceOp::Max || op == ReduceOp::Min;
    if (!is_extreme) op = ReduceOp::Sum;
  }
  return passes;
}

// Columns first..last of [reduced, inner].
void reduce_columns(const Pass& pass, const float* from, float* to, std::int64_t first,
                    std::int64_t last) {
  const auto count = static_cast<std::size_t>(last - first);
  simd().unary(UnaryOp::Copy, 0, 0, from + first, to + first, count);
  const BinaryOp op = pass.op == ReduceOp::Max   ? BinaryOp::Max
                      : pass.op == ReduceOp::Min ? BinaryOp::Min
                                                 : BinaryOp::Add;
  for (std::int64_t i = 1; i < pass.reduced; ++i) {
    simd().binary(op, to + first, from + i * pass.inner + first, to + first, count);
  }
}

// Columns that a thread takes together: a few cache lines of them.
constexpr std::int64_t kReducedColumnsTogether = 64;

void run_pass(const Pass& pass, int threads, const float* from, float* to) {
  if (pass.inner == 1) {
    return execute::for_each_in_parallel(
        threads, static_cast<std::size_t>(pass.outer), [&](std::size_t o) {
          const auto count = static_cast<std::size_t>(pass.reduced);
          to[o] = simd().reduce(pass.op, from + o * count, count);
        });
  }
  const std::int64_t stretches =
      (pass.inner + kReducedColumnsTogether - 1) / kReducedColumnsTogether;
  execute::for_each_stretch(threads, pass.outer, stretches,
                            [&](std::int64_t o, std::int64_t first, std::int64_t last) {
                              reduce_columns(pass, from + o * pass.reduced * pass.inner,
                                             to + o * pass.inner, first * kReducedColumnsTogether,
                                             std::min(pass.inner, last * kReducedColumnsTogether));
                            });
}

// `between` takes what passes leave to each other, one after the other.
void run_passes(const std::vector<Pass>& passes, int threads, const float* from, float* between,
                float* to) {
  for (std::size_t i = 0; i < passes.size(); ++i) {
    float* next = i + 1 == passes.size() ? to : between;
    run_pass(passes[i], threads, from, next);
    between += passes[i].results();
    from = next;
  }
}

bool lower_reduction(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto what = reduction_of(node);
  if (!what || !lowering.is_float(node.inputs[0])) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto axes = axes_of(lowering, node, dims.size());
  if (!axes || checked_product(dims).value_or(0) == 0) return false;
  auto passes = passes_of(what->op, dims, *axes);
  if (passes.empty()) passes.push_back({what->op});  // of a single number
  const bool needs_rows = what->op == ReduceOp::SumSquare || what->op == ReduceOp::SumAbs;
  if (passes.front().inner != 1 && needs_rows) return false;
  const Placement source = lowering.row_major(node.inputs[0]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  std::int64_t floats = 1;
  for (const Pass& pass : passes) floats += pass.results();
  const Placement between =
      row_major_placement(lowering.new_buffer(floats * static_cast<std::int64_t>(sizeof(float))),
                          DataType::Float32, {floats});
  constexpr std::int64_t kElementsWorthSharing = 16384;
  const int threads = source.elements() >= kElementsWorthSharing ? lowering.threads() : 1;
  lowering.add_step({.nodes = {id},
                     .algorithm = "reduce",
                     .executed_flops = source.elements(),
                     .reads = {source},
                     .writes = {result},
                     .workspace = {between.buffer}},
                    [=, is_mean = what->is_mean](const Addresses& at) -> Runner {
                      const float* from = at.floats(source);
                      float* workspace = at.floats(between);
                      float* to = at.floats(result);
                      const auto results = static_cast<std::size_t>(result.elements());
                      const std::int64_t each = source.elements() / result.elements();
                      const auto share = static_cast<float>(each);
                      return [=] {
                        run_passes(passes, threads, from, workspace, to);
                        if (is_mean) simd().binary_number(BinaryOp::Div, to, share, to, results);
                      };
                    });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

}  // namespace

void add_reduction_lowering(LowerTable& table) {
  for (const char* op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1"}) {
    table[op] = lower_reduction;
  }
}

}  // namespace assay::cpu
