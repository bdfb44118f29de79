#include "onnx_io/old_opsets.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "base/fail.h"
#include "onnx_io/old_ranks.h"

namespace assay::onnx {

namespace {

using Integers = std::vector<std::int64_t>;

void drop(Node& node, std::string_view attribute) {
  std::erase_if(node.attributes, [&](const Attribute& a) { return a.name == attribute; });
}

void rename(Node& node, std::string_view from, const char* to) {
  for (Attribute& attribute : node.attributes) {
    if (attribute.name == from) attribute.name = to;
  }
}

// The graph being rewritten. Values keep their ids; new ones follow.
class Upgrade {
 public:
  Upgrade(std::int64_t version, const Graph& graph)
      : version_(version), old_(graph), ranks_(old_ranks(graph)) {}

  Graph run();

  std::int64_t version() const { return version_; }
  const Tensor* stored(const Node& node, std::size_t input) const {
    return node.has_input(input) ? old_.initializer(node.inputs[input]) : nullptr;
  }
  std::size_t rank(const Node& node, std::size_t input) const;
  ValueId add_constant(const std::string& name, Tensor tensor);
  // Gives `input` of the node the size-1 axes `axes`.
  void unsqueeze(Node& node, std::size_t input, Integers axes);

  [[noreturn]] void refuse(const Node& node, const std::string& why) const {
    fail_bad_input(
        "{} '{}' of operator set {}: {}; re-export the model with opset_version=17", node.op,
        node.name.empty() && node.has_output(0) ? old_.value(node.outputs[0]).name : node.name,
        version_, why);
  }

 private:
  void copy_all_but_nodes();
  void upgrade_bodies(Node& node) const;
  std::string unique_name(const std::string& wanted);

  std::int64_t version_ = 0;
  const Graph& old_;
  std::vector<std::optional<std::size_t>> ranks_;
  Graph fresh_;
  std::unordered_set<std::string> names_;
};

using Rewrite = void (*)(Upgrade&, Node&);

// Where `axis` is not given the operand's last axes are meant, as today.
void rewrite_broadcast(Upgrade& upgrade, Node& node) {
  const bool broadcasts = node.int_or("broadcast", 0) != 0 && node.find("axis") != nullptr;
  if (broadcasts) {
    const auto full = static_cast<std::int64_t>(upgrade.rank(node, 0));
    const auto own = static_cast<std::int64_t>(upgrade.rank(node, 1));
    std::int64_t axis = node.int_or("axis", 0);
    if (axis < 0) axis += full;
    if (axis < 0 || axis > full - own) upgrade.refuse(node, "its axis does not fit");
    Integers trailing;
    for (std::int64_t i = own; i < full - axis; ++i) trailing.push_back(i);
    if (!trailing.empty()) upgrade.unsqueeze(node, 1, std::move(trailing));
  }
  drop(node, "broadcast");
  drop(node, "axis");
}

// A slope for each channel was a vector, whatever the rank of the input.
void rewrite_prelu(Upgrade& upgrade, Node& node) {
  const Tensor* slope = upgrade.stored(node, 1);
  if (slope != nullptr && slope->elements() == 1) return;
  if (upgrade.rank(node, 1) != 1) return;
  Integers trailing;
  for (std::size_t i = 2; i < upgrade.rank(node, 0); ++i) {
    trailing.push_back(static_cast<std::int64_t>(i) - 1);
  }
  if (!trailing.empty()) upgrade.unsqueeze(node, 1, std::move(trailing));
}

void rewrite_reshape(Upgrade& upgrade, Node& node) {
  const auto* shape = node.get<Integers>("shape");
  if (shape == nullptr) return;
  if (node.inputs.empty()) upgrade.refuse(node, "it has no input");
  const auto length = static_cast<std::int64_t>(shape->size());
  const ValueId value = upgrade.add_constant("shape", Tensor::of_int64({length}, *shape));
  node.inputs.resize(1);
  node.inputs.push_back(value);
  drop(node, "shape");
}

void rewrite_cast(Upgrade& upgrade, Node& node) {
  constexpr std::array kNames = {
      "UNDEFINED", "FLOAT", "UINT8",   "INT8",   "UINT16", "INT16",  "INT32",     "INT64",
      "STRING",    "BOOL",  "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128"};
  const AttributeValue* to = node.find("to");
  const auto* text = to != nullptr ? std::get_if<std::string>(to) : nullptr;
  if (text == nullptr) return;
  const auto* found = std::ranges::find(kNames, *text);
  if (found == kNames.end()) upgrade.refuse(node, "its attribute 'to' names no element type");
  node.set("to", static_cast<std::int64_t>(found - kNames.begin()));
}

void rewrite_pad(Upgrade&, Node& node) {
  rename(node, "paddings", "pads");
}

void rewrite_split(Upgrade& upgrade, Node& node) {
  if (!node.has_input(1)) return;
  const Tensor* lengths = upgrade.stored(node, 1);
  if (lengths == nullptr) upgrade.refuse(node, "its lengths are computed");
  node.set("split", lengths->to_int64());
  node.inputs.resize(1);
}

void rewrite_concat(Upgrade&, Node& node) {
  if (node.find("axis") == nullptr) node.set("axis", std::int64_t{1});
}

void rewrite_upsample(Upgrade& upgrade, Node& node) {
  if (node.find("scales") != nullptr) return;
  const float height = node.float_or("height_scale", 1);
  const float width = node.float_or("width_scale", 1);
  if (node.find("height_scale") == nullptr || node.find("width_scale") == nullptr)
    upgrade.refuse(node, "it has no scales");
  node.set("scales", std::vector<float>{1, 1, height, width});
  drop(node, "height_scale");
  drop(node, "width_scale");
  if (node.string_or("mode", "nearest") == "bilinear") node.set("mode", std::string("linear"));
}

void rewrite_norm_order(Upgrade& upgrade, Node& node) {
  const AttributeValue* order = node.find("p");
  const auto* real = order != nullptr ? std::get_if<float>(order) : nullptr;
  if (real == nullptr) return;
  if (!(*real >= 1 && *real <= 1e6f) || std::floor(*real) != *real)
    upgrade.refuse(node, "its attribute 'p' is no whole number");
  node.set("p", static_cast<std::int64_t>(*real));
}

void rewrite_tile(Upgrade& upgrade, Node& node) {
  if (upgrade.version() < 6) upgrade.refuse(node, "one axis was repeated then");
}

// Both described how the runtimes of the time should run the op, and do not affect its results.
void drop_mode(Upgrade&, Node& node) {
  drop(node, "is_test");
  drop(node, "output_sequence");
}

const std::unordered_map<std::string_view, Rewrite>& rewrites() {
  static const std::unordered_map<std::string_view, Rewrite> table = {
      {"Add", rewrite_broadcast},
      {"Sub", rewrite_broadcast},
      {"Mul", rewrite_broadcast},
      {"Div", rewrite_broadcast},
      {"Pow", rewrite_broadcast},
      {"And", rewrite_broadcast},
      {"Or", rewrite_broadcast},
      {"Xor", rewrite_broadcast},
      {"Equal", rewrite_broadcast},
      {"Greater", rewrite_broadcast},
      {"Less", rewrite_broadcast},
      {"Gemm", [](Upgrade&, Node& node) { drop(node, "broadcast"); }},
      {"PRelu", rewrite_prelu},
      {"Reshape", rewrite_reshape},
      {"Cast", rewrite_cast},
      {"Pad", rewrite_pad},
      {"Split", rewrite_split},
      {"Concat", rewrite_concat},
      {"Upsample", rewrite_upsample},
      {"LpPool", rewrite_norm_order},
      {"GlobalLpPool", rewrite_norm_order},
      {"Tile", rewrite_tile},
      {"BatchNormalization", drop_mode},
      {"Dropout", drop_mode},
      {"RNN", drop_mode},
      {"LSTM", drop_mode},
      {"GRU", drop_mode},
  };
  return table;
}

Graph Upgrade::run() {
  copy_all_but_nodes();
  for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
    Node node = old_.node(NodeId{i});
    upgrade_bodies(node);
    if (node.is_standard()) {
      drop(node, "consumed_inputs");
      const auto rewrite = rewrites().find(node.op);
      if (rewrite != rewrites().end()) rewrite->second(*this, node);
    }
    fresh_.add_node(std::move(node));
  }
  return std::move(fresh_);
}

void Upgrade::copy_all_but_nodes() {
  fresh_ = old_.declarations();
  fresh_.opsets[""] = kUpgradedOpset;
  for (const auto& stored : old_.initializers()) {
    fresh_.add_initializer(stored.value, stored.tensor);
  }
}

void Upgrade::upgrade_bodies(Node& node) const {
  const auto upgraded = [&](const GraphPtr& body) {
    return std::make_shared<const Graph>(upgraded_from(version_, *body));
  };
  for (Attribute& attribute : node.attributes) {
    if (auto* one = std::get_if<GraphPtr>(&attribute.value)) *one = upgraded(*one);
    if (auto* many = std::get_if<std::vector<GraphPtr>>(&attribute.value)) {
      for (GraphPtr& body : *many) body = upgraded(body);
    }
  }
}

std::size_t Upgrade::rank(const Node& node, std::size_t input) const {
  const auto rank = node.has_input(input) ? ranks_[node.inputs[input].number] : std::nullopt;
  if (!rank) refuse(node, fmt::format("the rank of its input {} is not known", input));
  return *rank;
}

std::string Upgrade::unique_name(const std::string& wanted) {
  if (names_.empty()) {
    for (const Value& value : old_.values()) names_.insert(value.name);
  }
  std::string name = wanted;
  for (std::size_t i = names_.size(); !names_.insert(name).second; ++i) {
    name = fmt::format("{}_{}", wanted, i);
  }
  return name;
}

ValueId Upgrade::add_constant(const std::string& name, Tensor tensor) {
  const ValueId id = fresh_.add_value(unique_name(name));
  fresh_.add_initializer(id, std::move(tensor));
  return id;
}

void Upgrade::unsqueeze(Node& node, std::size_t input, Integers axes) {
  const ValueId from = node.inputs[input];
  const std::string name = unique_name(old_.value(from).name + "_unsqueezed");
  const ValueId to = fresh_.add_value(name);
  fresh_.add_node(Node{.name = name,
                       .op = "Unsqueeze",
                       .domain = "",
                       .inputs = {from},
                       .outputs = {to},
                       .attributes = {{"axes", std::move(axes)}}});
  node.inputs[input] = to;
}

}  // namespace

Graph upgraded_from(std::int64_t version, const Graph& graph) {
  return Upgrade(version, graph).run();
}

}  // namespace assay::onnx
