// Resize and Upsample: which elements a result is made of is known beforehand, axis by axis, and
// stored as tables that a thread for each result reads.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "kernels/resize_plan.h"

namespace assay::cuda {

using kernels::ResizePlan;
using kernels::Taps;

namespace {

// The taps of an axis as two tables of the same width, rows filled up by taps of weight 0.
struct TapTables {
  std::int64_t width = 1;
  Placement places;
  Placement weights;
  std::string place(Operands& operands, std::size_t axis, const std::string& tap) const {
    return operands.element(places, std::vector<std::string>{fmt::format("i{}", axis), tap});
  }
  std::string weight(Operands& operands, std::size_t axis, const std::string& tap) const {
    return operands.element(weights, std::vector<std::string>{fmt::format("i{}", axis), tap});
  }
};

TapTables tables_of(Lowering& lowering, const std::vector<Taps>& taps) {
  TapTables tables{.places = {}, .weights = {}};
  for (const Taps& some : taps)
    tables.width = std::max(tables.width, static_cast<std::int64_t>(some.size()));
  std::vector<std::int64_t> places;
  std::vector<float> weights;
  for (const Taps& some : taps) {
    for (std::int64_t i = 0; i < tables.width; ++i) {
      const bool is_there = i < static_cast<std::int64_t>(some.size());
      const auto at = static_cast<std::size_t>(i);
      places.push_back(is_there ? some[at].index : 0);
      weights.push_back(is_there ? static_cast<float>(some[at].weight) : 0.0f);
    }
  }
  const Dims dims = {static_cast<std::int64_t>(taps.size()), tables.width};
  tables.places = lowering.weight(Tensor::of_int64(dims, places));
  tables.weights = lowering.weight(Tensor::of_float(dims, weights));
  return tables;
}

// What Resize reads beside the image; nothing if not all of it is known.
std::optional<std::vector<Tensor>> settings_of(const Lowering& lowering, const Node& node) {
  std::vector<Tensor> settings(node.inputs.size());
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (!node.has_input(i)) continue;
    const Tensor* known = lowering.constant(node.inputs[i]);
    if (known == nullptr) return {};
    settings[i] = *known;
  }
  return settings;
}

bool lower_resize(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto settings = settings_of(lowering, node);
  const Dims dims = lowering.dims(node.inputs[0]);
  if (!settings || checked_product(dims).value_or(0) == 0) return false;
  const kernels::KernelCall call{node, *settings, lowering.graph().opset()};
  const ResizePlan plan = kernels::resize_plan(call, dims);
  const DataType type = lowering.type(node.inputs[0]);
  const bool picks = plan.interpolation == kernels::Interpolation::Nearest && !plan.has_outside();
  const bool is_empty = checked_product(plan.dims).value_or(0) == 0;
  if (is_empty || plan.has_outside() || (!picks && !is_floating(type))) return false;
  const Placement image = lowering.native(node.inputs[0]);
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(image));
  Operands operands(lowering);
  operands.pointer(image);
  std::vector<std::string> at = index_names(dims);
  std::string opened;
  std::string closed;
  std::string weight;
  std::int64_t taps = 1;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    if (kernels::is_identity(plan.taps[axis], dims[axis])) continue;
    const TapTables tables = tables_of(lowering, plan.taps[axis]);
    const std::string tap = picks ? std::string("0") : fmt::format("tap{}", axis);
    at[axis] = tables.place(operands, axis, tap);
    if (picks) continue;
    opened +=
        fmt::format("  for (int tap{0} = 0; tap{0} < {1}; ++tap{0}) {{\n", axis, tables.width);
    closed += "  }\n";
    weight += " * " + tables.weight(operands, axis, tap);
    taps *= tables.width;
  }
  const std::string element = operands.element(image, at);
  const std::string sum = picks ? std::string()
                                : fmt::format("  {} sum = 0;\n{}    sum += {}{};\n{}",
                                              computed_type(type), opened, element, weight, closed);
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), sum,
                   picks ? element : "sum", "own",
                   picks ? 0 : 2 * taps * epilogue.result.elements());
  return true;
}

}  // namespace

void add_resize_lowering(LowerTable& table) {
  table["Resize"] = lower_resize;
  table["Upsample"] = lower_resize;
}

}  // namespace assay::cuda
