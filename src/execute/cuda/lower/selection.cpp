// Elements chosen by where or what they are, by indices, or made from their position.
#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/operands.h"
#include "execute/cuda/walk.h"
#include "kernels/shape_math.h"

namespace assay::cuda {

using kernels::normalized_axis;

namespace {

bool lower_triangle(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const std::size_t rank = x.dims.size();
  if (rank < 2 || x.elements() == 0) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  Operands operands(lowering);
  const std::string diagonal = node.has_input(1) ? operands.whole(node.inputs[1]) : "0ll";
  const std::string sum =
      fmt::format("((long long)i{} - i{} {} {} ? {} : ({})0)", rank - 1, rank - 2,
                  node.int_or("upper", 1) != 0 ? ">=" : "<=", diagonal,
                  operands.element(x, index_names(x.dims)), computed_type(x.type));
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), "", sum, "own");
  return true;
}

bool lower_eye(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::string type = computed_type(lowering.type(node.outputs[0]));
  const std::string sum = fmt::format("({})(i1 - i0 == {} ? 1 : 0)", type, node.int_or("k", 0));
  add_indexed_step(lowering, id, epilogue, {}, "", "", sum, "own");
  return true;
}

bool lower_one_hot(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement indices = lowering.native(node.inputs[0]);
  const Placement values = lowering.native(node.inputs[2]);
  const auto axis = normalized_axis(node.int_or("axis", -1), indices.dims.size() + 1);
  if (!axis || values.elements() != 2) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  const std::int64_t depth = lowering.dims(node.outputs[0])[*axis];
  Operands operands(lowering);
  auto at = index_names(lowering.dims(node.outputs[0]));
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(*axis));
  const std::string body =
      fmt::format("  long long hot = {};\n  if (hot < 0) hot += {};\n",
                  cast_text(indices.type, DataType::Int64, operands.element(indices, at)), depth);
  const auto value = [&](const char* which) {
    return operands.element(values, std::vector<std::string>{which});
  };
  const std::string sum = fmt::format("(i{} == hot ? {} : {})", *axis, value("1"), value("0"));
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, sum,
                   "own");
  return true;
}

// Blocks of pixels to channels, or back: a view of more axes is copied.
bool lower_blocks(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const std::int64_t size = node.int_or("blocksize", 0);
  if (x.dims.size() != 4 || size < 1 || x.elements() == 0) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const bool to_depth = node.is("SpaceToDepth");
  const bool column_row_depth = node.string_or("mode", "DCR") == "CRD";
  const std::int64_t channels = to_depth ? x.dims[1] : x.dims[1] / (size * size);
  std::string block;
  std::vector<std::string> at = {"i0"};
  if (to_depth) {
    block = fmt::format("(i1 / {})", channels);
    at.push_back(fmt::format("i1 % {}", channels));
    at.push_back(fmt::format("i2 * {0} + {1} / {0}", size, block));
    at.push_back(fmt::format("i3 * {0} + {1} % {0}", size, block));
  } else {
    block = fmt::format("(i2 % {0} * {0} + i3 % {0})", size);
    at.push_back(column_row_depth ? fmt::format("i1 * {} + {}", size * size, block)
                                  : fmt::format("{} * {} + i1", block, channels));
    at.push_back(fmt::format("i2 / {}", size));
    at.push_back(fmt::format("i3 / {}", size));
  }
  add_indexed_step(lowering, id, epilogue, {x}, parameter_text(x, "in"), "",
                   element_text(x, "in", at), "own");
  return true;
}

bool lower_reversed_sequences(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto batch = normalized_axis(node.int_or("batch_axis", 1), x.dims.size());
  const auto time = normalized_axis(node.int_or("time_axis", 0), x.dims.size());
  if (!batch || !time || *batch == *time || x.elements() == 0) return false;
  const Epilogue epilogue = epilogue_of(lowering, id);
  Operands operands(lowering);
  auto at = index_names(x.dims);
  const std::string length =
      operands.element(lowering.native(node.inputs[1]), std::vector<std::string>{at[*batch]});
  const std::string body = fmt::format(
      "  const long long length = {0};\n  const long long from = {1} < length && length "
      "<= {2} ? length - 1 - {1} : {1};\n",
      length, at[*time], x.dims[*time]);
  at[*time] = "from";
  const std::string sum = operands.element(x, at);
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, sum,
                   "own");
  return true;
}

// One thread for each lane.
bool lower_cumulative_sum(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto number = lowering.number(node.inputs[1]);
  if (!number || x.elements() == 0) return false;
  const auto axis = normalized_axis(static_cast<std::int64_t>(*number), x.dims.size());
  if (!axis) return false;
  Placement result = lowering.new_row_major(node.outputs[0]);
  lowering.set_placement(node.outputs[0], result);
  Placement lanes = result;
  lanes.dims[*axis] = 1;
  Operands operands(lowering);
  auto at = index_names(x.dims);
  at[*axis] = "at";
  const bool reverses = node.int_or("reverse", 0) != 0;
  const bool excludes = node.int_or("exclusive", 0) != 0;
  const std::string element = operands.element(x, at);
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}{stored}* __restrict__ out) {{
  const long long element = blockIdx.x * {threads}ll + threadIdx.x;
  if (element >= {count}) return;
{coordinates}  {type} sum = 0;
  for (int step = 0; step < {length}; ++step) {{
    const int at = {at};
    const {type} next = ({type})(sum + {element});
    out[{to}] = {value};
    sum = next;
  }}
}}
)",
      fmt::arg("parameters", operands.parameters()), fmt::arg("stored", stored_type(result.type)),
      fmt::arg("threads", kBlockThreads), fmt::arg("count", lanes.elements()),
      fmt::arg("coordinates", coordinates_of(lanes)), fmt::arg("type", computed_type(x.type)),
      fmt::arg("length", x.dims[*axis]),
      fmt::arg("at", reverses ? fmt::format("{} - step", x.dims[*axis] - 1) : std::string("step")),
      fmt::arg("element", element), fmt::arg("to", offset_text(result, at)),
      fmt::arg("value", stored(result.type, excludes ? "sum" : "next")));
  lowering.add_kernel_step({.nodes = {id},
                            .algorithm = "own",
                            .executed_flops = x.elements(),
                            .reads = operands.reads(),
                            .writes = {result}},
                           lowering.kernels().add(text), launch_for(lanes.elements()));
  return true;
}

// How many elements of its lane come before an element is its place among the best: as many threads
// as elements, each of which looks at the whole lane. Ties go to the lower index; NaN is greatest.
bool lower_top_k(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto axis = normalized_axis(node.int_or("axis", -1), x.dims.size());
  if (!axis || x.elements() == 0 || x.type == DataType::Bool) return false;
  const std::int64_t count = lowering.dims(node.outputs[0])[*axis];
  Operands operands(lowering);
  const auto at = index_names(x.dims);
  auto at_other = at;
  at_other[*axis] = "other";
  auto at_result = at;
  at_result[*axis] = "place";
  const std::string own = operands.element(x, at);
  const std::string other = operands.element(x, at_other);
  std::vector<Placement> results;
  std::string parameters = operands.parameters();
  std::string store;
  for (std::size_t i = 0; i < 2 && i < node.outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    const Placement result = lowering.new_row_major(node.outputs[i]);
    lowering.set_placement(node.outputs[i], result);
    parameters += fmt::format("{}{}* __restrict__ out{}", results.empty() ? "" : ", ",
                              stored_type(result.type), i);
    store += fmt::format("  out{}[{}] = {};\n", i, offset_text(result, at_result),
                         i == 0 ? stored(result.type, "own") : at[*axis]);
    results.push_back(result);
  }
  if (count == 0 || results.empty()) return true;
  const bool is_largest = node.int_or("largest", 1) != 0;
  const std::string text = fmt::format(
      R"(
extern "C" __global__ void KERNEL({parameters}) {{
  const long long element = blockIdx.x * {threads}ll + threadIdx.x;
  if (element >= {elements}) return;
{coordinates}  const {type} own = {own};
  int place = 0;
  for (int other = 0; other < {length}; ++other) {{
    const {type} x = {other};
    const bool is_less = x < own || (own != own && x == x), is_greater = own < x || (x != x && own == own);
    if ({better} || (!is_less && !is_greater && other < {at})) ++place;
  }}
  if (place >= {count}) return;
{store}}}
)",
      fmt::arg("parameters", parameters), fmt::arg("threads", kBlockThreads),
      fmt::arg("elements", x.elements()), fmt::arg("coordinates", coordinates_of(x)),
      fmt::arg("type", computed_type(x.type)), fmt::arg("own", own),
      fmt::arg("length", x.dims[*axis]), fmt::arg("other", other),
      fmt::arg("better", is_largest ? "is_greater" : "is_less"), fmt::arg("at", at[*axis]),
      fmt::arg("count", count), fmt::arg("store", store));
  lowering.add_kernel_step({.nodes = {id},
                            .algorithm = "own",
                            .executed_flops = x.elements() * x.dims[*axis],
                            .reads = operands.reads(),
                            .writes = results},
                           lowering.kernels().add(text), launch_for(x.elements()));
  return true;
}

}  // namespace

void add_selection_lowering(LowerTable& table) {
  table["Trilu"] = lower_triangle;
  table["EyeLike"] = lower_eye;
  table["OneHot"] = lower_one_hot;
  table["DepthToSpace"] = lower_blocks;
  table["SpaceToDepth"] = lower_blocks;
  table["ReverseSequence"] = lower_reversed_sequences;
  table["CumSum"] = lower_cumulative_sum;
  table["TopK"] = lower_top_k;
}

}  // namespace assay::cuda
