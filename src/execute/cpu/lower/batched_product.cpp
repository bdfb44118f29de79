// Products of two activations: one small product for each matrix of the batch, read and written
// with strides, so that attention needs no transposed copies.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/kernels/row_products.h"
#include "execute/cpu/lower/tile_batch_step.h"
#include "execute/cpu/onednn/sgemm.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "execute/threads.h"
#include "kernels/shape_math.h"

namespace assay::cpu {

using kernels::broadcast_dims;
using kernels::row_major_strides;

namespace {

// A matrix in memory as a BLAS sees it: rows `stride` apart, or columns if transposed.
struct MatrixView {
  bool is_transposed = false;
  std::int64_t stride = 0;
};

std::optional<MatrixView> matrix_view(const Placement& placement) {
  const std::size_t rank = placement.dims.size();
  const std::int64_t rows = placement.dims[rank - 2];
  const std::int64_t columns = placement.dims[rank - 1];
  const std::int64_t row_stride = placement.strides[rank - 2];
  const std::int64_t column_stride = placement.strides[rank - 1];
  if (column_stride == 1 || columns == 1) {
    return MatrixView{false, rows == 1 ? columns : row_stride};
  }
  if (row_stride == 1 || rows == 1) return MatrixView{true, columns == 1 ? rows : column_stride};
  return {};
}

// With at least two axes: a vector on the left is a row, on the right a column.
Placement as_matrix(Placement placement, bool is_left) {
  if (placement.dims.size() > 1) return placement;
  const bool in_front = is_left;
  placement.dims.insert(in_front ? placement.dims.begin() : placement.dims.end(), 1);
  placement.strides.insert(in_front ? placement.strides.begin() : placement.strides.end(), 1);
  return placement;
}

Placement readable_matrix(Lowering& lowering, ValueId value, DataType type, bool is_left,
                          bool is_transposed) {
  Placement placement = as_matrix(lowering.strided_in_any_type(value), is_left);
  if (!matrix_view(placement) || placement.type != type)
    placement = as_matrix(lowering.row_major_as(value, type), is_left);
  if (is_transposed) {
    std::swap(placement.dims[placement.dims.size() - 1], placement.dims[placement.dims.size() - 2]);
    std::swap(placement.strides[placement.dims.size() - 1],
              placement.strides[placement.dims.size() - 2]);
  }
  return placement;
}

Dims batch_of(const Dims& dims) {
  return Dims(dims.begin(), dims.end() - 2);
}

// A Transpose that alone reads the result is written at once, its order as strides of the result.
struct ResultPlacement {
  Placement placement;  // with the product's own axes in order
  ValueId value;
  std::vector<NodeId> nodes;
};

// Its buffer is still open.
ResultPlacement result_placement(Lowering& lowering, NodeId id, std::size_t rank, DataType type) {
  const ValueId value = lowering.node(id).outputs[0];
  const NodeId reader = lowering.only_reader(value);
  if (reader.is_valid() && lowering.node(reader).is("Transpose") && !lowering.is_covered(reader) &&
      lowering.dims(value).size() == rank) {
    const auto order = lowering.node(reader).ints_or("perm", {});
    const bool keeps_rows_whole =
        order.size() == rank && order.back() == static_cast<std::int64_t>(rank) - 1;
    if (keeps_rows_whole) {
      const ValueId transposed = lowering.node(reader).outputs[0];
      const Placement whole = row_major_placement({}, type, lowering.dims(transposed));
      Placement seen = whole;
      for (std::size_t i = 0; i < rank; ++i) {
        const std::size_t axis = *axis_of(order[i], rank);  // inference checked the order
        seen.dims[axis] = whole.dims[i];
        seen.strides[axis] = whole.strides[i];
      }
      return {seen, transposed, {id, reader}};
    }
  }
  return {row_major_placement({}, type, lowering.dims(value)), value, {id}};
}

void settle(Lowering& lowering, ResultPlacement& result) {
  result.placement.buffer = lowering.new_buffer(result.placement.bytes());
  lowering.set_placement(result.value,
                         row_major_placement(result.placement.buffer, result.placement.type,
                                             lowering.dims(result.value)));
  if (result.nodes.size() > 1) lowering.cover(result.nodes.back());
}

struct Sizes {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  float alpha = 1;
};

// Rows of one product are shared out too, where the batch alone would leave threads idle.
constexpr std::int64_t kRowsWorthSharing = 64;

struct Task {
  std::int64_t matrix = 0;
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

std::vector<Task> tasks_for(std::size_t matrices, const Sizes& sizes, int threads) {
  const auto count = static_cast<std::int64_t>(matrices);
  std::int64_t parts = 1;
  if (count % threads != 0 || count < threads) {
    parts = std::clamp<std::int64_t>(sizes.m / kRowsWorthSharing, 1, threads);
  }
  std::vector<Task> tasks;
  for (std::int64_t matrix = 0; matrix < count; ++matrix) {
    for (std::int64_t part = 0; part < parts; ++part) {
      const std::int64_t first = sizes.m * part / parts;
      tasks.push_back({matrix, first, sizes.m * (part + 1) / parts - first});
    }
  }
  return tasks;
}

struct Operand {
  MatrixView view;
  std::vector<std::int64_t> offsets;

  std::int64_t offset(std::int64_t matrix, std::int64_t row) const {
    return offsets[static_cast<std::size_t>(matrix)] + row * (view.is_transposed ? 1 : view.stride);
  }
};

// Rows of a matrix of 16-bit numbers as floats without gaps; `lines` are columns if transposed.
void widen_lines(HalfFormat format, const std::uint16_t* from, std::int64_t stride,
                 std::int64_t lines, std::int64_t length, float* to) {
  for (std::int64_t line = 0; line < lines; ++line)
    simd().widen(format, from + line * stride, to + line * length,
                 static_cast<std::size_t>(length));
}

struct BatchedOperands {
  Operand a, b, c;
  Sizes sizes;

  bool takes_panels() const {
    return !is_sgemm_generated() && !a.view.is_transposed && are_worth_panels(sizes.m);
  }
  const char* algorithm() const { return takes_panels() ? "panels by matrix" : "gemm by matrix"; }
};

// Tasks, and what the threads that share them out need of memory.
struct SharedTasks {
  std::vector<Task> tasks;
  std::int64_t team = 1;
  std::int64_t floats = 0;  // of a thread

  // `run(task, workspace)`
  template <typename Run>
  void share_out(float* workspace, const Run& run) const {
    const auto run_as = [&](std::int64_t thread) {
      const std::int64_t last = std::ssize(tasks) * (thread + 1) / team;
      for (std::int64_t i = std::ssize(tasks) * thread / team; i < last; ++i)
        run(tasks[static_cast<std::size_t>(i)], workspace + thread * floats);
    };
    execute::in_parallel(static_cast<int>(team), team, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t thread = first; thread < last; ++thread) run_as(thread);
    });
  }
};

// `floats_of(task)` is what a task needs.
template <typename FloatsOf>
SharedTasks shared_tasks(const BatchedOperands& what, int threads, const FloatsOf& floats_of) {
  SharedTasks shared{.tasks = tasks_for(what.c.offsets.size(), what.sizes, threads)};
  shared.team = std::min<std::int64_t>(threads, std::ssize(shared.tasks));
  for (const Task& task : shared.tasks) shared.floats = std::max(shared.floats, floats_of(task));
  return shared;
}

std::int64_t floats_of_product(const BatchedOperands& what, const Task& task) {
  return what.takes_panels() ? panel_gemm_floats(task.rows) : 0;
}

void multiply_matrices(const BatchedOperands& what, const Task& task, const MatrixOperand& a,
                       const MatrixOperand& b, float* result, std::int64_t stride,
                       float* workspace) {
  const MatrixSizes sizes{task.rows, what.sizes.n, what.sizes.k};
  if (what.takes_panels())
    return panel_gemm(sizes, a, b, what.sizes.alpha, result, stride, workspace);
  sgemm(sizes, a, b, result, stride, what.sizes.alpha);
}

std::int64_t floats_of_halves(const BatchedOperands& what, const Task& task) {
  const Sizes& sizes = what.sizes;
  return task.rows * sizes.k + sizes.k * sizes.n + task.rows * sizes.n;
}

// 16-bit numbers become floats in a workspace, and sums are rounded from there.
void run_half_task(const BatchedOperands& what, const Task& task, HalfFormat format,
                   const std::uint16_t* from_a, const std::uint16_t* from_b, std::uint16_t* to,
                   float* workspace) {
  const auto& [a, b, c, sizes] = what;
  float* wide_a = workspace;
  float* wide_b = wide_a + task.rows * sizes.k;
  float* sums = wide_b + sizes.k * sizes.n;
  const auto widen = [&](const Operand& one, const std::uint16_t* from, std::int64_t rows,
                         std::int64_t columns, float* wide) {
    const bool by_columns = one.view.is_transposed;
    widen_lines(format, from, one.view.stride, by_columns ? columns : rows,
                by_columns ? rows : columns, wide);
    return MatrixOperand{wide, by_columns ? rows : columns, by_columns};
  };
  const auto left =
      widen(a, from_a + a.offset(task.matrix, task.first_row), task.rows, sizes.k, wide_a);
  const auto right = widen(b, from_b + b.offset(task.matrix, 0), sizes.k, sizes.n, wide_b);
  multiply_matrices(what, task, left, right, sums, sizes.n,
                    workspace + floats_of_halves(what, task));
  std::uint16_t* results = to + c.offset(task.matrix, task.first_row);
  for (std::int64_t row = 0; row < task.rows; ++row)
    simd().narrow(format, sums + row * sizes.n, results + row * c.view.stride,
                  static_cast<std::size_t>(sizes.n));
}

void add_half_step(Lowering& lowering, StepDraft draft, const BatchedOperands& what,
                   const Placement& left, const Placement& right, const Placement& result) {
  draft.precision = execute::precision_name(DataType::Float32);
  const HalfFormat format = *half_format(result.type);
  const SharedTasks shared = shared_tasks(what, lowering.threads(), [&](const Task& task) {
    return floats_of_halves(what, task) + floats_of_product(what, task);
  });
  const BufferId workspace = add_workspace(lowering, shared.team * shared.floats, draft);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const auto* from_a = reinterpret_cast<const std::uint16_t*>(at.bytes(left));
    const auto* from_b = reinterpret_cast<const std::uint16_t*>(at.bytes(right));
    auto* to = reinterpret_cast<std::uint16_t*>(at.bytes(result));
    auto* wide = reinterpret_cast<float*>(at.start(workspace));
    return [=] {
      shared.share_out(wide, [&](const Task& task, float* own) {
        run_half_task(what, task, format, from_a, from_b, to, own);
      });
    };
  });
}

void add_batched_step(Lowering& lowering, StepDraft draft, const Sizes& sizes,
                      const Placement& left, const Placement& right, const Placement& result,
                      const Dims& batch) {
  const BatchedOperands what{{*matrix_view(left), batch_offsets(left, batch)},
                             {*matrix_view(right), batch_offsets(right, batch)},
                             {*matrix_view(result), batch_offsets(result, batch)},
                             sizes};
  draft.algorithm = what.algorithm();
  if (half_format(result.type)) return add_half_step(lowering, draft, what, left, right, result);
  const SharedTasks shared = shared_tasks(
      what, lowering.threads(), [&](const Task& task) { return floats_of_product(what, task); });
  const BufferId workspace = add_workspace(lowering, shared.team * shared.floats, draft);
  lowering.add_step(draft, [=](const Addresses& at) -> Runner {
    const float* from_a = at.floats(left);
    const float* from_b = at.floats(right);
    float* to = at.floats(result);
    auto* own = reinterpret_cast<float*>(at.start(workspace));
    return [=] {
      shared.share_out(own, [&](const Task& task, float* panel) {
        const auto& [a, b, c, _] = what;
        multiply_matrices(
            what, task,
            {from_a + a.offset(task.matrix, task.first_row), a.view.stride, a.view.is_transposed},
            {from_b + b.offset(task.matrix, 0), b.view.stride, b.view.is_transposed},
            to + c.offset(task.matrix, task.first_row), c.view.stride, panel);
      });
    };
  });
}

}  // namespace

namespace {

// The whole batch by one primitive, for operands of 16 bits.
std::optional<Choice> primitive_for(const Placement& left, const Placement& right,
                                    const Placement& result, float alpha) {
  const std::size_t rank = result.dims.size();
  const auto aligned = [&](Placement placement) {
    const std::size_t lead = rank - placement.dims.size();
    placement.dims.insert(placement.dims.begin(), lead, 1);
    placement.strides.insert(placement.strides.begin(), lead, placement.elements());
    return desc_of(placement);
  };
  Product what{.source = aligned(left),
               .weights = aligned(right),
               .bias = {},
               .result = desc_of(result),
               .post_ops = {}};
  if (alpha != 1.0f) what.requantization = Requantization{.scales = {alpha}};
  for (Choice& choice : matrix_products(what, 3)) {
    if (!choice.implementation.starts_with("ref")) return std::move(choice);
  }
  return {};
}

void add_primitive_step(Lowering& lowering, const Choice& choice, StepDraft draft,
                        const Placement& left, const Placement& right, const Placement& result) {
  std::vector<Argument> arguments = {{argument::kSource, choice.source, left},
                                     {argument::kWeights, choice.weights, right},
                                     {argument::kResult, choice.result, result}};
  draft.algorithm = choice.implementation;
  add_scratchpad(lowering, choice.scratchpad, draft, arguments);
  lowering.add_step(draft, primitive_binder(choice.primitive, std::move(arguments)));
}

// By tile instructions; false: not in this form.
bool add_bf16_tile_step(Lowering& lowering, const StepDraft& draft, const Sizes& sizes,
                        const Placement& left, const Placement& right, const Placement& result,
                        const Dims& batch) {
  const TileBatchLayer layer{.type = TileType::BF16,
                             .m = sizes.m,
                             .k = sizes.k,
                             .n = sizes.n,
                             .scale = sizes.alpha,
                             .epilogue = {.result = TileNumber::BF16}};
  const BatchedMatrix a = batched_matrix(left, batch);
  const BatchedMatrix c = batched_matrix(result, batch);
  if (!fits_tiles(layer, a, c)) return false;
  add_tile_batch_step(lowering, draft, layer, a, batched_matrix(right, batch), c);
  return true;
}

// In this type; false: not in this form.
bool lower_batched_as(Lowering& lowering, NodeId id, DataType type) {
  const Node& node = lowering.node(id);
  const auto elements = checked_product(lowering.dims(node.outputs[0])).value_or(0);
  const Placement left =
      readable_matrix(lowering, node.inputs[0], type, true, node.int_or("transA", 0) != 0);
  const Placement right =
      readable_matrix(lowering, node.inputs[1], type, false, node.int_or("transB", 0) != 0);
  const auto batch = broadcast_dims(batch_of(left.dims), batch_of(right.dims));
  Sizes sizes{.m = left.dims[left.dims.size() - 2],
              .n = right.dims.back(),
              .k = left.dims.back(),
              .alpha = node.float_or("alpha", 1.0f)};
  if (!batch || sizes.k == 0 || right.dims[right.dims.size() - 2] != sizes.k) return false;
  ResultPlacement result = result_placement(lowering, id, batch->size() + 2, type);
  Placement written = result.placement;
  if (written.dims.size() != batch->size() + 2) {
    written.dims = *batch;
    written.dims.insert(written.dims.end(), {sizes.m, sizes.n});
    written.strides = row_major_strides(written.dims);
  }
  std::optional<Choice> choice;
  if (type == DataType::BFloat16) {
    choice = primitive_for(left, right, written, sizes.alpha);
    if (!choice) return false;
  }
  settle(lowering, result);
  written.buffer = result.placement.buffer;
  const std::int64_t macs = saturating_multiply(elements, sizes.k);
  const StepDraft draft{.nodes = result.nodes,
                        .algorithm = "",
                        .precision = execute::precision_name(type),
                        .executed_flops = saturating_multiply(2, macs),
                        .reads = {left, right},
                        .writes = {result.placement}};
  if (type == DataType::BFloat16 &&
      add_bf16_tile_step(lowering, draft, sizes, left, right, written, *batch))
    return true;
  if (choice) {
    add_primitive_step(lowering, *choice, draft, left, right, written);
  } else {
    add_batched_step(lowering, draft, sizes, left, right, written, *batch);
  }
  return true;
}

}  // namespace

bool lower_batched_product(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.op == "Gemm" && node.has_input(2)) return false;
  if (!lowering.is_real(node.inputs[0]) || !lowering.is_real(node.inputs[1])) return false;
  if (node.int_or("transBatchA", 0) != 0 || node.int_or("transBatchB", 0) != 0) return false;
  const auto elements = checked_product(lowering.dims(node.outputs[0])).value_or(0);
  if (elements == 0 || lowering.dims(node.inputs[0]).empty() ||
      lowering.dims(node.inputs[1]).empty())
    return false;
  const DataType type = lowering.type(node.outputs[0]);
  // Operands that were left in float32 are not rounded only to be widened again.
  const bool is_left_in_floats =
      type == DataType::Float16 &&
      std::ranges::any_of(std::span(node.inputs).first(2), [&](ValueId input) {
        return lowering.native(input).type == DataType::Float32;
      });
  if (half_format(type) && !is_left_in_floats && lower_batched_as(lowering, id, type)) return true;
  return lower_batched_as(lowering, id, DataType::Float32);
}

}  // namespace assay::cpu
