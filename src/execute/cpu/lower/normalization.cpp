// Row by row: LayerNormalization, Softmax, LogSoftmax.
#include "base/checked.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Softmax or LogSoftmax.
struct SoftmaxRows {
  bool is_log = false;

  void operator()(const float* in, float* out, std::size_t n, std::size_t rows) const {
    const auto one_row = is_log ? simd().log_softmax : simd().softmax;
    for (std::size_t row = 0; row < rows; ++row) one_row(in + row * n, out + row * n, n);
  }
};

struct LayerNormRows {
  LayerNormArguments norm;

  void operator()(const float* in, float* out, std::size_t n, std::size_t rows) const {
    simd().layer_norm(norm, in, out, n, rows);
  }
};

// Rows one after the other, as they are stored.
struct RowSpan {
  ChainElements from, to;
  std::size_t width = 0;
  std::size_t count = 0;
};

// Memory of the thread.
float* row_workspace(std::size_t floats) {
  thread_local std::vector<float> memory;
  if (memory.size() < floats) memory.resize(floats);
  return memory.data();
}

// Rows of 16-bit numbers by a kernel that reads and writes them as they are stored; there is none
// of LogSoftmax.
bool has_kernel_of_halves(const SoftmaxRows& row) {
  return !row.is_log;
}
bool has_kernel_of_halves(const LayerNormRows&) {
  return true;
}

void run_in_halves(const SoftmaxRows&, const RowSpan& rows, std::uint16_t* to, float* workspace) {
  half_rows().softmax(*rows.from.half, rows.from.halves(), to, workspace, rows.width, rows.count);
}
void run_in_halves(const LayerNormRows& row, const RowSpan& rows, std::uint16_t* to,
                   float* workspace) {
  half_rows().layer_norm(row.norm, *rows.from.half, rows.from.halves(), to, workspace, rows.width,
                         rows.count);
}

// Whether all rows have been computed so.
template <typename RowKernel>
bool ran_in_halves(const RowKernel& row, const RowSpan& rows) {
  if (!rows.from.half || rows.from.half != rows.to.half || !has_kernel_of_halves(row)) return false;
  float* workspace = row_workspace(kHalfRowsAtOnce * rows.width);
  run_in_halves(row, rows, reinterpret_cast<std::uint16_t*>(rows.to.first), workspace);
  return true;
}

// A row of 16-bit numbers is widened first and rounded afterwards.
template <typename RowKernel>
void run_row(const RowKernel& kernel, const ChainElements& from, const ChainElements& to,
             std::size_t width) {
  float* widened = from.half || to.half ? row_workspace(width) : nullptr;
  const float* in = from.floats();
  if (from.half) {
    simd().widen(*from.half, from.halves(), widened, width);
    in = widened;
  }
  float* out = to.half ? widened : reinterpret_cast<float*>(to.first);
  kernel(in, out, width, 1);
  if (to.half) simd().narrow(*to.half, out, reinterpret_cast<std::uint16_t*>(to.first), width);
}

template <typename RowKernel>
void run_rows(const RowKernel& kernel, const RowSpan& rows) {
  if (ran_in_halves(kernel, rows)) return;
  if (!rows.from.half && !rows.to.half)
    return kernel(rows.from.floats(), reinterpret_cast<float*>(rows.to.first), rows.width,
                  rows.count);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto first = static_cast<std::int64_t>(row * rows.width);
    run_row(kernel, rows.from.from(first), rows.to.from(first), rows.width);
  }
}

template <typename RowFunction>
void add_row_step(Lowering& lowering, NodeId id, const Rows& rows, std::int64_t flops_per_element,
                  const std::vector<Placement>& more_reads, RowFunction function) {
  const Node& node = lowering.node(id);
  const Placement source = lowering.row_major_in_any_type(node.inputs[0]);
  const DataType type = lowering.type(node.outputs[0]);
  const bool in_place = lowering.may_overwrite(node.inputs[0], id) && source.offset == 0 &&
                        source.buffer == lowering.native(node.inputs[0]).buffer &&
                        source.type == type;
  Placement result = row_major_placement(source.buffer, type, source.dims);
  if (!in_place) result = lowering.new_row_major(node.outputs[0]);
  const std::int64_t elements = rows.count * rows.width;
  const int threads = threads_for(lowering, rows);
  StepDraft draft{.nodes = {id},
                  .algorithm = "row by row",
                  .precision = execute::precision_name(DataType::Float32),
                  .executed_flops = saturating_multiply(elements, flops_per_element),
                  .reads = {source},
                  .writes = {result}};
  draft.reads.insert(draft.reads.end(), more_reads.begin(), more_reads.end());
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const ChainElements from = elements_at(at, source);
    const ChainElements to = elements_at(at, result);
    const auto kernel = function(at);
    return [=] {
      execute::in_parallel(threads, rows.count, [&](std::int64_t first, std::int64_t last) {
        run_rows(kernel, {.from = from.from(first * rows.width),
                          .to = to.from(first * rows.width),
                          .width = static_cast<std::size_t>(rows.width),
                          .count = static_cast<std::size_t>(last - first)});
      });
    };
  });
  lowering.set_placement(node.outputs[0], result);
}

bool is_row_op(const Lowering& lowering, const Node& node) {
  return lowering.is_real(node.inputs[0]) && lowering.is_real(node.outputs[0]) &&
         checked_product(lowering.dims(node.inputs[0])).value_or(0) > 0;
}

bool lower_layer_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_row_op(lowering, node) || node.has_output(1) || node.has_output(2)) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto axis = axis_of(node.int_or("axis", -1), dims.size());
  if (!axis || !node.has_input(1) || !lowering.is_real(node.inputs[1])) return false;
  const Rows rows = rows_from(dims, *axis);
  const auto fits = [&](std::size_t input) {
    return lowering.is_real(node.inputs[input]) &&
           checked_product(lowering.dims(node.inputs[input])).value_or(0) == rows.width;
  };
  if (!fits(1) || (node.has_input(2) && !fits(2))) return false;
  constexpr DataType kFloat = DataType::Float32;
  std::vector<Placement> vectors = {lowering.row_major_as(node.inputs[1], kFloat)};
  if (node.has_input(2)) vectors.push_back(lowering.row_major_as(node.inputs[2], kFloat));
  const float epsilon = node.float_or("epsilon", 1e-5f);
  add_row_step(lowering, id, rows, 7, vectors, [=](const Addresses& at) {
    const LayerNormArguments norm{at.floats(vectors[0]),
                                  vectors.size() > 1 ? at.floats(vectors[1]) : nullptr, epsilon};
    return LayerNormRows{norm};
  });
  return true;
}

bool lower_softmax(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!is_row_op(lowering, node)) return false;
  const Dims dims = lowering.dims(node.inputs[0]);
  const bool flattens = lowering.graph().opset() < 13;
  const auto axis = axis_of(node.int_or("axis", flattens ? 1 : -1), dims.size());
  if (!axis || (!flattens && !is_innermost(dims, *axis))) return false;
  const bool is_log = node.op == "LogSoftmax";
  add_row_step(lowering, id, rows_from(dims, *axis), 4, {},
               [is_log](const Addresses&) { return SoftmaxRows{is_log}; });
  return true;
}

}  // namespace

void add_normalization_lowering(LowerTable& table) {
  table["LayerNormalization"] = lower_layer_norm;
  table["Softmax"] = lower_softmax;
  table["LogSoftmax"] = lower_softmax;
}

}  // namespace assay::cpu
