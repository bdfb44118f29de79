// Gather and its gradient, which adds each row to where it was picked from.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/fail.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"
#include "kernels/lanes.h"

namespace assay::cpu {

using kernels::Lanes;
using kernels::lanes_along;
using kernels::product_or_zero;

namespace {

// One element of the axis, known ahead, is a view.
bool lower_constant_gather(Lowering& lowering, NodeId id, std::size_t axis) {
  const Node& node = lowering.node(id);
  const auto index = lowering.number(node.inputs[1]);
  if (!index) return false;
  Placement placement = lowering.strided(node.inputs[0]);
  const std::int64_t size = placement.dims[axis];
  std::int64_t position = static_cast<std::int64_t>(*index);
  if (position < 0) position += size;
  if (position < 0 || position >= size) return false;
  placement = sliced(placement, axis, position, 1, 1);
  const auto at = static_cast<std::ptrdiff_t>(axis);
  placement.dims.erase(placement.dims.begin() + at);
  placement.strides.erase(placement.strides.begin() + at);
  const std::size_t index_rank = lowering.dims(node.inputs[1]).size();
  placement.dims.insert(placement.dims.begin() + at, index_rank, 1);
  placement.strides.insert(placement.strides.begin() + at, index_rank, 1);
  lowering.set_placement(node.outputs[0], placement);
  return true;
}

template <typename T>
std::int64_t checked_index(const std::byte* indices, std::int64_t i, std::int64_t size) {
  T index = 0;
  std::memcpy(&index, indices + i * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  const std::int64_t wrapped = index < 0 ? index + size : index;
  if (wrapped < 0 || wrapped >= size) {
    fail_bad_input("Gather: index {} is out of range for an axis of {}", index, size);
  }
  return wrapped;
}

bool are_indices(const Lowering& lowering, ValueId id) {
  const Tensor* known = lowering.constant(id);
  const DataType type = known != nullptr ? known->type() : lowering.graph().value(id).type.element;
  return type == DataType::Int64 || type == DataType::Int32;
}

// Which row of the axis each index selects, found again in every run: threads may not fail, so that
// all are looked at before any starts.
class PickedRows {
 public:
  PickedRows(const Placement& indices, const std::byte* at, std::int64_t axis_length)
      : which_(at),
        axis_length_(axis_length),
        is_wide_(indices.type == DataType::Int64),
        rows_(std::make_shared<std::vector<std::int64_t>>(indices.elements())) {}

  const std::vector<std::int64_t>& read() const {
    std::int64_t i = 0;
    for (std::int64_t& row : *rows_) {
      row = is_wide_ ? checked_index<std::int64_t>(which_, i, axis_length_)
                     : checked_index<std::int32_t>(which_, i, axis_length_);
      ++i;
    }
    return *rows_;
  }

 private:
  const std::byte* which_ = nullptr;
  std::int64_t axis_length_ = 0;
  bool is_wide_ = true;
  std::shared_ptr<std::vector<std::int64_t>> rows_;
};

bool lower_gather(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims dims = lowering.dims(node.inputs[0]);
  const auto axis = axis_of(node.int_or("axis", 0), dims.size());
  const bool is_empty = checked_product(lowering.dims(node.outputs[0])).value_or(0) == 0;
  if (!axis || is_empty) return false;
  if (lower_constant_gather(lowering, id, *axis)) return true;
  if (!are_indices(lowering, node.inputs[1])) return false;
  const Placement source = lowering.row_major(node.inputs[0]);
  const Placement indices = lowering.row_major(node.inputs[1]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  const Lanes lanes = lanes_along(dims, *axis);
  const std::int64_t row = lanes.inner * bits(source.type) / 8;
  const std::int64_t count = indices.elements();
  const int threads = threads_for(lowering, {lanes.outer * count, lanes.inner});
  lowering.add_step(
      {.nodes = {id}, .algorithm = "copy", .reads = {indices}, .writes = {result}},
      [=](const Addresses& at) -> Runner {
        const std::byte* from = at.bytes(source);
        std::byte* to = at.bytes(result);
        const PickedRows picked(indices, at.bytes(indices), lanes.length);
        return [=] {
          const auto& rows = picked.read();
          execute::for_each_in_parallel(
              threads, static_cast<std::size_t>(lanes.outer * count), [&](std::size_t i) {
                const auto target = static_cast<std::int64_t>(i);
                const std::int64_t at_row = target / count * lanes.length + rows[i % rows.size()];
                std::memcpy(to + target * row, from + at_row * row, static_cast<std::size_t>(row));
              });
        };
      });
  lowering.steps().back().touched.push_back(source.buffer);
  lowering.set_placement(node.outputs[0], result);
  return true;
}

// Columns first..last of one table, into which rows are added in the order they were picked: the
// sums do not depend on who computes which columns.
void add_picked_rows(const std::vector<std::int64_t>& rows, const Lanes& lanes,
                     const float* gradients, float* table, std::int64_t first, std::int64_t last) {
  const auto width = static_cast<std::size_t>(last - first);
  for (std::int64_t row = 0; row < lanes.length; ++row)
    std::memset(table + row * lanes.inner + first, 0, width * sizeof(float));
  for (const std::int64_t row : rows) {
    float* to = table + row * lanes.inner + first;
    simd().binary(BinaryOp::Add, to, gradients + first, to, width);
    gradients += lanes.inner;
  }
}

// A cache line of floats: no two threads write to the same one.
constexpr std::int64_t kColumnsTogether = 16;

Binder gather_gradient_binder(const Lanes& lanes, int threads, const Placement& indices,
                              const Placement& gradient, const Placement& result) {
  return [=](const Addresses& at) -> Runner {
    const float* from = at.floats(gradient);
    float* to = at.floats(result);
    const PickedRows picked(indices, at.bytes(indices), lanes.length);
    const std::int64_t count = indices.elements();
    const std::int64_t stretches = (lanes.inner + kColumnsTogether - 1) / kColumnsTogether;
    return [=] {
      const auto& rows = picked.read();
      execute::for_each_stretch(threads, lanes.outer, stretches,
                                [&](std::int64_t outer, std::int64_t first, std::int64_t last) {
                                  add_picked_rows(rows, lanes, from + outer * count * lanes.inner,
                                                  to + outer * lanes.length * lanes.inner,
                                                  first * kColumnsTogether,
                                                  std::min(lanes.inner, last * kColumnsTogether));
                                });
    };
  };
}

bool lower_gather_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims dims = lowering.dims(node.outputs[0]);
  const auto axis = axis_of(node.int_or("axis", 0), dims.size());
  if (!axis || !lowering.is_float(node.inputs[1]) || !are_indices(lowering, node.inputs[0]))
    return false;
  const Lanes lanes = lanes_along(dims, *axis);
  const std::int64_t picked = product_or_zero(lowering.dims(node.inputs[0]));
  const bool fits =
      product_or_zero(lowering.dims(node.inputs[1])) == lanes.outer * picked * lanes.inner;
  if (!fits || picked == 0 || product_or_zero(dims) == 0) return false;
  const Placement indices = lowering.row_major(node.inputs[0]);
  const Placement gradient = lowering.row_major(node.inputs[1]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  const int threads = threads_for(lowering, {lanes.outer * (lanes.length + picked), lanes.inner});
  lowering.add_step({.nodes = {id},
                     .algorithm = "row by row",
                     .executed_flops = gradient.elements(),
                     .reads = {indices, gradient},
                     .writes = {result}},
                    gather_gradient_binder(lanes, threads, indices, gradient, result));
  lowering.set_placement(node.outputs[0], result);
  return true;
}

}  // namespace

void add_gather_lowering(LowerTable& table) {
  table["Gather"] = lower_gather;
  table["assay.GatherGradient"] = lower_gather_gradient;
}

}  // namespace assay::cpu
