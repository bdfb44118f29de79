#include "transform/key_value_cache.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "assay/bind.h"
#include "assay/infer.h"
#include "base/fail.h"
#include "kernels/kernel.h"

namespace assay::transform {

namespace {

bool is_named_past(const std::string& name) {
  return name.starts_with("past");
}

bool is_input(const Graph& graph, ValueId id) {
  return std::ranges::find(graph.inputs(), id) != graph.inputs().end();
}

// past → Concat(past, new) → present.
struct CacheLink {
  ValueId past;
  ValueId added;
  ValueId present;
  NodeId concat;
};

// Everything from the caches to the weighted sum of values.
struct AttentionPattern {
  CacheLink keys;
  CacheLink values;
  ValueId queries;
  ValueId result;
  ValueId mask;  // invalid: there is none
  double scale = 1;
  NodeId last;                // the product with the values
  std::vector<NodeId> nodes;  // all that one node replaces
};

class CacheRewriter {
 public:
  CacheRewriter(const Graph& graph, const CacheSizes& sizes)
      : old_(graph), sizes_(sizes), readers_(consumers(graph)) {}

  CachedDecoder run() {
    find_ids();
    find_links();
    find_attention();
    check_masks();
    build();
    return std::move(result_);
  }

 private:
  void find_ids() {
    for (const ValueId id : old_.inputs()) {
      const Value& input = old_.value(id);
      const bool is_matrix = input.type.shape && input.type.shape->rank() == 2;
      if (input.name != "input_ids" && !(input.type.element == DataType::Int64 && is_matrix &&
                                         !ids_.is_valid() && input.name.find("ids") == 0))
        continue;
      ids_ = id;
    }
    if (!ids_.is_valid())
      fail_bad_input("the model has no input 'input_ids' of token ids to decode with");
  }

  void find_links() {
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      const Node& node = old_.node(NodeId{i});
      if (!node.is("Concat") || node.inputs.size() != 2) continue;
      const std::int64_t axis = node.int_or("axis", 0);
      const bool joins_past =
          is_input(old_, node.inputs[0]) && is_named_past(old_.value(node.inputs[0]).name);
      if (!joins_past || (axis != 2 && axis != -2)) continue;
      links_[node.outputs[0]] = {node.inputs[0], node.inputs[1], node.outputs[0], NodeId{i}};
    }
    for (const ValueId id : old_.inputs()) {
      if (!is_named_past(old_.value(id).name)) continue;
      const bool is_linked =
          std::ranges::any_of(links_, [&](const auto& link) { return link.second.past == id; });
      if (!is_linked)
        fail_bad_input("input '{}': its tokens are not joined with the new ones by a Concat",
                       old_.value(id).name);
    }
  }

  const Node* maker(ValueId id) const {
    const NodeId node = id.is_valid() ? old_.producer(id) : NodeId{};
    return node.is_valid() ? &old_.node(node) : nullptr;
  }

  std::optional<double> number(ValueId id) const {
    const Tensor* tensor = id.is_valid() ? old_.initializer(id) : nullptr;
    if (tensor == nullptr || tensor->elements() != 1) return {};
    return tensor->to_double().front();
  }

  void find_attention() {
    std::set<ValueId> covered;
    for (const auto& [present, link] : links_) {
      for (const NodeId reader : readers_[present.number]) {
        const auto pattern = pattern_ending_at(reader, present);
        if (!pattern) continue;
        covered.insert(pattern->keys.present);
        covered.insert(pattern->values.present);
        patterns_.push_back(*pattern);
      }
    }
    for (const auto& [present, link] : links_) {
      if (!covered.contains(present))
        fail_bad_input("'{}': the attention that reads it is not in a form that is recognised",
                       old_.value(present).name);
    }
  }

  // MatMul(Softmax(masked(scaled(MatMul(queries, Transpose(keys))))), values).
  std::optional<AttentionPattern> pattern_ending_at(NodeId last, ValueId values) const {
    const Node& sum = old_.node(last);
    if (!sum.is("MatMul") || sum.inputs[1] != values) return {};
    AttentionPattern found{.keys = {},
                           .values = links_.at(values),
                           .queries = {},
                           .result = sum.outputs[0],
                           .mask = {},
                           .last = last,
                           .nodes = {last}};
    const auto step_back = [&](ValueId value) {
      found.nodes.push_back(old_.producer(value));
      return maker(value);
    };
    const Node* node = maker(sum.inputs[0]);
    if (node == nullptr || !node->is("Softmax")) return {};
    const std::int64_t axis = node->int_or("axis", -1);
    if (axis != -1 && axis != 3) return {};
    step_back(sum.inputs[0]);
    ValueId scores = node->inputs[0];
    for (node = maker(scores); node != nullptr && !node->is("MatMul"); node = maker(scores)) {
      const auto next = before_softmax(*node, found);
      if (!next) return {};
      step_back(scores);
      scores = *next;
    }
    if (node == nullptr) return {};
    step_back(scores);
    found.queries = node->inputs[0];
    const Node* turn = step_back(node->inputs[1]);
    const std::vector<std::int64_t> order = {0, 1, 3, 2};
    if (turn == nullptr || !turn->is("Transpose") || turn->ints_or("perm", {}) != order) return {};
    const auto keys = links_.find(turn->inputs[0]);
    if (keys == links_.end()) return {};
    found.keys = keys->second;
    found.nodes.push_back(found.keys.concat);
    found.nodes.push_back(found.values.concat);
    return found;
  }

  // What the node does to scores: scales them, or masks them. Gives the scores it does it to.
  std::optional<ValueId> before_softmax(const Node& node, AttentionPattern& found) const {
    if (node.is("Mul") || node.is("Div")) {
      const auto factor = number(node.inputs[1]);
      if (!factor || *factor == 0) return {};
      found.scale *= node.is("Mul") ? *factor : 1 / *factor;
      return node.inputs[0];
    }
    if (found.mask.is_valid()) return {};
    if (node.is("Where")) {
      const auto otherwise = number(node.inputs[2]);
      if (!otherwise || *otherwise > -1e4) return {};
      found.mask = node.inputs[0];
      return node.inputs[1];
    }
    if (node.is("Add")) {
      const bool is_first = depends_on_scores(node.inputs[0]);
      found.mask = node.inputs[is_first ? 1 : 0];
      return node.inputs[is_first ? 0 : 1];
    }
    return {};
  }

  bool depends_on_scores(ValueId value) const {
    const Node* node = maker(value);
    return node != nullptr && (node->is("MatMul") || node->is("Mul") || node->is("Div"));
  }

  // The mask for a few tokens after a few others must be what the cached attention does by itself.
  void check_masks() const {
    constexpr std::int64_t kPast = 3;
    constexpr std::int64_t kTokens = 2;
    Graph graph = old_;
    for (const ValueId id : graph.inputs()) set_shape(graph, id, {kPast, kTokens}, kPast);
    const Inferred model = infer_shapes(bind_inputs(std::move(graph), {}).graph);
    std::set<ValueId> checked;
    for (const AttentionPattern& pattern : patterns_) {
      if (!pattern.mask.is_valid() || !checked.insert(pattern.mask).second) continue;
      const Tensor mask = value_of(model, pattern.mask);
      if (!is_causal(mask, kTokens, kPast + kTokens))
        fail_bad_input("'{}': the attention mask does not allow each token those before it",
                       old_.value(pattern.mask).name);
    }
  }

  static bool is_causal(const Tensor& mask, std::int64_t tokens, std::int64_t all) {
    const auto numbers = mask.to_double();
    if (mask.elements() % (tokens * all) != 0) return false;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const auto column = static_cast<std::int64_t>(i) % all;
      const auto row = static_cast<std::int64_t>(i) / all % tokens;
      const bool is_allowed = column <= all - tokens + row;
      const bool allows = mask.type() == DataType::Bool ? numbers[i] != 0 : numbers[i] == 0;
      const bool forbids = mask.type() == DataType::Bool ? numbers[i] == 0 : numbers[i] <= -1e4;
      if (is_allowed ? !allows : !forbids) return false;
    }
    return true;
  }

  // What does not depend on the content of inputs, except that an attention mask lets all pass.
  Tensor value_of(const Inferred& model, ValueId id) const {
    const Graph& graph = model.graph;
    if (const Tensor* known = model.known_value(id)) return *known;
    if (const Tensor* stored = graph.initializer(id)) return *stored;
    const NodeId made_by = graph.producer(id);
    if (!made_by.is_valid()) {
      const Value& input = graph.value(id);
      if (input.name != "attention_mask" || input.type.element != DataType::Int64)
        fail_bad_input("the attention mask depends on input '{}'", input.name);
      const auto elements = static_cast<std::size_t>(input.type.shape->elements().value_or(0));
      return Tensor::of_int64(input.type.shape->values(), std::vector<std::int64_t>(elements, 1));
    }
    const Node& node = graph.node(made_by);
    std::vector<Tensor> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.is_valid() ? value_of(model, input) : Tensor());
    const auto results = kernels::evaluate(node, inputs, graph.opset(node.domain));
    const auto at = std::ranges::find(node.outputs, id) - node.outputs.begin();
    return results[static_cast<std::size_t>(at)];
  }

  // Of one sample.
  void set_shape(Graph& graph, ValueId id, const CacheSizes& sizes, std::int64_t past) const {
    ValueType& type = graph.value(id).type;
    if (!type.shape) return;
    Shape& shape = *type.shape;
    if (shape.rank() > 0 && !shape[0].is_known()) shape[0] = Dim(1);
    if (is_named_past(graph.value(id).name) && shape.rank() == 4) {
      shape[0] = Dim(1);
      shape[2] = Dim(past);
    }
    const bool is_by_token = id == ids_ || graph.value(id).name == "position_ids";
    if (is_by_token && shape.rank() == 2) shape = Shape{1, sizes.tokens};
    if (graph.value(id).name == "attention_mask" && shape.rank() == 2)
      shape = Shape{1, past + sizes.tokens};
  }

  // Building.
  void build() {
    Graph& graph = result_.graph;
    graph.name = old_.name;
    graph.doc = old_.doc;
    graph.info = old_.info;
    graph.opsets = old_.opsets;
    graph.opsets[std::string(kOwnDomain)] = 1;
    for (const Value& value : old_.values()) graph.add_value(value.name, value.type);
    position_ = graph.add_value(unique_name("position"), tensor_type(DataType::Int64, Shape{1}));
    std::vector<Node> nodes = rewritten_nodes();
    drop_unread(nodes);
    add_inputs(nodes);
    for (const Initializer& one : old_.initializers()) {
      if (reads(nodes, one.value) || is_output(one.value))
        graph.add_initializer(one.value, one.tensor);
    }
    forget_shapes();
    for (Node& node : nodes) graph.add_node(std::move(node));
    for (const ValueId output : old_.outputs()) graph.add_output(output);
    for (const auto& [present, link] : links_) graph.carry({link.past, link.present});
    name_results();
  }

  std::string unique_name(std::string name) const {
    while (old_.find_value(name)) name += "_";
    return name;
  }

  bool is_output(ValueId id) const {
    return std::ranges::find(old_.outputs(), id) != old_.outputs().end();
  }

  std::vector<Node> rewritten_nodes() {
    std::set<NodeId> replaced;
    std::map<NodeId, const AttentionPattern*> by_last;
    for (const AttentionPattern& pattern : patterns_) {
      replaced.insert(pattern.nodes.begin(), pattern.nodes.end());
      by_last[pattern.last] = &pattern;
    }
    std::vector<Node> nodes;
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      const NodeId id{i};
      if (const auto found = by_last.find(id); found != by_last.end())
        nodes.push_back(attention_node(*found->second, old_.display_name(id)));
      else if (!replaced.contains(id))
        nodes.push_back(with_position(old_.node(id)));
    }
    return nodes;
  }

  Node attention_node(const AttentionPattern& pattern, const std::string& name) const {
    Node node{.name = name,
              .op = "CachedAttention",
              .domain = std::string(kOwnDomain),
              .inputs = {pattern.queries, pattern.keys.added, pattern.values.added,
                         pattern.keys.past, pattern.values.past, position_},
              .outputs = {pattern.result, pattern.keys.present, pattern.values.present}};
    node.set("scale", static_cast<float>(pattern.scale));
    return node;
  }

  // The length of the past is the position.
  Node with_position(Node node) const {
    const bool asks_for_past = node.is("Shape") && is_input(old_, node.inputs[0]) &&
                               is_named_past(old_.value(node.inputs[0]).name);
    if (asks_for_past && node.int_or("start", 0) == 2 && node.int_or("end", 4) == 3) {
      Node same{.name = node.name, .op = "Identity", .domain = "", .inputs = {position_}};
      same.outputs = node.outputs;
      return same;
    }
    return node;
  }

  static bool reads(const std::vector<Node>& nodes, ValueId id) {
    return std::ranges::any_of(nodes, [&](const Node& node) {
      bool found = std::ranges::find(node.inputs, id) != node.inputs.end();
      for_each_subgraph(node, [&](const Graph& body) {
        for (const Capture& capture : body.captures()) found = found || capture.outer == id;
      });
      return found;
    });
  }

  void drop_unread(std::vector<Node>& nodes) const {
    std::set<ValueId> read(old_.outputs().begin(), old_.outputs().end());
    std::vector<Node> kept;
    for (std::size_t i = nodes.size(); i-- > 0;) {
      const bool is_read = std::ranges::any_of(
          nodes[i].outputs, [&](ValueId output) { return read.contains(output); });
      if (!is_read) continue;
      read.insert(nodes[i].inputs.begin(), nodes[i].inputs.end());
      for_each_subgraph(nodes[i], [&](const Graph& body) {
        for (const Capture& capture : body.captures()) read.insert(capture.outer);
      });
      kept.push_back(std::move(nodes[i]));
    }
    std::ranges::reverse(kept);
    nodes = std::move(kept);
  }

  void add_inputs(const std::vector<Node>& nodes) {
    Graph& graph = result_.graph;
    for (const ValueId id : old_.inputs()) {
      const std::string& name = old_.value(id).name;
      if (!reads(nodes, id) && old_.initializer(id) == nullptr) continue;
      check_readers(nodes, id);
      set_shape(graph, id, sizes_, sizes_.capacity);
      graph.add_input(id);
      const bool is_given = id == ids_ || is_named_past(name) || old_.initializer(id) != nullptr;
      if (!is_given)
        fail_bad_input("input '{}': decoding gives a model token ids and a cache only", name);
    }
    graph.add_input(position_);
  }

  // Anything else would see a cache of fixed length where it expects the tokens so far.
  void check_readers(const std::vector<Node>& nodes, ValueId id) const {
    if (!is_named_past(old_.value(id).name)) return;
    for (const Node& node : nodes) {
      const bool reads_it = std::ranges::find(node.inputs, id) != node.inputs.end();
      if (reads_it && node.op != "CachedAttention")
        fail_bad_input("{} '{}' reads input '{}' in a form that is not recognised", node.op,
                       node.name, old_.value(id).name);
      for (const auto& [present, link] : links_) {
        const bool reads_present = std::ranges::find(node.inputs, present) != node.inputs.end();
        if (reads_present)
          fail_bad_input("{} '{}' reads '{}' in a form that is not recognised", node.op, node.name,
                         old_.value(present).name);
      }
    }
  }

  // They are inferred anew, for other sizes.
  void forget_shapes() {
    Graph& graph = result_.graph;
    for (std::uint32_t i = 0; i < old_.value_count(); ++i) {
      const ValueId id{i};
      if (!is_input(old_, id) && old_.initializer(id) == nullptr) graph.value(id).type.shape = {};
    }
  }

  void name_results() {
    result_.ids = old_.value(ids_).name;
    result_.position = result_.graph.value(position_).name;
    for (const ValueId output : old_.outputs()) {
      if (links_.contains(output)) continue;
      if (result_.logits.empty()) result_.logits = old_.value(output).name;
    }
    if (result_.logits.empty()) fail_bad_input("the model has no output besides its cache");
  }

  const Graph& old_;
  CacheSizes sizes_;
  std::vector<std::vector<NodeId>> readers_;
  ValueId ids_;
  ValueId position_;
  std::map<ValueId, CacheLink> links_;  // by present
  std::vector<AttentionPattern> patterns_;
  CachedDecoder result_;
};

}  // namespace

bool takes_past(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(),
                             [&](ValueId id) { return is_named_past(graph.value(id).name); });
}

CachedDecoder with_key_value_cache(const Graph& graph, const CacheSizes& sizes) {
  return CacheRewriter(graph, sizes).run();
}

}  // namespace assay::transform
