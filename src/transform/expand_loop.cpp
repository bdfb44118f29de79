// Products of a Loop's body that multiply one time slice of a captured sequence by weights that
// stay the same: computed for all time steps at once before the loop, which then takes slices of
// the result. The weights are read once instead of in every round.
#include <algorithm>

#include "transform/expansion.h"

namespace assay::transform {

namespace {

struct Hoisted {
  NodeId product;  // of the body
  ValueId sequence;
  ValueId weights;  // of the graph around it
  ValueId index;    // of the body
};

// A body seen from the loop around it.
class LoopBodyView {
 public:
  LoopBodyView(const Node& loop, const Graph& body) : loop_(loop), body_(body) {}

  // The value outside that this one is in every round; invalid where there is none.
  ValueId outer_value(ValueId inner) const {
    for (const Capture& capture : body_.captures()) {
      if (capture.inner == inner) return capture.outer;
    }
    const auto inputs = body_.inputs();
    for (std::size_t i = 2; i < inputs.size() && i < loop_.inputs.size(); ++i) {
      if (inputs[i] == inner && origin_of(body_.outputs()[i - 1]) == inner) return loop_.inputs[i];
    }
    return {};
  }

  const Node* maker(ValueId id) const {
    const NodeId found = body_.producer(id);
    return found.is_valid() ? &body_.node(found) : nullptr;
  }

 private:
  ValueId origin_of(ValueId id) const {
    const Node* node = maker(id);
    while (node != nullptr && node->is("Identity")) {
      id = node->inputs[0];
      node = maker(id);
    }
    return id;
  }

  const Node& loop_;
  const Graph& body_;
};

// Most of the sequence is read, as far as shapes tell: else the product would do work for nothing.
bool reads_most(const Expansion& to, const Node& loop, std::size_t carried, std::int64_t length) {
  for (std::size_t i = carried; i < loop.outputs.size(); ++i) {
    if (!loop.has_output(i)) continue;
    const Dims dims = to.dims(loop.outputs[i]);
    if (!dims.empty()) return dims[0] > 1 && dims[0] >= length / 2;
  }
  return false;
}

std::optional<Hoisted> hoisted_product(const Expansion& to, const LoopBodyView& view, NodeId id,
                                       const Node& product) {
  if (!product.is("MatMul")) return {};
  const Node* slice = view.maker(product.inputs[0]);
  if (slice == nullptr || !slice->is("Gather") || slice->int_or("axis", 0) != 0) return {};
  Hoisted found{id, view.outer_value(slice->inputs[0]), view.outer_value(product.inputs[1]),
                slice->inputs[1]};
  if (!to.is_float(found.sequence) || !to.is_float(found.weights)) return {};
  const Dims sequence = to.dims(found.sequence);
  const Dims weights = to.dims(found.weights);
  const bool fits = sequence.size() == 3 && weights.size() == 2 && sequence[2] == weights[0];
  return fits ? std::optional(found) : std::nullopt;
}

bool is_scalar(const Graph& graph, ValueId id) {
  const ValueType& type = graph.value(id).type;
  return type.has_known_shape() && type.shape->rank() == 0;
}

// The body with the product replaced by a slice of `all`, a value of the graph around it.
void take_slice(Graph& body, const Hoisted& hoisted, ValueId all) {
  const ValueId inside = body.add_value("hoisted_" + std::to_string(body.value_count()));
  body.add_capture({all, inside});
  Node& product = body.node(hoisted.product);
  product.op = "Gather";
  product.inputs = {inside, hoisted.index};
  product.attributes = {{"axis", std::int64_t{0}}};
}

}  // namespace

bool expand_loop(Expansion& to) {
  const Node loop = to.node();
  const auto* given = loop.get<GraphPtr>("body");
  if (given == nullptr || *given == nullptr || loop.inputs.size() < 2) return false;
  const LoopBodyView view(loop, **given);
  Graph body = **given;
  bool has_changed = false;
  for (std::uint32_t i = 0; i < (*given)->node_count(); ++i) {
    const auto hoisted = hoisted_product(to, view, NodeId{i}, (*given)->node(NodeId{i}));
    if (!hoisted || !is_scalar(**given, hoisted->index)) continue;
    const Dims sequence = to.dims(hoisted->sequence);
    if (!reads_most(to, loop, loop.inputs.size() - 2, sequence[0])) continue;
    const Dims dims = {sequence[0], sequence[1], to.dims(hoisted->weights)[1]};
    take_slice(body, *hoisted, to.add({"MatMul", {hoisted->sequence, hoisted->weights}}, dims));
    has_changed = true;
  }
  if (!has_changed) return false;
  Piece piece{loop.op, loop.inputs, loop.attributes};
  for (Attribute& one : piece.attributes) {
    if (one.name == "body") one.value = std::make_shared<const Graph>(std::move(body));
  }
  to.add_as(std::move(piece), loop.outputs);
  return true;
}

}  // namespace assay::transform
