#include "execute/cpu/lower/own_product.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/checked.h"
#include "execute/cpu/lower/fused_ops.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// What is done to a row of results, in this order: an activation, or the addition of the residual.
struct RowOp {
  bool adds_residual = false;
  UnaryOp unary = UnaryOp::Copy;
  float alpha = 0;
  float beta = 0;
};

std::optional<RowOp> row_op_of(const PostOp& op) {
  if (op.kind == PostOp::Kind::Sum || op.kind == PostOp::Kind::BinaryAdd)
    return RowOp{.adds_residual = true};
  if (op.kind != PostOp::Kind::Eltwise) return {};
  const auto unary = [&](UnaryOp what) { return RowOp{false, what, op.alpha, op.beta}; };
  switch (op.algorithm) {
    case Algorithm::eltwise_relu:
      return unary(op.alpha == 0 ? UnaryOp::Relu : UnaryOp::LeakyRelu);
    case Algorithm::eltwise_clip:
      return unary(UnaryOp::Clip);
    case Algorithm::eltwise_logistic:
      return unary(UnaryOp::Sigmoid);
    case Algorithm::eltwise_tanh:
      return unary(UnaryOp::Tanh);
    case Algorithm::eltwise_hardswish:
      return unary(UnaryOp::HardSwish);
    case Algorithm::eltwise_elu:
      return unary(UnaryOp::Elu);
    case Algorithm::eltwise_gelu_tanh:
      return unary(UnaryOp::GeluTanh);
    case Algorithm::eltwise_gelu_erf:
      return unary(UnaryOp::GeluErf);
    default:
      return {};
  }
}

std::optional<std::vector<RowOp>> row_ops_of(const FusedOps& fused) {
  std::vector<RowOp> ops;
  for (const PostOp& op : fused.post_ops) {
    const auto found = row_op_of(op);
    if (!found) return {};
    ops.push_back(*found);
  }
  return ops;
}

struct BiasBehind {
  NodeId add;
  ValueId bias;
};

// The Add that alone reads the result and adds a constant vector to every row.
std::optional<BiasBehind> bias_behind(const Lowering& lowering, ValueId result, std::int64_t n) {
  const NodeId reader = lowering.only_reader(result);
  if (!reader.is_valid() || lowering.is_covered(reader) || !lowering.node(reader).is("Add"))
    return {};
  const Node& add = lowering.node(reader);
  const ValueId other = add.inputs[add.inputs[0] == result ? 1 : 0];
  if (lowering.constant(other) == nullptr || !lowering.is_float(other)) return {};
  const Dims dims = lowering.dims(other);
  const bool is_vector =
      !dims.empty() && dims.back() == n && checked_product(dims).value_or(0) == n;
  if (!is_vector || lowering.dims(add.outputs[0]) != lowering.dims(result)) return {};
  return BiasBehind{reader, other};
}

// Addresses of one bound step, and the numbers that its runs need.
struct BoundProduct {
  OwnProduct product;
  std::vector<RowOp> ops;
  int threads = 1;
  const float* source = nullptr;
  const std::byte* weights = nullptr;
  const float* bias = nullptr;
  const float* residual = nullptr;
  float* result = nullptr;
  float* padded = nullptr;      // the rows with zeros behind them; null: read where they are
  float* block_sums = nullptr;  // null: not wanted
  float* by_thread = nullptr;

  std::int64_t floats_at_once() const { return product.units_at_once * product.unit; }
  std::int64_t floats_of_thread() const {
    return product.m * floats_at_once() + product.scratch_floats;
  }

  ProductRows rows() const {
    const std::int64_t stride = padded != nullptr ? product.depth : product.k;
    const float* first = padded != nullptr ? padded : source;
    for (std::int64_t row = 0; padded != nullptr && row < product.m; ++row) {
      float* to = std::copy_n(source + row * product.k, product.k, padded + row * stride);
      std::fill_n(to, stride - product.k, 0.0f);
    }
    if (block_sums != nullptr) sum_blocks(first, stride);
    return {first, product.m, stride, block_sums};
  }

  void sum_blocks(const float* first, std::int64_t stride) const {
    const std::int64_t blocks = product.depth / product.block;
    for (std::int64_t row = 0; row < product.m; ++row) {
      for (std::int64_t b = 0; b < blocks; ++b)
        block_sums[row * blocks + b] =
            simd().reduce(ReduceOp::Sum, first + row * stride + b * product.block,
                          static_cast<std::size_t>(product.block));
    }
  }

  // What is done last writes the result.
  void finish_row(std::int64_t row, std::int64_t column, std::int64_t count, float* values) const {
    const auto width = static_cast<std::size_t>(count);
    float* to = result + row * product.n + column;
    std::size_t left = ops.size() + (bias != nullptr ? 1 : 0);
    const auto target = [&] { return --left == 0 ? to : values; };
    if (left == 0) std::memcpy(to, values, width * sizeof(float));
    if (bias != nullptr) simd().binary(BinaryOp::Add, values, bias + column, target(), width);
    for (const RowOp& op : ops) {
      if (op.adds_residual)
        simd().binary(BinaryOp::Add, values, residual + (to - result), target(), width);
      else
        simd().unary(op.unary, op.alpha, op.beta, values, target(), width);
    }
  }

  void run_units(const ProductRows& rows, std::int64_t first, std::int64_t last,
                 float* workspace) const {
    const std::int64_t stride = floats_at_once();
    const ProductTarget target{workspace, stride, workspace + product.m * stride};
    for (std::int64_t unit = first; unit < last; unit += product.units_at_once) {
      const std::int64_t end = std::min(last, unit + product.units_at_once);
      product.multiply(weights, rows, unit, end, target);
      const std::int64_t column = unit * product.unit;
      const std::int64_t count = std::min(product.n, end * product.unit) - column;
      for (std::int64_t row = 0; row < product.m; ++row)
        finish_row(row, column, count, workspace + row * stride);
    }
  }

  void run() const {
    const ProductRows all = rows();
    const std::int64_t units = product.units();
    execute::in_parallel(threads, threads, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread)
        run_units(all, units * thread / threads, units * (thread + 1) / threads,
                  by_thread + thread * floats_of_thread());
    });
  }
};

void take_bias_behind(Lowering& lowering, OwnProduct& product, ValueId& value,
                      std::vector<NodeId>& nodes) {
  if (product.bias) return;
  const auto found = bias_behind(lowering, value, product.n);
  if (!found) return;
  product.bias = found->bias;
  value = lowering.node(found->add).outputs[0];
  lowering.cover(found->add);
  nodes.push_back(found->add);
}

// Less than this much arithmetic is done before a second thread has started.
constexpr std::int64_t kMacsWorthSharing = 1 << 16;

}  // namespace

void add_own_product(Lowering& lowering, OwnProduct product) {
  ValueId value = lowering.node(product.id).outputs[0];
  StepDraft draft{.nodes = {product.id}, .algorithm = product.algorithm};
  take_bias_behind(lowering, product, value, draft.nodes);
  FusedOps fused = find_fused_ops(lowering, product.id, value, Additions::Taken);
  auto ops = row_ops_of(fused);
  if (!ops) {
    fused = no_fused_ops(value);
    ops.emplace();
  }
  for (const NodeId node : fused.nodes) lowering.cover(node);
  draft.nodes.insert(draft.nodes.end(), fused.nodes.begin(), fused.nodes.end());

  const Placement source = lowering.row_major(product.source);
  std::optional<Placement> bias, residual;
  draft.reads = {source, product.weights};
  if (product.bias) draft.reads.push_back(*(bias = lowering.row_major(*product.bias)));
  if (fused.addend) draft.reads.push_back(*(residual = lowering.row_major(*fused.addend)));
  const Placement result = fused.in_place ? *residual : lowering.new_row_major(fused.result);
  draft.writes = {result};
  const std::int64_t macs =
      saturating_multiply(product.m, saturating_multiply(product.k, product.n));
  draft.executed_flops = saturating_add(saturating_multiply(2, macs), fused.flops);

  BoundProduct bound{.product = std::move(product), .ops = std::move(*ops)};
  const OwnProduct& what = bound.product;
  if (macs >= kMacsWorthSharing)
    bound.threads = static_cast<int>(std::min<std::int64_t>(lowering.threads(), what.units()));
  const bool is_padded = what.depth > what.k;
  const BufferId padded = add_workspace(lowering, is_padded ? what.m * what.depth : 0, draft);
  const BufferId sums =
      add_workspace(lowering, what.block > 0 ? what.m * (what.depth / what.block) : 0, draft);
  const BufferId by_thread =
      add_workspace(lowering, bound.threads * bound.floats_of_thread(), draft);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const auto step = std::make_shared<BoundProduct>(bound);
    step->source = at.floats(source);
    step->weights = at.bytes(step->product.weights);
    if (bias) step->bias = at.floats(*bias);
    if (residual) step->residual = at.floats(*residual);
    step->result = at.floats(result);
    step->padded = reinterpret_cast<float*>(at.start(padded));
    step->block_sums = reinterpret_cast<float*>(at.start(sums));
    step->by_thread = reinterpret_cast<float*>(at.start(by_thread));
    return [step] { step->run(); };
  });
  lowering.set_placement(fused.result, result);
}

}  // namespace assay::cpu
