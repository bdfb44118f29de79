// What a gradient rule sees of its node, and where it puts nodes and gradients.
//
// A rule is handed the gradients of its node's outputs and gives one to each input that wants it.
// What it emits are ordinary nodes; shapes of what it emits are inferred afterwards.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assay/infer.h"
#include "base/fail.h"
#include "kernels/shape_math.h"

namespace assay::transform {

// The graph that grows while gradients are collected.
class GradientBuilder {
 public:
  explicit GradientBuilder(const Inferred& model);

  Graph& graph() { return graph_; }
  const Inferred& model() const { return model_; }
  std::int64_t opset() const { return graph_.opset(); }

  // A node named after the one whose gradient is being taken. Outputs may be left out.
  std::vector<ValueId> emit(std::string op, std::vector<ValueId> inputs,
                            std::vector<Attribute> attributes, std::string_view domain,
                            const std::vector<bool>& has_output);
  ValueId constant(Tensor tensor);
  // Whose gradient is taken from now on.
  void begin(NodeId node, std::string name) {
    current_ = node;
    prefix_ = std::move(name);
  }
  const std::string& name() const { return prefix_; }  // of that node, as people see it
  const std::vector<NodeId>& gradient_of() const { return gradient_of_; }  // by node emitted

  // Adds to what the value's readers gave so far.
  void give(ValueId value, ValueId gradient);
  ValueId total(ValueId value);  // invalid where nobody gave anything

 private:
  const Inferred& model_;
  Graph graph_;
  NodeId current_;
  std::string prefix_;
  std::vector<NodeId> gradient_of_;
  std::size_t emitted_ = 0;
  std::vector<std::vector<ValueId>> given_;  // by value
};

class GradientContext {
 public:
  GradientContext(GradientBuilder& builder, const Node& node, const std::vector<bool>& wants)
      : builder_(builder), node_(node), wants_(wants) {}

  const Node& node() const { return node_; }
  std::int64_t opset() const { return builder_.opset(); }
  ValueId in(std::size_t input) const { return node_.inputs[input]; }
  ValueId out(std::size_t output = 0) const { return node_.outputs[output]; }
  bool has(std::size_t input) const { return node_.has_input(input); }
  bool wants(std::size_t input) const { return has(input) && wants_[node_.inputs[input].number]; }
  const ValueType& type(ValueId value) const { return builder_.model().graph.value(value).type; }
  Dims dims(ValueId value) const;
  Dims input_dims(std::size_t input) const { return dims(in(input)); }
  Dims output_dims() const { return dims(out()); }
  std::size_t axis(std::int64_t given, std::size_t rank) const;  // fails when out of range
  const Tensor* known(std::size_t input) const;  // content that does not change; null otherwise
  Dims known_ints(std::size_t input) const;      // fails where it is not known

  // Of an output; invalid if nothing reads it.
  ValueId gradient_if_any(std::size_t output) {
    return node_.has_output(output) ? builder_.total(out(output)) : ValueId{};
  }
  // Of an output; zeros if nothing reads it.
  ValueId gradient(std::size_t output = 0);
  void give(std::size_t input, ValueId gradient) { builder_.give(in(input), gradient); }

  // --- nodes
  ValueId node(std::string op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
  ValueId own(std::string op, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {});
  std::vector<ValueId> own_with_outputs(std::string op, std::vector<ValueId> inputs,
                                        std::size_t outputs, std::vector<Attribute> attributes);
  // An op with an output for the gradient of each of `receivers`, which are inputs of the node;
  // outputs for those that want none are left out.
  void give_from_own(std::string op, std::vector<ValueId> inputs,
                     std::span<const std::size_t> receivers, std::vector<Attribute> attributes);
  ValueId add(ValueId a, ValueId b) { return node("Add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) { return node("Sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return node("Mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) { return node("Div", {a, b}); }
  ValueId neg(ValueId a) { return node("Neg", {a}); }
  ValueId number(double number);  // of the node's element type
  ValueId ints(const Dims& numbers);
  ValueId times(ValueId a, double factor) { return factor == 1 ? a : mul(a, number(factor)); }
  // `value` where `condition` holds, else zero.
  ValueId where(ValueId condition, ValueId value) {
    return node("Where", {condition, value, number(0)});
  }
  ValueId reshaped(ValueId value, const Dims& dims) { return node("Reshape", {value, ints(dims)}); }
  ValueId transposed(ValueId value, Dims order) {
    return node("Transpose", {value}, {{"perm", std::move(order)}});
  }
  ValueId expanded(ValueId value, const Dims& dims) { return node("Expand", {value, ints(dims)}); }
  ValueId sum(ValueId value, const Dims& axes, bool keeps_axes);
  ValueId slice(ValueId value, const Dims& starts, const Dims& ends, const Dims& axes);
  // A value of dimensions `from`, summed over whatever `to` was broadcast along.
  ValueId sum_to(ValueId value, const Dims& from, const Dims& to);
  // As above for the gradient of an input that was broadcast to the result.
  void give_broadcast(std::size_t input, ValueId gradient) {
    give(input, sum_to(gradient, output_dims(), input_dims(input)));
  }
  std::vector<Attribute> attributes(std::initializer_list<std::string_view> names) const;
  std::vector<Attribute> window_attributes() const;  // of a convolution or pool

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_bad_input("{} '{}' has no gradient: {}", node_.op, builder_.name(),
                   fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  GradientBuilder& builder_;
  const Node node_;  // a copy: the graph's nodes move while it grows
  const std::vector<bool>& wants_;
};

using GradientRule = void (*)(GradientContext&);
// Keys are "Conv" for the standard domain and "domain:Op" for others.
using GradientTable = std::unordered_map<std::string_view, GradientRule>;

// Null for an op that has none.
GradientRule find_gradient_rule(const Node& node);

void add_elementwise_gradients(GradientTable& table);
void add_activation_gradients(GradientTable& table);
void add_dropout_gradients(GradientTable& table);
void add_convolution_gradients(GradientTable& table);
void add_matrix_gradients(GradientTable& table);
void add_normalization_gradients(GradientTable& table);
void add_pooling_gradients(GradientTable& table);
void add_movement_gradients(GradientTable& table);
void add_reduction_gradients(GradientTable& table);
void add_loss_gradients(GradientTable& table);
void add_recurrent_gradients(GradientTable& table);

}  // namespace assay::transform
