// BatchNormalization: in training, by the statistics of the batch, and its gradient. Statistics
// are sums over each channel; then one element-wise kernel normalises and computes what follows.
#include <fmt/core.h>

#include "execute/cuda/column_sums.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/moments_text.h"
#include "execute/cuda/walk.h"
#include "graph/node_kinds.h"

namespace assay::cuda {

namespace {

// A channel of the whole batch is one column.
std::optional<Rows> channels_of(const Placement& x) {
  if (x.dims.size() < 2 || !is_floating(x.type)) return {};
  std::vector<std::size_t> reduced;
  for (std::size_t axis = 0; axis < x.dims.size(); ++axis)
    if (axis != 1) reduced.push_back(axis);
  const Rows rows = rows_over(x.dims, reduced);
  return is_reasonable(rows) ? std::optional(rows) : std::nullopt;
}

const std::vector<std::string>& at_channel() {
  static const std::vector<std::string> kAt = {"i1"};
  return kAt;
}

// Numbers of each channel, one below the other.
struct ChannelNumbers {
  Placement all;

  ChannelNumbers(Lowering& lowering, const Placement& x, std::int64_t count)
      : all(lowering.in_new_buffer(row_major_placement(
            x.type == DataType::Float64 ? x.type : DataType::Float32, {count, x.dims[1]}))) {}
  explicit ChannelNumbers(Placement placement) : all(std::move(placement)) {}

  Placement operator[](std::int64_t which) const {
    Placement one = row_major_placement(all.type, {all.dims[1]});
    one.buffer = all.buffer;
    one.offset = which * all.dims[1];
    return one;
  }
};
enum MomentRow { kMean, kScaledBy };

std::string moments_name(const Node& node) {
  return fmt::format("moments {}", node.float_or("epsilon", 1e-5f));
}

// Sums are of differences from the channel's first element, which keeps their digits where the mean
// is far from 0.
ColumnSums moment_sums(Operands& adding, Operands& finishing, const Placement& x, const Rows& rows,
                       const Node& node) {
  const auto at = index_names(x.dims);
  std::vector<std::string> first(x.dims.size(), "0");
  first[1] = "i1";
  const std::string type = computed_type(x.type);
  return {
      .rows = rows,
      .are_columns_adjacent = are_columns_adjacent(x, rows),
      .type = type,
      .count = 2,
      .before = fmt::format("    const {} first = {};\n", type, adding.element(x, first)),
      .add = fmt::format("      const {} d = {} - first;\n      sum0 += d;\n      sum1 += d * d;\n",
                         type, adding.element(x, at)),
      .finish = fmt::format(
          R"(  const double moved = sum0 / {width}, rest = sum1 / {width} - moved * moved;
  const double square = rest > 0 ? rest : rest != rest ? rest : 0;
  const {type} mean = ({type})({first} + moved), variance = ({type})square;
  const {type} scaled_by = ({type})(1 / sqrt(square + {epsilon}));
)",
          fmt::arg("width", rows.width), fmt::arg("type", type),
          fmt::arg("first", finishing.element(x, first)),
          fmt::arg("epsilon", number_text(node.float_or("epsilon", 1e-5f), "double")))};
}

// `expression` of these operands, "n0", "n1", …, then what follows in the epilogue.
KernelCall normalising_call(Lowering& lowering, const Epilogue& epilogue,
                            const std::vector<Placement>& operands, const char* expression) {
  ChainText text = epilogue.text;
  std::string statements;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Placement& operand = operands[i];
    statements += fmt::format("    const auto n{} = a{};\n", i, text.operands.size());
    text.operands.push_back(operand.dims.size() == 1 ? along_axis(operand, epilogue.result.dims, 1)
                                                     : operand);
  }
  statements += fmt::format("    const auto x = {};\n", expression);
  text.statements = statements + text.statements;
  const KernelText kernel = elementwise_kernel(text, epilogue.result);
  KernelCall call{lowering.kernels().add(kernel.text), kernel.shape, text.operands};
  call.arguments.push_back(epilogue.result);
  return call;
}

// A running statistic lies where the old one did, if nothing else reads that.
Placement place_statistic(Lowering& lowering, NodeId id, std::size_t output) {
  const Node& node = lowering.node(id);
  const bool runs = output < 3;
  const ValueId old = runs ? node.inputs[output + 2] : ValueId{};
  const bool in_place =
      runs && lowering.may_replace(old, id) && lowering.native(old).is_row_major();
  const Placement result =
      in_place ? lowering.native(old) : lowering.new_row_major(node.outputs[output]);
  lowering.set_placement(node.outputs[output], result);
  return result;
}

// Running statistics go on from the old ones.
std::string running_text(Lowering& lowering, NodeId id, Operands& operands,
                         std::vector<Placement>& writes) {
  const Node& node = lowering.node(id);
  const std::string type = computed_type(lowering.type(node.inputs[0]));
  const std::string momentum = number_text(node.float_or("momentum", 0.9f), type);
  std::string text;
  for (std::size_t output = 1; output < node.outputs.size(); ++output) {
    if (!node.has_output(output) || !lowering.is_read(node.outputs[output])) continue;
    std::string number = output % 2 == 1 ? "mean" : "variance";
    if (output < 3) {
      const Placement old = lowering.native(node.inputs[output + 2]);
      number = fmt::format("{} * {} + {} * (1 - {})", operands.element(old, at_channel()), momentum,
                           number, momentum);
    }
    const Placement result = place_statistic(lowering, id, output);
    text += fmt::format("  out{}[i1] = {};\n", writes.size(), stored(result.type, number));
    writes.push_back(result);
  }
  return text;
}

bool lower_in_training(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const auto rows = channels_of(x);
  constexpr std::int64_t kFirstOpsetOfChannels = 9;
  if (!rows || lowering.graph().opset() < kFirstOpsetOfChannels) return false;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  Operands adding(lowering);
  Operands finishing(lowering);
  const ChannelNumbers numbers(lowering, x, 3);
  ColumnSums sums = moment_sums(adding, finishing, x, *rows, node);
  const Placement scale = lowering.native(node.inputs[1]);
  std::vector<Placement> writes = {numbers[kMean], numbers[kScaledBy], numbers[2]};
  sums.finish +=
      fmt::format("  out0[i1] = mean;\n  out1[i1] = scaled_by;\n  out2[i1] = scaled_by * {};\n",
                  finishing.element(scale, at_channel()));
  sums.finish += running_text(lowering, id, finishing, writes);
  StepDraft draft = draft_with(epilogue, id, finishing.reads(), x.elements() * kNormFlops);
  draft.algorithm = "own column sums";
  draft.writes.push_back(numbers.all);
  draft.writes.insert(draft.writes.end(), writes.begin() + 3, writes.end());
  auto calls = column_sum_calls(lowering, sums, adding, finishing, writes, draft);
  const Placement shift = lowering.native(node.inputs[2]);
  draft.reads.push_back(shift);
  calls.push_back(normalising_call(lowering, epilogue, {x, numbers[kMean], numbers[2], shift},
                                   "(n0 - n1) * n2 + n3"));
  lowering.keep(moments_name(node), node.inputs[0].number, {numbers.all});
  lowering.add_step(draft, binder_of(calls));
  return true;
}

// Those that the forward pass kept, or anew.
ChannelNumbers moments_for_gradient(Lowering& lowering, const Node& node, const Placement& x,
                                    const Rows& rows, std::vector<KernelCall>& calls,
                                    StepDraft& draft) {
  const auto* kept = lowering.kept(moments_name(node), node.inputs[0].number);
  if (kept != nullptr) {
    draft.reads.push_back(kept->front());
    return ChannelNumbers(kept->front());
  }
  ChannelNumbers numbers(lowering, x, 2);
  Operands adding(lowering);
  Operands finishing(lowering);
  ColumnSums sums = moment_sums(adding, finishing, x, rows, node);
  sums.finish += "  out0[i1] = mean;\n  out1[i1] = scaled_by;\n";
  calls = column_sum_calls(lowering, sums, adding, finishing, {numbers[kMean], numbers[kScaledBy]},
                           draft);
  draft.workspace.push_back(numbers.all.buffer);
  return numbers;
}

// Inputs: the image, the scale, the gradient of the result.
bool lower_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Placement x = lowering.native(node.inputs[0]);
  const Placement gradient = lowering.native(node.inputs[2]);
  const auto rows = channels_of(x);
  if (!rows) return false;
  const std::string type = computed_type(x.type);
  Epilogue epilogue = epilogue_of(lowering, id, layout_of(x));
  const ChannelNumbers factors(lowering, x, 3);
  std::vector<Placement> writes = {factors[0], factors[1], factors[2]};
  std::string stores;
  for (std::size_t output = 1; output < 3; ++output) {
    if (!node.has_output(output)) continue;
    epilogue.add_more(lowering, node.outputs[output]);
    stores += fmt::format(
        "  out{}[i1] = {};\n", writes.size(),
        stored(epilogue.more.back().type, fmt::format("({})sum{}", type, output == 1 ? 1 : 0)));
    writes.push_back(epilogue.more.back());
  }
  const Placement scale = lowering.native(node.inputs[1]);
  StepDraft draft = draft_with(epilogue, id, {x, gradient, scale}, x.elements() * 2 * kNormFlops);
  draft.algorithm = "own column sums";
  std::vector<KernelCall> calls;
  const ChannelNumbers moments = moments_for_gradient(lowering, node, x, *rows, calls, draft);
  Operands adding(lowering);
  Operands finishing(lowering);
  const auto at = index_names(x.dims);
  const std::string scaled_by = finishing.element(moments[kScaledBy], at_channel());
  const ColumnSums sums{
      .rows = *rows,
      .are_columns_adjacent = are_columns_adjacent(x, *rows),
      .type = type,
      .count = 2,
      .before = fmt::format("    const {0} mean = {1}, scaled_by = {2};\n", type,
                            adding.element(moments[kMean], at_channel()),
                            adding.element(moments[kScaledBy], at_channel())),
      .add = fmt::format("      const {} g = {};\n      sum0 += g;\n"
                         "      sum1 += g * (({} - mean) * scaled_by);\n",
                         type, adding.element(gradient, at), adding.element(x, at)),
      .finish = fmt::format(
          "  const double factor = (double){0} * {1};\n  out0[i1] = ({2})factor;\n"
          "  out1[i1] = ({2})(sum0 / {3});\n"
          "  out2[i1] = ({2})(sum1 / {3} * {1});\n{4}",
          finishing.element(scale, at_channel()), scaled_by, type, rows->width, stores)};
  for (const KernelCall& call : column_sum_calls(lowering, sums, adding, finishing, writes, draft))
    calls.push_back(call);
  calls.push_back(normalising_call(
      lowering, epilogue, {gradient, factors[1], x, moments[kMean], factors[2], factors[0]},
      "(n0 - n1 - (n2 - n3) * n4) * n5"));
  draft.workspace.push_back(factors.all.buffer);
  lowering.add_step(draft, binder_of(calls));
  return true;
}

bool lower_batch_norm(Lowering& lowering, NodeId id) {
  const bool trains = graph::is_training_batch_norm(lowering.node(id), lowering.graph().opset());
  return trains ? lower_in_training(lowering, id) : lower_elementwise(lowering, id);
}

}  // namespace

void add_batch_norm_lowering(LowerTable& table) {
  table["BatchNormalization"] = lower_batch_norm;
  table["assay.BatchNormalizationGradient"] = lower_gradient;
}

}  // namespace assay::cuda
