// Ops whose output is as large as their (broadcast) inputs: arithmetic, activations, comparisons.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

void same_as_input(InferContext& context) {
  context.set(0, context.type(0));
}

void broadcast_all_inputs(InferContext& context) {
  context.set(0, context.element(0), broadcast_inputs(context, 0, context.input_count()));
}

namespace {

void broadcast_two(InferContext& context) {
  context.type(1);
  context.set(0, context.element(0), broadcast_inputs(context, 0, 2));
}

void truth_of_two(InferContext& context) {
  context.type(1);
  context.set(0, DataType::Bool, broadcast_inputs(context, 0, 2));
}

void truth_of_one(InferContext& context) {
  context.set(0, DataType::Bool, context.type(0).shape);
}

void where(InferContext& context) {
  context.type(2);
  context.set(0, context.element(1), broadcast_inputs(context, 0, 3));
}

void cast(InferContext& context) {
  context.set(0, context.type_from("to", DataType::Undefined), context.type(0).shape);
}

void cast_like(InferContext& context) {
  context.set(0, context.element(1), context.type(0).shape);
}

// The slope is broadcast to the input, never the other way round.
void prelu(InferContext& context) {
  const Shape* input = context.shape(0);
  const Shape* slope = context.shape(1);
  if (input != nullptr && slope != nullptr)
    check_broadcasts_to(context, *slope, *input, "the slope");
  same_as_input(context);
}

// Softmax, LogSoftmax and Hardmax. Before opset 13 all axes from `axis` on are one, and there may
// be none.
void along_axis(InferContext& context) {
  same_as_input(context);
  const Shape* input = context.shape(0);
  if (input == nullptr) return;
  const bool flattens = context.opset() < 13;
  const std::int64_t axis = context.node().int_or("axis", flattens ? 1 : -1);
  const bool is_behind_all = flattens && axis == static_cast<std::int64_t>(input->rank());
  if (!is_behind_all) context.axis(axis, input->rank());
}

// Since opset 12 the type may differ from the input's; the shape does not.
void bernoulli(InferContext& context) {
  context.set(0, context.type_from("dtype", context.element(0)), context.type(0).shape);
}

}  // namespace

void add_elementwise_rules(RuleTable& table) {
  for (const char* op : {"Abs",
                         "Acos",
                         "Acosh",
                         "Asin",
                         "Asinh",
                         "Atan",
                         "Atanh",
                         "Ceil",
                         "Celu",
                         "Clip",
                         "Cos",
                         "Cosh",
                         "CumSum",
                         "Elu",
                         "Erf",
                         "Exp",
                         "Floor",
                         "Gelu",
                         "HardSigmoid",
                         "HardSwish",
                         "LeakyRelu",
                         "Log",
                         "Mish",
                         "Neg",
                         "Not",
                         "Reciprocal",
                         "Relu",
                         "ReverseSequence",
                         "Round",
                         "Selu",
                         "Shrink",
                         "Sigmoid",
                         "Sign",
                         "Sin",
                         "Sinh",
                         "Softplus",
                         "Softsign",
                         "Sqrt",
                         "Tan",
                         "Tanh",
                         "ThresholdedRelu",
                         "Trilu",
                         "Identity",
                         "BitwiseNot",
                         "ParametricSoftplus",
                         "Affine",
                         "ImageScaler",
                         "ScaledTanh",
                         "FastGelu",
                         "QuickGelu"}) {
    table[op] = same_as_input;
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Mod", "Pow", "BitShift", "BitwiseAnd",
                         "BitwiseOr", "BitwiseXor"}) {
    table[op] = broadcast_two;
  }
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) table[op] = along_axis;
  for (const char* op : {"Min", "Max", "Sum", "Mean"}) table[op] = broadcast_all_inputs;
  for (const char* op :
       {"And", "Or", "Xor", "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    table[op] = truth_of_two;
  }
  table["IsNaN"] = truth_of_one;
  table["IsInf"] = truth_of_one;
  table["Where"] = where;
  table["Cast"] = cast;
  table["CastLike"] = cast_like;
  table["PRelu"] = prelu;
  table["Bernoulli"] = bernoulli;
}

}  // namespace assay::infer
