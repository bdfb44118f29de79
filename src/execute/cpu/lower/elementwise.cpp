// Element-wise ops with broadcasting, as chains: every op that follows and needs nothing that is
// not there yet joins the pass.
#include <algorithm>
#include <limits>
#include <map>

#include "base/checked.h"
#include "execute/cpu/kernels/chain.h"
#include "execute/cpu/lower/dropout_link.h"
#include "execute/cpu/lower/growing_concat.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "execute/threads.h"
#include "graph/node_kinds.h"
#include "kernels/shape_math.h"
#include "transform/batch_norm.h"

namespace assay::cpu {

using graph::is_training_batch_norm;
using transform::batch_norm_affine;

namespace {

struct Draft {
  std::vector<Link> links;
  std::vector<ValueId> operands;                  // an invalid one is a vector of `vectors`
  std::map<std::size_t, Placement> vectors = {};  // of one number for each channel, by operand
  bool vectors_are_padded = false;                // with zeros for channels that fill up a block
  std::map<std::size_t, DropoutSettings> dropouts = {};  // by link
  std::vector<NodeId> nodes;
  ValueId result;
};

Link unary(UnaryOp op, float alpha = 0, float beta = 0) {
  return {.kind = Link::Kind::Unary, .unary = op, .alpha = alpha, .beta = beta};
}

std::optional<Link> clip_link(const Lowering& lowering, const Node& node) {
  float low = node.float_or("min", -std::numeric_limits<float>::infinity());
  float high = node.float_or("max", std::numeric_limits<float>::infinity());
  for (const std::size_t input : {1u, 2u}) {
    if (!node.has_input(input)) continue;
    const auto bound = lowering.number(node.inputs[input]);
    if (!bound) return {};
    (input == 1 ? low : high) = static_cast<float>(*bound);
  }
  if (low > high) return {};
  return unary(UnaryOp::Clip, low, high);
}

std::optional<Link> power_link(const Lowering& lowering, const Node& node) {
  const auto exponent = lowering.number(node.inputs[1]);
  if (!exponent) return {};
  if (*exponent == 1.0) return unary(UnaryOp::Copy);
  if (*exponent == 2.0) return unary(UnaryOp::Square);
  if (*exponent == 3.0) return unary(UnaryOp::Cube);
  if (*exponent == 0.5) return unary(UnaryOp::Sqrt);
  if (*exponent == -1.0) return unary(UnaryOp::Reciprocal);
  return {};
}

std::optional<Link> unary_link(const Lowering& lowering, const Node& node) {
  static const std::map<std::string, UnaryOp> kPlain = {{"Relu", UnaryOp::Relu},
                                                        {"Sigmoid", UnaryOp::Sigmoid},
                                                        {"Tanh", UnaryOp::Tanh},
                                                        {"Exp", UnaryOp::Exp},
                                                        {"Log", UnaryOp::Log},
                                                        {"Sqrt", UnaryOp::Sqrt},
                                                        {"Neg", UnaryOp::Neg},
                                                        {"Abs", UnaryOp::Abs},
                                                        {"Erf", UnaryOp::Erf},
                                                        {"Reciprocal", UnaryOp::Reciprocal},
                                                        {"Softplus", UnaryOp::Softplus},
                                                        {"Softsign", UnaryOp::Softsign},
                                                        {"Floor", UnaryOp::Floor},
                                                        {"Ceil", UnaryOp::Ceil},
                                                        {"HardSwish", UnaryOp::HardSwish}};
  if (!node.is_standard()) return {};
  if (const auto found = kPlain.find(node.op); found != kPlain.end()) return unary(found->second);
  if (node.op == "LeakyRelu") return unary(UnaryOp::LeakyRelu, node.float_or("alpha", 0.01f));
  if (node.op == "Elu") return unary(UnaryOp::Elu, node.float_or("alpha", 1.0f));
  if (node.op == "HardSigmoid")
    return unary(UnaryOp::HardSigmoid, node.float_or("alpha", 0.2f), node.float_or("beta", 0.5f));
  if (node.op == "Gelu") {
    return unary(node.string_or("approximate", "none") == "tanh" ? UnaryOp::GeluTanh
                                                                 : UnaryOp::GeluErf);
  }
  if (node.op == "Clip") return clip_link(lowering, node);
  if (node.op == "Pow") return power_link(lowering, node);
  if (node.op == "Cast") return unary(UnaryOp::Copy);  // between floats: all is computed in float32
  return {};
}

std::optional<BinaryOp> binary_op(const Node& node) {
  static const std::map<std::string, BinaryOp> kOps = {
      {"Add", BinaryOp::Add}, {"Sub", BinaryOp::Sub},    {"Mul", BinaryOp::Mul},
      {"Div", BinaryOp::Div}, {"Max", BinaryOp::Max},    {"Min", BinaryOp::Min},
      {"Sum", BinaryOp::Add}, {"PRelu", BinaryOp::PRelu}};
  if (node.inputs.size() != 2) return {};
  if (node.domain == kOwnDomain && node.op == "ReluGradient") return BinaryOp::WherePositive;
  if (!node.is_standard()) return {};
  const auto found = kOps.find(node.op);
  return found == kOps.end() ? std::nullopt : std::optional(found->second);
}

// An operand's number, or -1 and the number itself.
int add_operand(const Lowering& lowering, Draft& draft, ValueId value, float& number) {
  if (const auto constant = lowering.number(value)) {
    number = static_cast<float>(*constant);
    return -1;
  }
  draft.operands.push_back(value);
  return static_cast<int>(draft.operands.size()) - 1;
}

bool is_usable(const Lowering& lowering, ValueId value) {
  return lowering.is_real(value) && lowering.is_available(value);
}

// x · sigmoid(x) is one link.
bool becomes_swish(const Draft& draft, BinaryOp op, ValueId other) {
  return op == BinaryOp::Mul && draft.links.size() == 1 && other == draft.operands[0] &&
         draft.links[0].kind == Link::Kind::Unary && draft.links[0].unary == UnaryOp::Sigmoid;
}

bool add_binary(const Lowering& lowering, Draft& draft, const Node& node, ValueId running) {
  const auto op = binary_op(node);
  if (!op) return false;
  const bool is_reversed = node.inputs[0] != running;
  const ValueId other = node.inputs[is_reversed ? 0 : 1];
  if (!is_usable(lowering, other)) return false;
  if (becomes_swish(draft, *op, other)) {
    draft.links[0].unary = UnaryOp::Swish;
    return true;
  }
  Link link{.kind = is_reversed ? Link::Kind::ReversedBinary : Link::Kind::Binary, .binary = *op};
  link.operand = add_operand(lowering, draft, other, link.number);
  draft.links.push_back(link);
  return true;
}

bool is_mask(const Lowering& lowering, ValueId value) {
  if (!value.is_valid()) return false;
  const Tensor* mask = lowering.constant(value);
  return mask != nullptr && mask->type() == DataType::Bool;
}

bool add_select(const Lowering& lowering, Draft& draft, const Node& node, ValueId running) {
  if (!node.is("Where") || !is_mask(lowering, node.inputs[0])) return false;
  const bool is_first = node.inputs[1] == running;
  const ValueId other = node.inputs[is_first ? 2 : 1];
  if (!is_usable(lowering, other)) return false;
  Link link{.kind = Link::Kind::Select, .running_is_first = is_first};
  draft.operands.push_back(node.inputs[0]);
  link.operand = static_cast<int>(draft.operands.size()) - 1;
  link.other = add_operand(lowering, draft, other, link.other_number);
  draft.links.push_back(link);
  return true;
}

bool add_dropout(const Lowering& lowering, Draft& draft, const Node& node, ValueId running) {
  const auto settings = dropout_settings(lowering, node);
  if (!settings || node.inputs[0] != running) return false;
  draft.dropouts[draft.links.size()] = *settings;
  draft.links.push_back({.kind = Link::Kind::Dropout});
  return true;
}

bool add_link(const Lowering& lowering, Draft& draft, const Node& node, ValueId running) {
  if (node.inputs.empty() || draft.operands.size() + 2 > kMostOperands) return false;
  if (const auto link = unary_link(lowering, node); link && node.inputs[0] == running) {
    draft.links.push_back(*link);
    return true;
  }
  return add_binary(lowering, draft, node, running) || add_select(lowering, draft, node, running) ||
         add_dropout(lowering, draft, node, running);
}

// The input that the chain starts from: one of the result's shape if there is one.
ValueId first_operand(const Lowering& lowering, const Node& node) {
  const auto whole = lowering.dims(node.outputs[0]);
  const std::size_t first = node.op == "Where" ? 1 : 0;
  for (std::size_t i = first; i < node.inputs.size(); ++i) {
    if (!node.has_input(i) || !is_usable(lowering, node.inputs[i])) continue;
    if (lowering.constant(node.inputs[i]) == nullptr && lowering.dims(node.inputs[i]) == whole) {
      return node.inputs[i];
    }
  }
  return node.has_input(first) ? node.inputs[first] : ValueId{};
}

// A tensor of floats and nothing else that anybody reads.
bool gives_floats(const Lowering& lowering, const Node& node) {
  const auto others =
      std::span(node.outputs).subspan(std::min<std::size_t>(1, node.outputs.size()));
  return node.has_output(0) && lowering.is_real(node.outputs[0]) &&
         std::ranges::none_of(others,
                              [&](ValueId id) { return id.is_valid() && lowering.is_read(id); });
}

std::optional<Draft> draft_of(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!gives_floats(lowering, node)) return {};
  Draft draft;
  const ValueId start = first_operand(lowering, node);
  if (!start.is_valid() || !is_usable(lowering, start)) return {};
  draft.operands.push_back(start);
  if (!add_link(lowering, draft, node, start)) return {};
  draft.nodes.push_back(id);
  draft.result = node.outputs[0];
  return draft;
}

void extend(Lowering& lowering, Draft& draft) {
  const auto dims = lowering.dims(draft.result);
  while (true) {
    const NodeId reader = lowering.only_reader(draft.result);
    if (!reader.is_valid() || lowering.is_covered(reader)) return;
    const Node& node = lowering.node(reader);
    if (!gives_floats(lowering, node)) return;
    if (lowering.dims(node.outputs[0]) != dims) return;
    if (!add_link(lowering, draft, node, draft.result)) return;
    lowering.cover(reader);
    draft.nodes.push_back(reader);
    draft.result = node.outputs[0];
  }
}

// How the result and all operands lie, seen as one grid.
struct Arrangement {
  ChainGrid grid;
  std::vector<Placement> operands;
  Placement result;  // its buffer is still open
};

// Strides over [batch, blocks, pixels, block] of an operand, if it fits that grid: the same layout,
// or one number for each channel.
std::optional<std::vector<std::int64_t>> blocked_strides(const Placement& placement,
                                                         const Placement& like,
                                                         const BlockShape& shape) {
  if (const auto distance = pixel_distance(placement); distance && placement.dims == like.dims) {
    if (shape.block != like.dims[1]) return {};
    return std::vector<std::int64_t>{shape.pixels * *distance, 0, *distance, 1};
  }
  if (placement.blocked) {
    if (with_type(*placement.blocked, like.type) != *like.blocked) return {};
    return std::vector<std::int64_t>{shape.channel_blocks * shape.pixels * shape.block,
                                     shape.pixels * shape.block, shape.block, 1};
  }
  const std::size_t lead = like.dims.size() - placement.dims.size();
  std::vector<std::int64_t> strides(like.dims.size(), 0);  // 0 where it repeats
  for (std::size_t axis = 0; axis < placement.dims.size(); ++axis) {
    if (placement.dims[axis] != 1) strides[lead + axis] = placement.strides[axis];
  }
  const bool is_by_channel =
      lead < 2 && placement.dims[1 - lead] == like.dims[1] &&
      (strides[1] == 1 || like.dims[1] == 1) &&
      std::all_of(strides.begin() + 2, strides.end(), [](auto stride) { return stride == 0; });
  if (!is_by_channel) return {};
  return std::vector<std::int64_t>{strides[0], shape.block, 0, 1};
}

bool keeps_zero(const Link& link) {
  static constexpr UnaryOp kUnary[] = {
      UnaryOp::Copy,     UnaryOp::Relu,      UnaryOp::LeakyRelu, UnaryOp::Tanh,   UnaryOp::Sqrt,
      UnaryOp::Neg,      UnaryOp::Abs,       UnaryOp::Erf,       UnaryOp::Elu,    UnaryOp::GeluErf,
      UnaryOp::GeluTanh, UnaryOp::HardSwish, UnaryOp::Swish,     UnaryOp::Square, UnaryOp::Cube,
      UnaryOp::Softsign, UnaryOp::Floor,     UnaryOp::Ceil};
  static constexpr BinaryOp kBinary[] = {BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul,
                                         BinaryOp::Max, BinaryOp::Min, BinaryOp::WherePositive};
  const bool by_number = link.operand < 0;
  switch (link.kind) {
    case Link::Kind::Unary:
      if (link.unary == UnaryOp::Clip) return link.alpha <= 0 && link.beta >= 0;
      return std::ranges::find(kUnary, link.unary) != std::end(kUnary);
    case Link::Kind::Binary:
    case Link::Kind::ReversedBinary:
      if (by_number) return link.binary == BinaryOp::Mul;
      return std::ranges::find(kBinary, link.binary) != std::end(kBinary);
    case Link::Kind::Normalise:
      return true;
    default:
      return false;
  }
}

// Channels that only fill up a block are zero, and have to stay so.
bool keeps_padding(const Draft& draft) {
  return std::ranges::all_of(draft.links, keeps_zero);
}

// The layout in blocks that the result takes over from an operand; pixels lose their gaps.
std::optional<Placement> layout_to_take_over(const Placement& operand) {
  if (operand.blocked) return operand;
  if (!pixel_distance(operand)) return {};
  const Placement dense =
      placement_for({}, image_desc(operand.dims, 0, operand.type), operand.dims);
  return dense.blocked ? std::optional(dense) : std::nullopt;
}

std::optional<Arrangement> blocked_arrangement(Lowering& lowering, const Draft& draft) {
  if (!draft.dropouts.empty()) return {};  // they count elements row by row
  const auto whole = lowering.dims(draft.result);
  const auto is_whole_block = [&](ValueId value) {
    return value.is_valid() && lowering.constant(value) == nullptr &&
           lowering.dims(value) == whole && layout_to_take_over(lowering.native(value));
  };
  const auto found = std::ranges::find_if(draft.operands, is_whole_block);
  if (found == draft.operands.end()) return {};
  const Placement like = *layout_to_take_over(lowering.native(*found));
  const auto shape = block_shape(like);
  if (!shape || (shape->is_padded && !keeps_padding(draft))) return {};
  Arrangement arrangement;
  arrangement.grid.dims = {shape->batch, shape->channel_blocks, shape->pixels, shape->block};
  for (std::size_t i = 0; i < draft.operands.size(); ++i) {
    const ValueId operand = draft.operands[i];
    if (is_mask(lowering, operand)) return {};
    const Placement placement = operand.is_valid() ? lowering.native(operand) : draft.vectors.at(i);
    const auto strides = blocked_strides(placement, like, *shape);
    const bool reaches_padding = placement.blocked.has_value() || !shape->is_padded ||
                                 (!operand.is_valid() && draft.vectors_are_padded);
    if (!strides || !reaches_padding) return {};
    arrangement.grid.strides.push_back(*strides);
    arrangement.operands.push_back(placement);
  }
  arrangement.result = like;
  arrangement.result.type = lowering.type(draft.result);
  arrangement.result.blocked = with_type(*like.blocked, arrangement.result.type);
  return arrangement;
}

Placement mask_as_floats(Lowering& lowering, const Tensor& mask) {
  std::vector<float> floats;
  for (const double number : mask.to_double()) floats.push_back(static_cast<float>(number));
  return lowering.weights().constant_floats(floats, mask.dims());
}

Arrangement plain_arrangement(Lowering& lowering, const Draft& draft) {
  Arrangement arrangement;
  const auto dims = lowering.dims(draft.result);
  arrangement.grid.dims = dims.empty() ? Dims{1} : dims;
  for (std::size_t i = 0; i < draft.operands.size(); ++i) {
    const ValueId operand = draft.operands[i];
    const Placement placement = !operand.is_valid() ? draft.vectors.at(i)
                                : is_mask(lowering, operand)
                                    ? mask_as_floats(lowering, *lowering.constant(operand))
                                    : lowering.strided_in_any_type(operand);
    std::vector<std::int64_t> strides(arrangement.grid.dims.size(), 0);
    const std::size_t lead = strides.size() - placement.dims.size();
    for (std::size_t axis = 0; axis < placement.dims.size(); ++axis) {
      if (placement.dims[axis] != 1) strides[lead + axis] = placement.strides[axis];
    }
    arrangement.grid.strides.push_back(std::move(strides));
    arrangement.operands.push_back(placement);
  }
  arrangement.result = row_major_placement({}, lowering.type(draft.result), dims);
  return arrangement;
}

bool can_reuse_first(const Lowering& lowering, const Draft& draft, const Arrangement& arrangement) {
  const Placement& first = arrangement.operands[0];
  const bool lies_alike = arrangement.result.blocked ? first.blocked.has_value()
                                                     : first.is_row_major() && first.offset == 0 &&
                                                           first.dims == arrangement.result.dims;
  if (!lies_alike || first.type != arrangement.result.type) return false;
  for (std::size_t i = 1; i < arrangement.operands.size(); ++i) {
    if (arrangement.operands[i].buffer == first.buffer) return false;
  }
  // Every node of the chain is covered: none of them counts as a later reader.
  return lowering.may_overwrite(draft.operands[0], draft.nodes.front());
}

// Blocks below this are not worth waking a thread for.
constexpr std::int64_t kBlocksWorthSharing = 8;

void add_chain_step(Lowering& lowering, const Draft& draft, Arrangement arrangement) {
  const bool is_in_place = can_reuse_first(lowering, draft, arrangement);
  Placement result = arrangement.result;
  result.offset = 0;
  result.buffer =
      is_in_place ? arrangement.operands[0].buffer
                  : lowering.new_buffer(result.blocked
                                            ? static_cast<std::int64_t>(bytes_of(*result.blocked))
                                            : result.bytes());
  const ChainGrid grid = merged(arrangement.grid);
  const std::int64_t blocks = block_count(grid);
  const int threads = blocks >= kBlocksWorthSharing ? lowering.threads() : 1;
  StepDraft step{.nodes = draft.nodes,
                 .algorithm = "element-wise",
                 .precision = execute::precision_name(DataType::Float32),
                 .executed_flops = saturating_multiply(
                     result.elements(), static_cast<std::int64_t>(draft.links.size())),
                 .reads = arrangement.operands,
                 .writes = {result}};
  const auto operands = arrangement.operands;
  const auto dropouts = placed_dropouts(lowering, draft.dropouts);
  for (const PlacedDropout& one : dropouts) {
    if (one.step) step.reads.push_back(*one.step);
  }
  lowering.add_step(step, [=, links = draft.links](const Addresses& at) -> Runner {
    std::vector<ChainElements> sources;
    for (const Placement& operand : operands) sources.push_back(elements_at(at, operand));
    const ChainElements to = elements_at(at, result);
    const auto links_of_run = std::make_shared<RunLinks>(links, dropouts, at);
    return [=] {
      const std::span<const Link> drawn = links_of_run->of_this_run();
      execute::in_parallel(threads, blocks, [&](std::int64_t first, std::int64_t last) {
        run_chain(drawn, grid, sources, to, first, last);
      });
    };
  });
  lowering.set_placement(draft.result, result);
}

bool lower_chain(Lowering& lowering, std::optional<Draft> draft) {
  if (!draft) return false;
  if (checked_product(lowering.dims(draft->result)).value_or(0) == 0) return false;
  extend(lowering, *draft);
  const auto blocked = blocked_arrangement(lowering, *draft);
  add_chain_step(lowering, *draft, blocked ? *blocked : plain_arrangement(lowering, *draft));
  return true;
}

bool lower_elementwise(Lowering& lowering, NodeId id) {
  return lower_chain(lowering, draft_of(lowering, id)) || lower_typed(lowering, id);
}

bool lower_relu_gradient(Lowering& lowering, NodeId id) {
  return lower_relu_and_norm_gradient(lowering, id) || lower_elementwise(lowering, id);
}

void add_vector_link(Lowering& lowering, Draft& draft, BinaryOp op,
                     const std::vector<float>& values, std::size_t rank) {
  Dims dims(rank, 1);
  dims[1] = static_cast<std::int64_t>(values.size());
  draft.vectors[draft.operands.size()] = lowering.weights().constant_floats(values, dims);
  draft.links.push_back({.kind = Link::Kind::Binary,
                         .binary = op,
                         .operand = static_cast<int>(draft.operands.size())});
  draft.operands.emplace_back();
}

bool lower_trained_batch_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto found = lower_batch_statistics(lowering, id);
  if (!found) return false;
  const Dims whole = lowering.dims(node.inputs[0]);
  Dims dims(whole.size(), 1);
  dims[1] = whole[1];
  Draft draft{.links = {{.kind = Link::Kind::Normalise, .operand = 1}},
              .operands = {node.inputs[0], {}, {}, {}},
              .vectors_are_padded = true,
              .nodes = {id},
              .result = node.outputs[0]};
  std::size_t operand = 1;
  for (const Placement& vector : {found->mean, found->factor, found->shift}) {
    draft.vectors[operand++] = row_major_placement(vector.buffer, DataType::Float32, dims);
  }
  return lower_chain(lowering, std::move(draft));
}

// A batch norm that no convolution took in: a factor and a shift for each channel.
bool lower_batch_norm(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (is_training_batch_norm(node, lowering.graph().opset())) {
    return lower_trained_batch_norm(lowering, id);
  }
  if (!is_usable(lowering, node.inputs[0]) || node.inputs.size() != 5) return false;
  const auto affine =
      batch_norm_affine(node, [&](ValueId value) { return lowering.constant(value); });
  const std::size_t rank = lowering.dims(node.inputs[0]).size();
  if (!affine || rank < 2) return false;
  Draft draft{.links = {}, .operands = {node.inputs[0]}, .nodes = {id}, .result = node.outputs[0]};
  add_vector_link(lowering, draft, BinaryOp::Mul, affine->scale, rank);
  add_vector_link(lowering, draft, BinaryOp::Add, affine->shift, rank);
  return lower_chain(lowering, std::move(draft));
}

}  // namespace

void add_elementwise_lowering(LowerTable& table) {
  for (const char* op :
       {"Relu", "Sigmoid",     "Tanh",     "Exp",      "Log",   "Sqrt", "Neg",       "Abs",
        "Erf",  "Reciprocal",  "Softplus", "Softsign", "Floor", "Ceil", "HardSwish", "LeakyRelu",
        "Elu",  "HardSigmoid", "Gelu",     "Clip",     "Pow",   "Add",  "Sub",       "Mul",
        "Div",  "Max",         "Min",      "Sum",      "PRelu", "Where"}) {
    table[op] = lower_elementwise;
  }
  table["Dropout"] = lower_elementwise;
  table["assay.Dropout"] = lower_elementwise;
  table["assay.ReluGradient"] = lower_relu_gradient;
  table["BatchNormalization"] = lower_batch_norm;
}

}  // namespace assay::cpu
