#include "transform/cast_precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "assay/precision.h"
#include "base/fail.h"
#include "base/text.h"
#include "graph/half.h"
#include "graph/node_kinds.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

constexpr float kLargestHalf = 65504.0f;
constexpr std::size_t kConvertedAtOnce = 1 << 16;

// A finite number that float16 cannot hold becomes the largest it has; infinity stays.
std::uint16_t saturated_half(float number) {
  if (std::isfinite(number)) number = std::clamp(number, -kLargestHalf, kLargestHalf);
  return graph::float_to_half(number);
}

float widened(std::uint16_t number, DataType type) {
  return type == DataType::Float16 ? graph::half_to_float(number)
                                   : graph::bfloat16_to_float(number);
}

std::uint16_t narrowed(float number, DataType type) {
  return type == DataType::Float16 ? saturated_half(number) : graph::float_to_bfloat16(number);
}

template <typename T>
T element_at(const std::byte* bytes, std::size_t i) {
  T element;
  std::memcpy(&element, bytes + i * sizeof(T), sizeof(T));
  return element;
}

float float_at(const std::byte* bytes, DataType type, std::size_t i) {
  if (type == DataType::Float32) return element_at<float>(bytes, i);
  return widened(element_at<std::uint16_t>(bytes, i), type);
}

void convert(const Tensor& from, DataType type, std::span<std::byte> to) {
  const std::byte* bytes = from.bytes().data();
  const auto count = static_cast<std::size_t>(from.elements());
  for (std::size_t i = 0; i < count; ++i) {
    const float number = float_at(bytes, from.type(), i);
    if (type == DataType::Float32) {
      std::memcpy(to.data() + i * sizeof(number), &number, sizeof(number));
    } else {
      const std::uint16_t half = narrowed(number, type);
      std::memcpy(to.data() + i * sizeof(half), &half, sizeof(half));
    }
  }
}

constexpr const char* kCachedAttention = "CachedAttention";

bool is_plain_float(DataType type) {
  return type == DataType::Float32 || is_half(type);
}

}  // namespace

bool is_half(DataType type) {
  return type == DataType::BFloat16 || type == DataType::Float16;
}

bool is_key_value_cache(const Graph& graph, const Carried& state) {
  const auto readers = consumers(graph);
  return readers[state.output.number].empty() &&
         std::ranges::all_of(readers[state.input.number], [&](NodeId reader) {
           return graph.node(reader).op == kCachedAttention;
         });
}

Tensor converted(const Tensor& tensor, DataType type) {
  if (tensor.type() == type) return tensor;
  const auto elements = static_cast<std::size_t>(tensor.elements());
  const auto bytes = static_cast<std::size_t>(byte_size(type, tensor.elements()).value_or(0));
  if (elements <= kConvertedAtOnce) {
    std::vector<std::byte> made(bytes);
    convert(tensor, type, made);
    return Tensor(type, tensor.dims(), heap_storage(std::move(made)));
  }
  const auto fill = [tensor, type](std::span<std::byte> to) {
    convert(tensor, type, to);
    tensor.release();
  };
  return Tensor(type, tensor.dims(), generated_storage(bytes, fill));
}

namespace {

using Names = std::set<std::string, std::less<>>;

// Ops whose result in 16 bits is the exact one, rounded: engines compute them in float32 at least.
const Names& half_ops() {
  static const Names kOps = {"Conv",
                             "MatMul",
                             "Gemm",
                             "MaxPool",
                             "AveragePool",
                             "GlobalAveragePool",
                             "Relu",
                             "LeakyRelu",
                             "Clip",
                             "Sigmoid",
                             "Tanh",
                             "HardSwish",
                             "Elu",
                             "HardSigmoid",
                             "Gelu",
                             "Softplus",
                             "Softsign",
                             "GlobalMaxPool",
                             "Softmax",
                             "LogSoftmax",
                             "Gather",
                             "PRelu",
                             "LayerNormalization"};
  return kOps;
}

// Likewise; with an operand that is float32 already they stay in it.
const Names& following_ops() {
  static const Names kOps = {"Add",   "Sub",    "Mul",       "Div",      "Max",     "Min",
                             "Sum",   "Neg",    "Abs",       "Floor",    "Ceil",    "Erf",
                             "Where", "Concat", "Reshape",   "Flatten",  "Squeeze", "Unsqueeze",
                             "Slice", "Split",  "Transpose", "Identity", "Expand",  "Pad"};
  return kOps;
}

// Ops that name the types of their results in an attribute, or convert: as the graph declares them.
const Names& declared_ops() {
  static const Names kOps = {"Cast",           "CastLike",          "ConstantOfShape",
                             "EyeLike",        "RandomNormal",      "RandomNormalLike",
                             "RandomUniform",  "RandomUniformLike", "Bernoulli",
                             "Multinomial",    "SequenceEmpty",     "HannWindow",
                             "HammingWindow",  "BlackmanWindow",    "MelWeightMatrix",
                             "QuantizeLinear", "DequantizeLinear"};
  return kOps;
}

// The operand that is a layer's weight.
bool is_weight_of(const Node& node, std::size_t input) {
  static const Names kLayers = {"Conv", "MatMul", "Gemm", "FusedMatMul"};
  return input == 1 && kLayers.contains(node.op);
}

// A layer that computes in float32 and has matrices of weights.
bool is_matrix_of_recurrent(const Node& node, std::size_t input) {
  return (node.is("LSTM") || node.is("GRU")) && (input == 1 || input == 2);
}

// Numbers rather than weights: float32 ops read them unrounded.
constexpr std::int64_t kFewNumbers = 16;

class Caster {
 public:
  using Stored = PrecisionPlan::Stored;

  Caster(Rewritten source, const PrecisionPlan& plan)
      : source_(std::move(source)),
        plan_(plan),
        graph_(old().declarations()),
        known_(source_.model.known),
        types_(old().value_count()),
        in_half_(old().value_count()),
        in_float_(old().value_count()) {
    known_.resize(old().value_count());
    for (std::uint32_t i = 0; i < old().value_count(); ++i) {
      const ValueType& type = old().value(ValueId{i}).type;
      types_[i] = type.is_tensor() ? type.element : DataType::Undefined;
      if (const Tensor* tensor = constant(ValueId{i})) types_[i] = tensor->type();
    }
  }

  Rewritten run() && {
    if (plan_.narrows_caches) narrow_caches();
    for (const ValueId input : old().inputs()) {
      if (is_float(input)) made_as(input, graph_.value(input).type.element, input);
    }
    for (std::uint32_t i = 0; i < old().node_count(); ++i) find_captured(old().node(NodeId{i}));
    for (std::uint32_t i = 0; i < old().node_count(); ++i) add(NodeId{i});
    for (const auto& [value, tensor] : old().initializers()) {
      if (graph_.initializer(value) == nullptr && must_stay(value))
        graph_.add_initializer(value, tensor);
    }
    source_.model.graph = std::move(graph_);
    source_.model.known = std::move(known_);
    source_.origins = std::move(origins_);
    return std::move(source_);
  }

 private:
  enum class Width { Half, Float, Declared };

  const Graph& old() const { return source_.model.graph; }

  const Tensor* constant(ValueId id) const {
    if (const Tensor* stored = old().initializer(id)) return stored;
    return source_.model.known_value(id);
  }

  bool is_float(ValueId id) const { return id.is_valid() && is_plain_float(types_[id.number]); }
  // The type of 16 bits that the value has where it has one.
  DataType half_type(ValueId id) const {
    const DataType own = types_[id.number];
    return plan_.type == DataType::Undefined && is_half(own) ? own : plan_.type;
  }
  bool may_be_half(ValueId id) const { return is_float(id) && is_half(half_type(id)); }

  bool is_output(ValueId id) const {
    return std::ranges::find(old().outputs(), id) != old().outputs().end();
  }
  // Read under its own number by somebody whom this pass does not rewrite.
  bool must_stay(ValueId id) const {
    return is_given_or_taken(id) || !is_plain_float(types_[id.number]) || stays_.contains(id);
  }
  bool is_given_or_taken(ValueId id) const {
    return is_output(id) || std::ranges::find(old().inputs(), id) != old().inputs().end();
  }
  // Others than cached attention expect what is carried as it was declared.
  void narrow_caches() {
    for (const Carried& state : old().carried()) {
      const bool is_narrowed = is_key_value_cache(old(), state) && may_be_half(state.input) &&
                               half_type(state.input) == plan_.type;
      if (!is_narrowed) continue;
      narrowed_.insert({state.input, state.output});
      graph_.value(state.input).type.element = plan_.type;
    }
  }
  bool keeps_narrowed(const Node& node) const {
    return node.op == kCachedAttention && narrowed_.contains(node.inputs[3]) &&
           narrowed_.contains(node.inputs[4]);
  }
  void find_captured(const Node& node) {
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) captured_.insert(capture.outer);
    });
  }

  ValueId& slot(ValueId id, DataType type) {
    return (is_half(type) ? in_half_ : in_float_)[id.number];
  }
  void made_as(ValueId id, DataType type, ValueId made) { slot(id, type) = made; }
  bool is_made_as(ValueId id, DataType type) const {
    return (is_half(type) ? in_half_ : in_float_)[id.number].is_valid();
  }

  ValueId new_value(ValueId like, DataType type) {
    ValueType wanted = old().value(like).type;
    wanted.element = type;
    const ValueId id =
        graph_.add_value(old().value(like).name + " (" + std::string(name(type)) + ")", wanted);
    known_.emplace_back();
    return id;
  }

  // The first form that is asked for keeps the value's number and name.
  ValueId add_constant(ValueId like, const Tensor& tensor) {
    const bool is_free = !is_given_or_taken(like) && !captured_.contains(like) &&
                         !known_[like.number].has_value() && graph_.initializer(like) == nullptr;
    const ValueId id = is_free ? like : new_value(like, tensor.type());
    graph_.value(id).type = tensor_type(tensor.type(), tensor.shape());
    graph_.add_initializer(id, tensor);
    return id;
  }

  void add_cast(ValueId from, ValueId to, DataType type, NodeId origin) {
    Node node{.name = "", .op = "Cast", .domain = "", .inputs = {from}, .outputs = {to}};
    node.set("to", static_cast<std::int64_t>(type));
    graph_.add_node(std::move(node));
    origins_.push_back(source_.origins[origin.number]);
  }

  // A constant in this type. Where float32 ops read it, it has been rounded all the same: it is one
  // weight, however many read it.
  ValueId constant_as(ValueId id, DataType type, NodeId reader) {
    const Tensor& tensor = *constant(id);
    if (!may_be_half(id) || (!is_half(type) && tensor.elements() <= kFewNumbers) ||
        keeps_constants(old().node(reader))) {
      return add_constant(id, converted(tensor, type));
    }
    const Tensor rounded = converted(tensor, half_type(id));
    if (is_half(type)) return add_constant(id, rounded);
    if (plan_.widens_constants) return add_constant(id, converted(rounded, type));
    const ValueId half = as(id, half_type(id), reader);
    const ValueId wide = new_value(id, type);
    add_cast(half, wide, type, reader);
    return wide;
  }

  // Statistics of a norm that nothing could be folded into.
  static bool keeps_constants(const Node& node) { return node.is("BatchNormalization"); }

  ValueId as(ValueId id, DataType type, NodeId reader) {
    if (!is_float(id)) return kept(id);
    const bool is_own = constant(id) != nullptr && keeps_constants(old().node(reader));
    if (is_made_as(id, type) && !is_own) return slot(id, type);
    ValueId made;
    if (constant(id) != nullptr) {
      made = constant_as(id, type, reader);
      if (is_own) return made;
    } else {
      const ValueId from = slot(id, is_half(type) ? DataType::Float32 : DataType::Float16);
      if (!from.is_valid()) return kept(id);
      made = new_value(id, type);
      add_cast(from, made, type, reader);
    }
    made_as(id, type, made);
    return made;
  }

  // As it is in the graph given.
  ValueId kept(ValueId id) {
    stays_.insert(id);
    return id;
  }

  bool has_wide_operand(const Node& node) const {
    return std::ranges::any_of(node.inputs, [&](ValueId id) {
      if (!is_float(id) || constant(id) != nullptr) return false;
      return !is_made_as(id, DataType::Float16) && old().producer(id).is_valid();
    });
  }

  // The least of any of its values.
  Stored stored_by(const Node& node) const {
    Stored least = Stored::Everything;
    const auto look_at = [&](ValueId id) {
      if (!may_be_half(id)) return;
      const bool is_float16 = half_type(id) == DataType::Float16;
      least = std::min(least, is_float16 ? plan_.in_float16 : plan_.in_bfloat16);
    };
    std::ranges::for_each(node.inputs, look_at);
    std::ranges::for_each(node.outputs, look_at);
    return least;
  }

  bool all_may_be_half(const Node& node) const {
    const auto fits = [&](ValueId id) { return !is_float(id) || may_be_half(id); };
    return std::ranges::all_of(node.inputs, fits) && std::ranges::all_of(node.outputs, fits);
  }

  Width width_of(const Node& node) const {
    if (keeps_narrowed(node)) return Width::Half;
    if (!node.is_standard() && node.op != "FusedMatMul") return Width::Float;
    if (declared_ops().contains(node.op)) return Width::Declared;
    if (!all_may_be_half(node) || node.outputs.size() > 1) {
      if (node.op != "Split" || !all_may_be_half(node)) return Width::Float;
    }
    if (const Stored stored = stored_by(node); stored != Stored::Everything) {
      const bool picks_weights =
          stored == Stored::Weights && node.is("Gather") && constant(node.inputs[0]) != nullptr;
      return picks_weights ? Width::Half : Width::Float;
    }
    if (half_ops().contains(node.op) || node.op == "FusedMatMul") return Width::Half;
    if (following_ops().contains(node.op) && !has_wide_operand(node)) return Width::Half;
    return Width::Float;
  }

  void add(NodeId id) {
    const Node& given = old().node(id);
    Node node = given;
    const Width width = width_of(given);
    const Stored stored = stored_by(given);
    const auto wanted = [&](ValueId value) {
      if (width == Width::Declared) return types_[value.number];
      return width == Width::Half ? half_type(value) : DataType::Float32;
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      ValueId& input = node.inputs[i];
      if (!input.is_valid()) continue;
      const bool is_weight = (stored == Stored::Weights && is_weight_of(node, i)) ||
                             (plan_.widens_constants && is_matrix_of_recurrent(node, i));
      const bool reads_half_weight = is_weight && stored != Stored::Nothing && may_be_half(input) &&
                                     constant(input) != nullptr;
      if (is_float(input)) {
        input = as(input, reads_half_weight ? half_type(input) : wanted(input), id);
      } else {
        kept(input);
      }
    }
    keep_captures(id, node);
    std::vector<std::pair<ValueId, ValueId>>
        casts;  // to outputs of the graph, which keep their type
    for (ValueId& output : node.outputs) {
      if (!is_float(output)) continue;
      const DataType type = wanted(output);
      made_as(output, type, output);
      if (type == types_[output.number]) continue;
      if (is_output(output) && !narrowed_.contains(output)) {
        const ValueId made = new_value(output, type);
        casts.emplace_back(made, output);
        made_as(output, type, made);
        made_as(output, types_[output.number], output);
        output = made;
      } else {
        graph_.value(output).type.element = type;
      }
    }
    graph_.add_node(std::move(node));
    origins_.push_back(source_.origins[id.number]);
    for (const auto& [from, to] : casts) add_cast(from, to, types_[to.number], id);
  }

  // Bodies see the values of the graph around them in the types they have always had.
  void keep_captures(NodeId id, Node& node) {
    for (Attribute& attribute : node.attributes) {
      if (auto* one = std::get_if<GraphPtr>(&attribute.value)) *one = with_captures(id, **one);
      if (auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
        for (GraphPtr& body : *many) body = with_captures(id, *body);
      }
    }
  }

  GraphPtr with_captures(NodeId id, const Graph& body) {
    auto changed = std::make_shared<Graph>(body);
    for (Capture capture : changed->take_captures()) {
      const ValueId outer = capture.outer;
      if (is_float(outer) && constant(outer) == nullptr) {
        capture.outer = as(outer, types_[outer.number], id);
      } else {
        kept(outer);
      }
      changed->add_capture(capture);
    }
    return changed;
  }

  Rewritten source_;
  PrecisionPlan plan_;
  Graph graph_;
  std::vector<Tensor> known_;
  std::vector<std::vector<NodeId>> origins_;
  std::vector<DataType> types_;    // by value, as given
  std::vector<ValueId> in_half_;   // by value: where it is in 16 bits
  std::vector<ValueId> in_float_;  // and in float32
  std::set<ValueId> stays_;
  std::set<ValueId> narrowed_;  // caches, and what they are carried on as
  std::set<ValueId> captured_;  // by bodies of nodes
};

}  // namespace

bool holds_halves(const Graph& graph) {
  return std::ranges::any_of(graph.values(), [](const Value& value) {
    return value.type.is_tensor() && is_half(value.type.element);
  });
}

Rewritten with_precision(Rewritten source, const PrecisionPlan& plan) {
  const bool changes = plan.type != DataType::Undefined || holds_halves(source.model.graph);
  return changes ? Caster(std::move(source), plan).run() : std::move(source);
}

}  // namespace assay::transform

namespace assay {

using namespace assay::transform;

DataType float_precision(std::string_view name) {
  if (name == "fp32") return DataType::Float32;
  if (name == "fp16") return DataType::Float16;
  if (name == "bf16") return DataType::BFloat16;
  if (name == "int8") return DataType::Int8;
  fail_usage("there is no precision '{}': choose from fp32, fp16, bf16, int8",
             without_control_characters(name));
}

std::vector<std::string> precision_warnings(const Graph& graph, DataType type) {
  if (type != DataType::Float16) return {};
  std::vector<std::string> warnings;
  for (const auto& [value, tensor] : graph.initializers()) {
    if (tensor.type() != DataType::Float32 && tensor.type() != DataType::BFloat16) continue;
    const std::byte* bytes = tensor.elements() > 0 ? tensor.bytes().data() : nullptr;
    std::int64_t count = 0;
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
      const float number = float_at(bytes, tensor.type(), static_cast<std::size_t>(i));
      if (std::isfinite(number) && std::abs(number) > kLargestHalf) ++count;
    }
    tensor.release();
    if (count == 0) continue;
    warnings.push_back(fmt::format(
        "'{}': {} of {} numbers are beyond what float16 holds and become 65504 or -65504; bf16 "
        "has the range of fp32",
        graph.value(value).name, count, tensor.elements()));
  }
  return warnings;
}

CastModel cast_precision(const Graph& graph, DataType type) {
  if (!graph.carried().empty())
    fail_usage("a graph that carries state from run to run cannot be cast to another precision");
  if (!is_plain_float(type)) fail_usage("a model cannot be cast to {}", name(type));
  GraphEdit edit(infer_shapes(graph));
  fold_batch_norms(edit);
  drop_unread_nodes(edit);
  Rewritten cast = with_precision(std::move(edit).finish(), {.type = type});
  return {std::move(cast.model.graph), precision_warnings(graph, type)};
}

}  // namespace assay
