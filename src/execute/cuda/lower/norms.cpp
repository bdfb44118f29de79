// Norms of groups of channels, of neighbouring channels, and those without a mean.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/moments_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/row_kernel.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

using kernels::normalized_axes;
using kernels::normalized_axis;

namespace {

// The channels of a group follow each other: axis 1 becomes two.
Placement with_groups(const Placement& image, std::int64_t groups) {
  Placement seen = image;
  const std::int64_t channels = image.dims[1] / groups;
  seen.dims[1] = groups;
  seen.strides[1] = image.strides[1] * channels;
  seen.dims.insert(seen.dims.begin() + 2, channels);
  seen.strides.insert(seen.strides.begin() + 2, image.strides[1]);
  return seen;
}

// Coordinates of the image from those with groups.
std::vector<std::string> without_groups(const Placement& grouped) {
  std::vector<std::string> at = index_names(grouped.dims);
  at[1] = fmt::format("i1 * {} + i2", grouped.dims[2]);
  at.erase(at.begin() + 2);
  return at;
}

bool lower_group_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement image = lowering.native(node.inputs[0]);
  const std::int64_t groups = node.int_or("num_groups", 0);
  if (image.dims.size() < 2 || groups < 1 || image.dims[1] % groups != 0 ||
      !is_floating(image.type))
    return false;
  const Placement x = with_groups(image, groups);
  std::vector<std::size_t> reduced;
  for (std::size_t axis = 2; axis < x.dims.size(); ++axis) reduced.push_back(axis);
  const Rows rows = rows_over(x.dims, reduced);
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(image));
  Operands operands(lowering);
  constexpr std::int64_t kFirstOpsetOfChannels = 21;
  const bool is_per_channel = lowering.graph().opset() >= kFirstOpsetOfChannels;
  const auto parameter = [&](std::size_t input) {
    const std::vector<std::string> at = {is_per_channel ? fmt::format("i1 * {} + i2", x.dims[2])
                                                        : std::string("i1")};
    return operands.element(lowering.native(node.inputs[input]), at);
  };
  const std::string value = operands.element(x, index_names(x.dims));
  const std::string result =
      fmt::format("({} - mean) * scaled_by * {} + {}", value, parameter(1), parameter(2));
  const std::string body =
      moments_text(rows, computed_type(x.type), value, node.float_or("epsilon", 1e-5f)) +
      each_text(rows, epilogue.statements(result, without_groups(x)));
  add_row_step(lowering, id, rows, epilogue, operands.reads(), operands.parameters(), body,
               kNormFlops);
  return true;
}

// A row of zeros stays as it is.
bool lower_lp_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  const std::int64_t power = node.int_or("p", 2);
  if (!axis || !is_floating(x.type) || (power != 1 && power != 2)) return false;
  const Rows rows = rows_over(x.dims, {*axis});
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const auto at = index_names(x.dims);
  const std::string value = element_text(x, "in", at);
  const std::string body =
      fmt::format("  {} norm = 0;\n", computed_type(x.type)) +
      each_text(rows,
                fmt::format("    norm += {};\n", power == 1 ? fmt::format("fabs({})", value)
                                                            : fmt::format("{0} * {0}", value))) +
      "  norm = together<Plus, THREADS>(norm);\n" + (power == 2 ? "  norm = sqrt(norm);\n" : "") +
      each_text(rows,
                epilogue.statements(fmt::format("(norm == 0 ? {0} : {0} / norm)", value), at));
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, 3);
  return true;
}

bool lower_mean_variance_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axes = normalized_axes(node.ints_or("axes", {0, 2, 3}), x.dims.size());
  if (!axes || !is_floating(x.type)) return false;
  const Rows rows = rows_over(x.dims, *axes);
  if (!is_reasonable(rows)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const auto at = index_names(x.dims);
  const std::string value = element_text(x, "in", at);
  const std::string type = computed_type(x.type);
  const std::string body =
      moments_text(rows, type, value, 0) +
      each_text(rows, epilogue.statements(fmt::format("({} - mean) / (sqrt(variance) + {})", value,
                                                      number_text(1e-9, type)),
                                          at));
  add_row_step(lowering, id, rows, epilogue, {x}, parameter_text(x, "in"), body, kNormFlops);
  return true;
}

// The last axes, by the root of their mean square.
bool lower_simplified_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis || !is_floating(x.type)) return false;
  std::vector<std::size_t> reduced;
  for (std::size_t i = *axis; i < x.dims.size(); ++i) reduced.push_back(i);
  const Rows rows = rows_over(x.dims, reduced);
  if (!is_reasonable(rows)) return false;
  Epilogue epilogue = epilogue_of(lowering, id);
  Operands operands(lowering);
  const std::string type = computed_type(x.type);
  const auto at = index_names(x.dims);
  const std::string value = operands.element(x, at);
  std::string result = fmt::format("{} * scaled_by", value);
  if (node.has_input(1))
    result += " * " + operands.element(broadcast(lowering.native(node.inputs[1]), x.dims), at);
  std::string statistics;
  if (node.has_output(1) && lowering.is_read(node.outputs[1])) {
    const std::string name = epilogue.add_more(lowering, node.outputs[1]);
    statistics = fmt::format("  if (threadIdx.x == 0) {}[blockIdx.x] = {};\n", name,
                             stored(epilogue.more.back().type, "scaled_by"));
  }
  const std::string body =
      fmt::format("  {} square = 0;\n", type) +
      each_text(rows, fmt::format("    const {0} x = {1};\n    square += x * x;\n", type, value)) +
      fmt::format(
          "  const {0} scaled_by = ({0})1 / sqrt(together<Plus, THREADS>(square) / {1} + "
          "{2});\n",
          type, rows.width, number_text(node.float_or("epsilon", 1e-5f), type)) +
      statistics + each_text(rows, epilogue.statements(result, at));
  add_row_step(lowering, id, rows, epilogue, operands.reads(), operands.parameters(), body, 4);
  return true;
}

// By the squares of neighbouring channels.
bool lower_local_response_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const std::int64_t size = node.int_or("size", 0);
  if (x.dims.size() < 2 || size < 1 || !is_floating(x.type)) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const std::string type = computed_type(x.type);
  const std::int64_t before = (size - 1) / 2;
  auto at = index_names(x.dims);
  const std::string value = element_text(x, "in", at);
  at[1] = "c";
  const std::string body = fmt::format(
      R"(  {type} sum = 0;
  for (int c = i1 - {before}; c <= i1 + {behind}; ++c) {{
    if (c < 0 || c >= {channels}) continue;
    const {type} x = {neighbour};
    sum += x * x;
  }}
)",
      fmt::arg("type", type), fmt::arg("before", before), fmt::arg("behind", size - 1 - before),
      fmt::arg("channels", x.dims[1]), fmt::arg("neighbour", element_text(x, "in", at)));
  const std::string result = fmt::format(
      "{} / pow({} + {} * sum, {})", value, number_text(node.float_or("bias", 1), type),
      number_text(static_cast<double>(node.float_or("alpha", 1e-4f)) / static_cast<double>(size),
                  type),
      number_text(node.float_or("beta", 0.75f), type));
  add_indexed_step(lowering, id, epilogue, {x}, parameter_text(x, "in"), body, result, "own",
                   epilogue.result.elements() * size * 2);
  return true;
}

}  // namespace

void add_norm_lowering(LowerTable& table) {
  table["GroupNormalization"] = lower_group_norm;
  table["LpNormalization"] = lower_lp_norm;
  table["MeanVarianceNormalization"] = lower_mean_variance_norm;
  table["SimplifiedLayerNormalization"] = lower_simplified_norm;
  table["RMSNormalization"] = lower_simplified_norm;
  table["LRN"] = lower_local_response_norm;
}

}  // namespace assay::cuda
