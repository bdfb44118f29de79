#include "infer/inference.h"

#include "infer/declared.h"
#include "infer/dims.h"
#include "infer/operators/signature.h"
#include "infer/rules.h"
#include "kernels/kernel.h"

namespace assay::infer {

namespace {

constexpr std::int64_t kMostFoldedElements = 65536;
constexpr std::int64_t kMostFoldedFloats = 256;

bool is_control_flow(const Node& node) {
  return node.is("If") || node.is("Loop") || node.is("Scan");
}

// The inferred shape, completed by the declared one. A declaration never overrides an inferred
// shape.
ValueType completed(ValueType inferred, const ValueType& declared) {
  const bool is_nothing =
      inferred.is_tensor() && inferred.element == DataType::Undefined && !inferred.shape;
  if (is_nothing) return declared;
  if (!inferred.is_tensor() || !declared.is_tensor()) return inferred;
  if (inferred.element == DataType::Undefined) inferred.element = declared.element;
  if (!declared.shape) return inferred;
  if (!inferred.shape) inferred.shape = declared.shape;
  if (inferred.shape->rank() != declared.shape->rank()) return inferred;
  for (std::size_t axis = 0; axis < declared.shape->rank(); ++axis) {
    Dim& dim = (*inferred.shape)[axis];
    if (!dim.is_known() && !dim.is_symbol()) dim = (*declared.shape)[axis];
  }
  return inferred;
}

bool contradict(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return true;
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    if (a[axis].is_known() && b[axis].is_known() && a[axis] != b[axis]) return true;
  }
  return false;
}

}  // namespace

// Shape and Size need no content.
std::optional<Tensor> folded_shape(const Node& node, const Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.rank());
  if (node.op == "Size") {
    const auto elements = shape.elements();
    if (!elements) return std::nullopt;
    return Tensor::of_int64({}, {*elements});
  }
  const auto range =
      kernels::slice_range(rank, node.int_or("start", 0), node.int_or("end", rank), 1);
  const Dims dims = shape.values();
  return Tensor::of_int64(
      {range.count}, Dims(dims.begin() + range.first, dims.begin() + range.first + range.count));
}

bool is_worth_knowing(DataType type, std::int64_t elements) {
  const bool is_exact = type == DataType::Bool || (is_integer(type) && bits(type) >= 8);
  const bool is_real = is_floating(type) && bits(type) >= 16;
  if (!is_exact && !is_real) return false;
  return elements <= (is_exact ? kMostFoldedElements : kMostFoldedFloats);
}

Inference::Inference(Graph source, InferenceLimits& limits, int depth)
    : source_(std::move(source)), limits_(limits), depth_(depth - 1) {
  enter_subgraph();
  add_declarations();
}

void Inference::enter_subgraph() {
  if (++depth_ <= kDeepestSubgraph) return;
  fail_bad_input("graph '{}': subgraphs are nested more than {} deep", source_.name,
                 kDeepestSubgraph);
}

// Everything but the nodes, under the same numbers.
void Inference::add_declarations() {
  result_.name = source_.name;
  result_.doc = source_.doc;
  result_.info = source_.info;
  result_.opsets = source_.opsets;
  result_.reserve(source_.value_count(), source_.node_count());
  for (std::uint32_t i = 0; i < source_.value_count(); ++i) {
    Value& value = source_.value(ValueId{i});
    result_.add_value(std::move(value.name), std::move(value.type));
  }
  known_.resize(source_.value_count());
  for (const ValueId input : source_.inputs()) result_.add_input(input);
  for (const ValueId output : source_.outputs()) result_.add_output(output);
  for (const Capture& capture : source_.captures()) result_.add_capture(capture);
  for (const Carried& state : source_.carried()) result_.carry(state);
  for (const auto& [id, tensor] : source_.initializers()) {
    result_.add_initializer(id, tensor);
    set_known(id, tensor);
  }
}

void Inference::set_type(ValueId id, ValueType type) {
  result_.value(id).type = std::move(type);
}

void Inference::set_known(ValueId id, const Tensor& content) {
  if (is_worth_knowing(content.type(), content.elements())) known_[id.number] = content;
}

const Tensor* Inference::known_value(ValueId id) const {
  return id.is_valid() && known_[id.number].has_value() ? &known_[id.number] : nullptr;
}

void Inference::run() {
  for (std::uint32_t i = 0; i < source_.node_count(); ++i)
    visit(std::move(source_.node(NodeId{i})));
}

Inference Inference::inference_of(const Graph& subgraph) {
  Graph copy = subgraph;
  if (copy.opsets.empty()) copy.opsets = result_.opsets;
  Inference inner(std::move(copy), limits_, depth_ + 1);
  for (const Capture& capture : subgraph.captures()) {
    inner.set_type(capture.inner, result_.value(capture.outer).type);
    if (const Tensor* content = known_value(capture.outer))
      inner.set_known(capture.inner, *content);
  }
  return inner;
}

GraphPtr Inference::finished(Inference& inference) {
  return std::make_shared<const Graph>(inference.take_graph());
}

void Inference::visit(Node node) {
  InferContext context(result_, known_, node);
  check_operands(context);
  check_quantization(context);
  if (const auto condition = known_condition(node)) return inline_branch(node, *condition);
  const Rule rule = find_rule(node);
  if (is_control_flow(node)) {
    const auto condition = visit_control_flow(node, context);
    if (condition) return inline_branch(node, *condition);
  } else if (rule != nullptr) {
    rule(context);
  }
  settle_outputs(node, context);
  fold(node, context);
  note_unresolved(node, context, rule != nullptr || is_control_flow(node));
  result_.add_node(std::move(node));
}

// For an If of which only one branch fits, the condition that takes it.
std::optional<bool> Inference::visit_control_flow(Node& node, InferContext& context) {
  if (node.op == "If") return infer_if(*this, node, context);
  if (node.op == "Loop") infer_loop(*this, node, context);
  if (node.op == "Scan") infer_scan(*this, node, context);
  return std::nullopt;
}

void Inference::settle_outputs(const Node& node, InferContext& context) {
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.has_output(i)) settle(node.outputs[i], std::move(context.outputs()[i]), context);
  }
}

void Inference::settle(ValueId id, ValueType inferred, const InferContext& context) {
  Value& value = result_.value(id);
  warn_of_contradiction(id, inferred, context);
  value.type = completed(std::move(inferred), value.type);
}

void Inference::warn_of_contradiction(ValueId id, const ValueType& inferred,
                                      const InferContext& context) {
  const Value& value = result_.value(id);
  if (!inferred.shape || !value.type.shape) return;
  if (!contradict(*inferred.shape, *value.type.shape)) return;
  limits_.findings.warn(
      fmt::format("{} '{}': the file declares {} for '{}', its inputs give {}; the latter is used",
                  context.node().op, context.node_name(), value.type.shape->to_string(), value.name,
                  inferred.shape->to_string()));
}

bool Inference::can_fold(const Node& node) const {
  if (node.is("Constant")) return true;
  const bool reads_only_shape = node.is("Shape") || node.is("Size");
  for (const ValueId input : node.inputs) {
    if (!input.is_valid()) continue;
    if (reads_only_shape) return result_.value(input).type.has_known_shape();
    if (known_value(input) == nullptr) return false;
  }
  for (const ValueId output : node.outputs) {
    if (!output.is_valid()) continue;
    const ValueType& type = result_.value(output).type;
    const auto elements = type.shape ? type.shape->elements() : std::nullopt;
    if (!elements || !is_worth_knowing(type.element, *elements)) return false;
  }
  return folding_work(node) <= limits_.fold_budget;
}

// An upper bound of the elements a kernel touches: each input may be broadcast to the largest
// output.
std::int64_t Inference::folding_work(const Node& node) const {
  std::int64_t largest = 1;
  for (const ValueId output : node.outputs) {
    if (!output.is_valid()) continue;
    largest = std::max(largest, result_.value(output).type.shape->elements().value_or(0));
  }
  std::int64_t work = largest;
  for (const ValueId input : node.inputs) {
    if (input.is_valid()) work += std::max(largest, known_[input.number].elements());
  }
  return work;
}

void Inference::fold(const Node& node, const InferContext& context) {
  if (!kernels::works_in_proportion(node) || !can_fold(node)) return;
  if (node.op == "Shape" || node.op == "Size") {
    const auto content = folded_shape(node, *context.shape(0));
    if (content && node.has_output(0)) set_known(node.outputs[0], *content);
    return;
  }
  std::vector<Tensor> inputs;
  for (const ValueId input : node.inputs) {
    inputs.push_back(input.is_valid() ? known_[input.number] : Tensor());
  }
  limits_.fold_budget -= folding_work(node);
  const auto outputs = kernels::evaluate(node, inputs, context.opset());
  for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
    if (!node.has_output(i)) continue;
    // Content that does not have the type and shape of the rule (a node with contradictory
    // settings) is not recorded: code that relies on it would read out of bounds.
    const ValueType& promised = result_.value(node.outputs[i]).type;
    const bool is_as_promised =
        promised.element == outputs[i].type() && promised.shape == outputs[i].shape();
    if (is_as_promised) set_known(node.outputs[i], outputs[i]);
  }
}

void Inference::note_unresolved(const Node& node, const InferContext& context, bool has_rule) {
  const NodeId id{static_cast<std::uint32_t>(result_.node_count())};
  bool is_complete = true;
  for (const ValueId output : node.outputs) {
    if (!output.is_valid()) continue;
    const ValueType& type = result_.value(output).type;
    is_complete = is_complete && type.is_tensor() && type.has_known_shape();
  }
  if (is_complete) return;
  std::string reason = context.reason();
  if (!has_rule)
    reason = fmt::format("no shape rule for op {}{}{}", node.domain, node.domain.empty() ? "" : ".",
                         node.op);
  for (const ValueId input : node.inputs) {
    if (!reason.empty() || !input.is_valid()) continue;
    const Value& value = result_.value(input);
    if (value.type.is_tensor() && !value.type.has_known_shape())
      reason = fmt::format("the shape of its input '{}' is not known", value.name);
  }
  if (reason.empty())
    reason = "its output's shape depends on values that are only known at run time";
  unresolved_.push_back({id, std::move(reason)});
}

}  // namespace assay::infer
