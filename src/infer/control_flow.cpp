// If with an unknown condition, Loop and Scan: inference of their subgraphs.
#include "infer/dims.h"
#include "infer/inference.h"
#include "infer/trip_count.h"

namespace assay::infer {

namespace {

// Loops nested deeper than this are inferred in one pass, so that passes do not multiply.
constexpr int kDeepestRefinedLoop = 2;

const Graph& subgraph_of(const InferContext& context, const char* attribute) {
  const auto* graph = context.node().get<GraphPtr>(attribute);
  if (graph == nullptr || *graph == nullptr) context.fail("has no subgraph '{}'", attribute);
  return **graph;
}

ValueType output_type(const Inference& inference, std::size_t i) {
  return inference.graph().value(inference.graph().outputs()[i]).type;
}

bool is_true(const Tensor* content) {
  return content != nullptr && content->elements() == 1 && content->to_int64().front() != 0;
}

bool is_deep(const Inference& inference) {
  return inference.depth() > kDeepestRefinedLoop;
}

ValueType without_shape(ValueType type) {
  if (type.is_tensor()) type.shape.reset();
  return type;
}

}  // namespace

ValueType either_type(const InferContext& context, const ValueType& a, const ValueType& b,
                      const std::string& what) {
  if (a.kind != b.kind) context.fail("{} is {} or {}", what, a.to_string(), b.to_string());
  if (!a.is_tensor()) {
    ValueType merged = a;
    if (a.inner && b.inner)
      merged.inner =
          std::make_shared<const ValueType>(either_type(context, *a.inner, *b.inner, what));
    return merged;
  }
  if (a.element == DataType::Undefined || b.element == DataType::Undefined)
    return tensor_type(DataType::Undefined);
  if (a.element != b.element)
    context.fail("{} is {} or {}", what, name(a.element), name(b.element));
  if (!a.shape || !b.shape || a.shape->rank() != b.shape->rank()) return tensor_type(a.element);
  Shape shape = *a.shape;
  for (std::size_t axis = 0; axis < shape.rank(); ++axis)
    shape[axis] = either_dim(shape[axis], (*b.shape)[axis]);
  return tensor_type(a.element, std::move(shape));
}

namespace {

// At greater depth a branch that does not fit is an error: taking the other one infers it again,
// and these repetitions must not multiply.
constexpr int kDeepestChoice = 3;

std::optional<std::string> complaint_of(Inference& branch) {
  try {
    branch.run();
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

// A model may have a branch for other input shapes; that branch cannot be the one taken.
std::optional<bool> only_branch_that_fits(Inference& inference, const InferContext& context,
                                          Inference& yes, Inference& no) {
  const Findings::Mark before = inference.limits().findings.mark();
  const auto wrong_then = complaint_of(yes);
  const auto wrong_else = complaint_of(no);
  if (!wrong_then && !wrong_else) return std::nullopt;
  const bool has_choice = !wrong_then != !wrong_else && inference.depth() <= kDeepestChoice;
  if (!has_choice) throw Error(ErrorKind::BadInput, wrong_then ? *wrong_then : *wrong_else);
  inference.limits().findings.take_back(before);
  inference.limits().findings.warn(fmt::format(
      "If '{}': its {} branch does not fit these shapes, so the other is taken ({})",
      context.node_name(), wrong_then ? "then" : "else", wrong_then ? *wrong_then : *wrong_else));
  return !wrong_then;
}

}  // namespace

std::optional<bool> infer_if(Inference& inference, Node& node, InferContext& context) {
  Inference yes = inference.inference_of(subgraph_of(context, "then_branch"));
  Inference no = inference.inference_of(subgraph_of(context, "else_branch"));
  const auto only = only_branch_that_fits(inference, context, yes, no);
  if (only) return only;
  const std::size_t count = context.output_count();
  if (yes.graph().outputs().size() < count || no.graph().outputs().size() < count) {
    context.fail("has {} outputs, its branches {} and {}", count, yes.graph().outputs().size(),
                 no.graph().outputs().size());
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::string what = fmt::format("output {}, depending on the branch,", i);
    context.set(i, either_type(context, output_type(yes, i), output_type(no, i), what));
  }
  context.leave_open("its branches give different shapes or one is not known");
  node.set("then_branch", Inference::finished(yes));
  node.set("else_branch", Inference::finished(no));
  return std::nullopt;
}

namespace {

struct LoopShape {
  const Graph* body = nullptr;
  std::size_t carried = 0;
  std::size_t scanned = 0;
};

LoopShape loop_shape(const InferContext& context) {
  LoopShape loop;
  loop.body = &subgraph_of(context, "body");
  loop.carried = context.input_count() < 2 ? 0 : context.input_count() - 2;
  if (loop.body->inputs().size() != loop.carried + 2) {
    context.fail("its body takes {} inputs, it passes {}", loop.body->inputs().size(),
                 loop.carried + 2);
  }
  if (loop.body->outputs().size() < loop.carried + 1) {
    context.fail("its body returns {} values, at least {} are needed", loop.body->outputs().size(),
                 loop.carried + 1);
  }
  loop.scanned = loop.body->outputs().size() - 1 - loop.carried;
  if (context.output_count() > loop.carried + loop.scanned) {
    context.fail("has {} outputs, its body gives {}", context.output_count(),
                 loop.carried + loop.scanned);
  }
  return loop;
}

// One inference of the body. With `assumes_true` the condition is assumed to be true on entry. This
// is sound if the body then returns true again.
Inference loop_pass(Inference& outer, const LoopShape& loop, const std::vector<ValueType>& carried,
                    bool assumes_true) {
  Inference inner = outer.inference_of(*loop.body);
  const auto inputs = loop.body->inputs();
  inner.set_type(inputs[0], tensor_type(DataType::Int64, Shape{}));
  inner.set_type(inputs[1], tensor_type(DataType::Bool, Shape{}));
  const std::uint8_t yes = 1;
  if (assumes_true)
    inner.set_known(inputs[1], Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&yes, 1)));
  for (std::size_t i = 0; i < loop.carried; ++i) inner.set_type(inputs[2 + i], carried[i]);
  inner.run();
  return inner;
}

bool keeps_going(const Inference& body) {
  return is_true(body.known_value(body.graph().outputs()[0]));
}

// A carried value is the initial one in the first iteration, later the one that the body returned.
bool widen(const InferContext& context, const Inference& body, std::vector<ValueType>& carried,
           bool drops) {
  bool changed = false;
  for (std::size_t i = 0; i < carried.size(); ++i) {
    const std::string what = fmt::format("the value carried at position {}", i);
    const ValueType returned = output_type(body, 1 + i);
    if (returned.kind != carried[i].kind) continue;  // an optional that the first iteration fills
    ValueType merged = either_type(context, carried[i], returned, what);
    if (merged == carried[i]) continue;
    carried[i] = drops ? without_shape(std::move(merged)) : std::move(merged);
    changed = true;
  }
  return changed;
}

std::vector<ValueType> initial_types(const Inference& inference, const InferContext& context,
                                     std::size_t first, std::size_t count) {
  std::vector<ValueType> types;
  const bool drops = is_deep(inference);
  for (std::size_t i = 0; i < count; ++i) {
    types.push_back(drops ? without_shape(context.type(first + i)) : context.type(first + i));
  }
  return types;
}

struct LoopResult {
  std::optional<Inference> body;
  bool goes_on = false;  // the condition provably holds in every iteration
};

// Infers the body until the carried types no longer change. After a few passes all carried shapes
// become unknown, which always converges.
LoopResult settled_loop(Inference& inference, const InferContext& context, const LoopShape& loop,
                        std::vector<ValueType>& carried, bool starts) {
  constexpr int kMostPasses = 3;
  if (is_deep(inference)) return {.body = loop_pass(inference, loop, carried, false)};
  const Findings::Mark before = inference.limits().findings.mark();
  LoopResult result{.body = loop_pass(inference, loop, carried, starts), .goes_on = starts};
  for (int pass = 0;; ++pass) {
    bool is_stale = widen(context, *result.body, carried, pass > 0);
    if (result.goes_on && !keeps_going(*result.body)) {
      result.goes_on = false;
      is_stale = true;
    }
    if (!is_stale || pass > kMostPasses) return result;
    if (pass == kMostPasses) {
      for (ValueType& type : carried) type = without_shape(std::move(type));
      result.goes_on = false;
    }
    inference.limits().findings.take_back(before);
    result.body.emplace(loop_pass(inference, loop, carried, result.goes_on));
  }
}

}  // namespace

namespace {

// How many slices a Loop collects.
Dim rounds_of(Inference& inference, const InferContext& context, const LoopShape& loop,
              bool goes_on) {
  const auto most = context.integer(0);
  if (goes_on && most) return Dim(std::max<std::int64_t>(*most, 0));
  if (is_deep(inference)) return {};
  const auto counted = trip_count(inference, context, *loop.body);
  return counted ? Dim(*counted) : Dim();
}

}  // namespace

void infer_loop(Inference& inference, Node& node, InferContext& context) {
  const LoopShape loop = loop_shape(context);
  auto carried = initial_types(inference, context, 2, loop.carried);
  const bool starts = !context.has(1) || is_true(context.known(1));
  LoopResult result = settled_loop(inference, context, loop, carried, starts);
  std::optional<Inference>& body = result.body;
  const Dim scan_length = rounds_of(inference, context, loop, result.goes_on);
  for (std::size_t i = 0; i < loop.carried; ++i) {
    const ValueType returned = output_type(*body, 1 + i);
    context.set(i, returned.kind == carried[i].kind ? carried[i] : returned);
  }
  for (std::size_t i = 0; i < loop.scanned; ++i) {
    const ValueType type = output_type(*body, 1 + loop.carried + i);
    std::vector<Dim> dims = {scan_length};
    if (type.shape) dims.insert(dims.end(), type.shape->begin(), type.shape->end());
    context.set(loop.carried + i, type.element,
                type.shape ? std::optional(Shape(dims)) : std::nullopt);
  }
  context.leave_open("the number of iterations, or a carried shape, is only known at run time");
  node.set("body", Inference::finished(*body));
}

namespace {

struct ScanShape {
  const Graph* body = nullptr;
  std::size_t first = 0;    // inputs before the states: sequence_lens in opset 8
  std::size_t batches = 0;  // leading axes that the body does not see: 1 in opset 8
  std::size_t states = 0;
  std::size_t scanned_inputs = 0;
  std::size_t scanned_outputs = 0;
};

ScanShape scan_shape(const InferContext& context) {
  ScanShape scan;
  scan.body = &subgraph_of(context, "body");
  scan.first = scan.batches = context.opset() < 9 ? 1 : 0;
  const std::int64_t scanned = context.node().int_or("num_scan_inputs", 0);
  if (scanned < 0 || scan.body->inputs().size() + scan.first != context.input_count() ||
      static_cast<std::size_t>(scanned) > scan.body->inputs().size()) {
    context.fail("its body takes {} inputs, it passes {}", scan.body->inputs().size(),
                 context.input_count() - scan.first);
  }
  scan.scanned_inputs = static_cast<std::size_t>(scanned);
  scan.states = scan.body->inputs().size() - scan.scanned_inputs;
  if (scan.body->outputs().size() < scan.states ||
      context.output_count() > scan.body->outputs().size()) {
    context.fail("its body returns {} values, it has {} states and {} outputs",
                 scan.body->outputs().size(), scan.states, context.output_count());
  }
  scan.scanned_outputs = scan.body->outputs().size() - scan.states;
  return scan;
}

Dims axes_of(const InferContext& context, const char* attribute, std::size_t count) {
  Dims axes = context.node().ints_or(attribute, Dims(count, 0));
  if (axes.size() != count)
    context.fail("attribute '{}' has {} numbers, needs {}", attribute, axes.size(), count);
  return axes;
}

ValueType without_axes(const InferContext& context, ValueType type, std::size_t leading,
                       std::optional<std::size_t> axis) {
  if (!type.shape) return type;
  std::vector<Dim> dims;
  if (type.shape->rank() < leading) context.fail("{} has no batch axis", type.to_string());
  for (std::size_t i = leading; i < type.shape->rank(); ++i) {
    if (i != axis) dims.push_back((*type.shape)[i]);
  }
  type.shape = Shape(dims);
  return type;
}

}  // namespace

void infer_scan(Inference& inference, Node& node, InferContext& context) {
  const ScanShape scan = scan_shape(context);
  Inference body = inference.inference_of(*scan.body);
  const Dims input_axes = axes_of(context, "scan_input_axes", scan.scanned_inputs);
  const Dims output_axes = axes_of(context, "scan_output_axes", scan.scanned_outputs);
  Dim length, batch;
  for (std::size_t i = 0; i < scan.body->inputs().size(); ++i) {
    const ValueType& type = context.type(scan.first + i);
    std::optional<std::size_t> axis;
    if (type.shape && scan.batches == 1 && type.shape->rank() > 0)
      batch = equal_dims(context, batch, (*type.shape)[0], "batches differ");
    if (i >= scan.states && type.shape) {
      const std::int64_t wanted = input_axes[i - scan.states];
      axis = scan.batches == 1 ? context.axis(1, type.shape->rank())
                               : context.axis(wanted, type.shape->rank());
      length = equal_dims(context, length, (*type.shape)[*axis], "scanned inputs differ in length");
    }
    body.set_type(scan.body->inputs()[i], without_axes(context, type, scan.batches, axis));
  }
  body.run();
  for (std::size_t i = 0; i < scan.states; ++i) context.set(i, context.type(scan.first + i));
  for (std::size_t i = 0; i < scan.scanned_outputs; ++i) {
    ValueType type = output_type(body, scan.states + i);
    if (type.shape) {
      std::vector<Dim> dims = dims_of(*type.shape);
      const std::int64_t wanted = scan.batches == 1 ? 0 : output_axes[i];
      const std::size_t axis = context.axis(wanted, dims.size() + 1);
      dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), length);
      if (scan.batches == 1) dims.insert(dims.begin(), batch);
      type.shape = Shape(dims);
    }
    context.set(scan.states + i, std::move(type));
  }
  node.set("body", Inference::finished(body));
}

}  // namespace assay::infer
