// Gradients row by row: of Softmax and LayerNormalization; and of GELU, element by element.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

bool are_float(const Lowering& lowering, const Node& node) {
  return std::ranges::all_of(node.inputs, [&](ValueId id) { return lowering.is_float(id); }) &&
         checked_product(lowering.dims(node.inputs[0])).value_or(0) > 0;
}

// `one(first operand, second operand, result, width)` for every row of both.
template <typename One>
bool add_rows_of_two(Lowering& lowering, NodeId id, const Rows& rows, std::int64_t flops,
                     const char* algorithm, One one) {
  const Node& node = lowering.node(id);
  const Placement first = lowering.row_major(node.inputs[0]);
  const Placement second = lowering.row_major(node.inputs[1]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  const int threads = threads_for(lowering, rows);
  lowering.add_step(
      {.nodes = {id},
       .algorithm = algorithm,
       .executed_flops = saturating_multiply(result.elements(), flops),
       .reads = {first, second},
       .writes = {result}},
      [=](const Addresses& at) -> Runner {
        const float* a = at.floats(first);
        const float* b = at.floats(second);
        float* to = at.floats(result);
        return [=] {
          execute::in_parallel(threads, rows.count, [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
              const std::int64_t at_row = row * rows.width;
              one(a + at_row, b + at_row, to + at_row, static_cast<std::size_t>(rows.width));
            }
          });
        };
      });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

bool lower_softmax_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!are_float(lowering, node)) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto axis = axis_of(node.int_or("axis", -1), dims.size());
  if (!axis || *axis + 1 != dims.size()) return false;
  return add_rows_of_two(lowering, id, rows_from(dims, *axis), 4, "row by row",
                         [](const float* results, const float* gradients, float* to,
                            std::size_t n) { simd().softmax_gradient(results, gradients, to, n); });
}

// Pieces that a thread takes one after the other.
constexpr std::int64_t kPiece = 4096;

bool lower_gelu_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!are_float(lowering, node)) return false;
  const std::int64_t elements = checked_product(lowering.dims(node.inputs[0])).value_or(0);
  const bool by_tanh = node.string_or("approximate", "none") == "tanh";
  const std::int64_t width = elements % kPiece == 0 ? kPiece : elements;
  return add_rows_of_two(
      lowering, id, {elements / width, width}, 20, "element-wise",
      [by_tanh](const float* in, const float* gradients, float* to, std::size_t n) {
        simd().gelu_gradient(by_tanh, in, gradients, to, n);
      });
}

// Each thread adds up its own rows' share in scale and bias; the shares are added in order, so that
// equal runs give equal sums.
Binder layer_norm_binder(const Rows& rows, int threads, float epsilon,
                         const std::vector<Placement>& reads, const std::vector<Placement>& writes,
                         const Placement& sums) {
  return [=](const Addresses& at) -> Runner {
    const float* from = at.floats(reads[0]);
    const float* gamma = at.floats(reads[1]);
    const float* gradients = at.floats(reads[2]);
    float* to = at.floats(writes[0]);
    float* of_scale = at.floats(writes[1]);
    float* of_bias = at.floats(writes[2]);
    float* own_sums = at.floats(sums);
    const auto width = static_cast<std::size_t>(rows.width);
    return [=] {
      std::fill_n(own_sums, 2 * width * static_cast<std::size_t>(threads), 0.0f);
      execute::for_each_in_parallel(
          threads, static_cast<std::size_t>(threads), [&](std::size_t part) {
            float* scale_sums = own_sums + 2 * width * part;
            const LayerNormGradient norm{gamma, epsilon, scale_sums, scale_sums + width};
            const auto share = [&](std::size_t i) {
              return rows.count * static_cast<std::int64_t>(i) / threads;
            };
            for (std::int64_t row = share(part); row < share(part + 1); ++row) {
              const std::int64_t begin = row * rows.width;
              simd().layer_norm_gradient(norm, from + begin, gradients + begin, to + begin, width);
            }
          });
      simd().unary(UnaryOp::Copy, 0, 0, own_sums, of_scale, width);
      simd().unary(UnaryOp::Copy, 0, 0, own_sums + width, of_bias, width);
      for (int part = 1; part < threads; ++part) {
        const float* more = own_sums + 2 * width * static_cast<std::size_t>(part);
        simd().binary(BinaryOp::Add, of_scale, more, of_scale, width);
        simd().binary(BinaryOp::Add, of_bias, more + width, of_bias, width);
      }
    };
  };
}

bool lower_layer_norm_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!are_float(lowering, node) || node.outputs.size() != 3) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto axis = axis_of(node.int_or("axis", -1), dims.size());
  if (!axis) return false;
  const Rows rows = rows_from(dims, *axis);
  if (checked_product(lowering.dims(node.inputs[1])).value_or(0) != rows.width) return false;
  std::vector<Placement> reads;
  for (const ValueId input : node.inputs) reads.push_back(lowering.row_major(input));
  std::vector<Placement> writes;
  for (const ValueId output : node.outputs) writes.push_back(lowering.new_row_major(output));
  const int threads = threads_for(lowering, rows);
  const std::int64_t floats = 2 * rows.width * threads;
  const Placement sums =
      row_major_placement(lowering.new_buffer(floats * static_cast<std::int64_t>(sizeof(float))),
                          DataType::Float32, {floats});
  lowering.add_step(
      {.nodes = {id},
       .algorithm = "row by row",
       .executed_flops = saturating_multiply(reads[0].elements(), 14),
       .reads = reads,
       .writes = writes,
       .workspace = {sums.buffer}},
      layer_norm_binder(rows, threads, node.float_or("epsilon", 1e-5f), reads, writes, sums));
  for (std::size_t i = 0; i < 3; ++i) lowering.set_placement(node.outputs[i], writes[i]);
  return true;
}

}  // namespace

void add_row_gradient_lowering(LowerTable& table) {
  table["assay.SoftmaxGradient"] = lower_softmax_gradient;
  table["assay.LayerNormalizationGradient"] = lower_layer_norm_gradient;
  table["assay.GeluGradient"] = lower_gelu_gradient;
}

}  // namespace assay::cpu
