#include "transform/prune/cut.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <unordered_set>

#include "base/as_size.h"
#include "base/fail.h"

namespace assay::transform {

namespace {

Tensor positions_of(const Tensor& tensor, const KeptAxis& kept) {
  Dims dims = tensor.dims();
  std::size_t inner = as_size(bits(tensor.type()) / 8), outer = 1;
  for (std::size_t i = kept.axis + 1; i < dims.size(); ++i) inner *= as_size(dims[i]);
  for (std::size_t i = 0; i < kept.axis; ++i) outer *= as_size(dims[i]);
  const std::size_t old_length = as_size(dims[kept.axis]);
  dims[kept.axis] = static_cast<std::int64_t>(kept.positions.size());
  std::vector<std::byte> made(outer * kept.positions.size() * inner);
  const auto bytes = tensor.bytes();
  std::byte* to = made.data();
  for (std::size_t i = 0; i < outer; ++i) {
    for (const std::int64_t position : kept.positions) {
      std::memcpy(to, bytes.data() + (i * old_length + as_size(position)) * inner, inner);
      to += inner;
    }
  }
  return Tensor(tensor.type(), std::move(dims), heap_storage(std::move(made)));
}

class Cutter {
 public:
  Cutter(const Graph& model, const Inferred& inferred, const KeptAxes& kept)
      : old_(model), inferred_(inferred), kept_(kept), new_(model.declarations()) {
    for (const Value& value : old_.values()) names_.insert(value.name);
  }

  Graph run() && {
    for (std::uint32_t i = 0; i < old_.value_count(); ++i) shrink_type(ValueId{i});
    for (const auto& [value, tensor] : old_.initializers())
      new_.add_initializer(value, cut(value, tensor));
    for (std::uint32_t i = 0; i < old_.node_count(); ++i)
      new_.add_node(adapted(old_.node(NodeId{i})));
    return std::move(new_);
  }

 private:
  const KeptAxis* kept_axis(ValueId value, std::size_t axis) const {
    for (const KeptAxis& one : kept_[value.number]) {
      if (one.axis == axis) return &one;
    }
    return nullptr;
  }
  Dims dims(ValueId value) const { return inferred_.graph.value(value).type.shape->values(); }
  std::size_t rank(ValueId value) const { return dims(value).size(); }
  const Tensor* known(ValueId value) const {
    const Tensor* stored = old_.initializer(value);
    return stored != nullptr ? stored : inferred_.known_value(value);
  }
  bool is_cut(ValueId value) const { return value.is_valid() && !kept_[value.number].empty(); }
  std::int64_t new_length(ValueId value, std::size_t axis) const {
    const KeptAxis* kept = kept_axis(value, axis);
    return kept == nullptr ? dims(value)[axis] : static_cast<std::int64_t>(kept->positions.size());
  }

  void shrink_type(ValueId value) {
    auto& shape = new_.value(value).type.shape;
    for (const KeptAxis& one : kept_[value.number]) {
      if (shape && one.axis < shape->rank())
        (*shape)[one.axis] = Dim(static_cast<std::int64_t>(one.positions.size()));
    }
  }

  Tensor cut(ValueId value, Tensor tensor) const {
    for (const KeptAxis& one : kept_[value.number]) tensor = positions_of(tensor, one);
    return tensor;
  }

  Node adapted(Node node) {
    if (!node.is_standard()) return node;
    if (node.is("Conv") || node.is("ConvTranspose")) return with_groups(std::move(node));
    if (node.is("Reshape")) return with_shape(std::move(node), 1);
    if (node.is("Expand")) return with_shape(std::move(node), 1);
    if (node.is("ConstantOfShape")) return with_shape(std::move(node), 0);
    if (node.is("Resize")) return with_shape(std::move(node), 3);
    if (node.is("Split")) return with_sizes(std::move(node));
    if (node.is("Slice")) return with_limits(std::move(node));
    if (node.is("LSTM") || node.is("GRU") || node.is("RNN")) return with_units(std::move(node));
    return node;
  }

  Node with_groups(Node node) const {
    if (node.int_or("group", 1) == 1 || !is_cut(node.inputs[0])) return node;
    // Whole groups are gone, or each has lost the same channels.
    const ValueId weights = node.inputs[1];
    const bool is_transposed = node.is("ConvTranspose");
    const std::int64_t groups = is_transposed
                                    ? new_length(node.outputs[0], 1) / new_length(weights, 1)
                                    : new_length(node.inputs[0], 1) / new_length(weights, 1);
    node.set("group", groups);
    return node;
  }

  Node with_units(Node node) const {
    if (node.find("hidden_size") != nullptr) node.set("hidden_size", new_length(node.inputs[2], 2));
    return node;
  }

  // Lengths that the node names; what it copies (0) or computes (-1) fits as it is.
  Node with_shape(Node node, std::size_t input) {
    const ValueId made = node.outputs[0];
    if (!is_cut(made) || (!node.has_input(input) && !node.is("Reshape"))) return node;
    if (!node.has_input(input)) return with_shape_attribute(std::move(node));
    const ValueId shape = node.inputs[input];
    if (const Tensor* stored = old_.initializer(shape)) {
      Dims lengths = stored->to_int64();
      for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
        if (lengths[axis] > 0) lengths[axis] = cut_length(made, axis, lengths[axis]);
      }
      node.inputs[input] = add_ints(old_.value(made).name + ".shape", lengths);
    } else {
      node.inputs[input] = limited(shape, made);
    }
    return node;
  }

  std::int64_t cut_length(ValueId made, std::size_t axis, std::int64_t old_length) const {
    return kept_axis(made, axis) == nullptr ? old_length : new_length(made, axis);
  }

  Node with_shape_attribute(Node node) const {
    Dims lengths = node.ints_or("shape", {});
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
      if (lengths[axis] > 0) lengths[axis] = cut_length(node.outputs[0], axis, lengths[axis]);
    }
    node.set("shape", lengths);
    return node;
  }

  // A shape that is computed from others may hold old lengths or new ones: the smaller of both.
  ValueId limited(ValueId shape, ValueId made) {
    Dims most;
    for (std::size_t axis = 0; axis < rank(made); ++axis)
      most.push_back(cut_length(made, axis, std::numeric_limits<std::int64_t>::max()));
    const std::string name = old_.value(made).name;
    const ValueId most_of = add_ints(name + ".most", most);
    const ValueId result = new_.add_value(unique(name + ".shape"), old_.value(shape).type);
    new_.add_node({.name = unique(name + ".limit"),
                   .op = "Min",
                   .domain = "",
                   .inputs = {shape, most_of},
                   .outputs = {result}});
    return result;
  }

  Node with_sizes(Node node) {
    if (!is_cut(node.inputs[0])) return node;
    const std::int64_t named = node.int_or("axis", 0);
    const auto axis = as_size(named) + (named < 0 ? rank(node.inputs[0]) : 0);
    if (kept_axis(node.inputs[0], axis) == nullptr) return node;
    Dims sizes;
    for (const ValueId output : node.outputs) sizes.push_back(new_length(output, axis));
    if (old_.opset() < 13) {
      node.set("split", sizes);
      return node;
    }
    std::erase_if(node.attributes, [](const Attribute& one) { return one.name == "num_outputs"; });
    node.inputs.resize(2);
    node.inputs[1] = add_ints(old_.value(node.outputs[0]).name + ".sizes", sizes);
    return node;
  }

  // How many of the positions before `limit` are left.
  static std::int64_t moved_limit(const KeptAxis& kept, std::int64_t limit, std::int64_t length) {
    const std::int64_t from_start = limit < 0 ? std::max<std::int64_t>(limit + length, 0) : limit;
    return std::ranges::count_if(kept.positions,
                                 [&](std::int64_t position) { return position < from_start; });
  }

  // Limits of one axis that loses positions; the others stay as they are.
  std::optional<Dims> moved_limits(const Node& node, const std::optional<Dims>& limits,
                                   const std::optional<Dims>& axes) const {
    if (!limits) return {};
    Dims result = *limits;
    const Dims lengths = dims(node.inputs[0]);
    for (std::size_t i = 0; i < result.size(); ++i) {
      const std::int64_t named = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
      const auto axis =
          as_size(named < 0 ? named + static_cast<std::int64_t>(lengths.size()) : named);
      if (const KeptAxis* kept = kept_axis(node.inputs[0], axis))
        result[i] = moved_limit(*kept, result[i], lengths[axis]);
    }
    return result;
  }

  bool slices_a_cut_axis(const Node& node) const {
    for (const KeptAxis& one : kept_[node.inputs[0].number]) {
      if (dims(node.inputs[0])[one.axis] != dims(node.outputs[0])[one.axis]) return true;
    }
    return false;
  }

  Node with_limits(Node node) {
    if (!is_cut(node.inputs[0]) || !slices_a_cut_axis(node)) return node;
    if (node.inputs.size() == 1) {
      const auto axes =
          node.find("axes") == nullptr ? std::nullopt : std::optional(node.ints_or("axes", {}));
      for (const char* name : {"starts", "ends"})
        node.set(name, *moved_limits(node, node.ints_or(name, {}), axes));
      return node;
    }
    const auto axes = node.has_input(3) ? known_ints(node.inputs[3]) : std::nullopt;
    for (const std::size_t input : {1, 2}) {
      const auto moved = moved_limits(node, known_ints(node.inputs[input]), axes);
      const char* what = input == 1 ? ".starts" : ".ends";
      if (moved) node.inputs[input] = add_ints(old_.value(node.outputs[0]).name + what, *moved);
    }
    return node;
  }

  std::optional<Dims> known_ints(ValueId value) const {
    const Tensor* content = known(value);
    if (content == nullptr) return {};
    return content->to_int64();
  }

  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  ValueId add_ints(const std::string& name, const Dims& numbers) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    const ValueId id = new_.add_value(unique(name), tensor_type(DataType::Int64, Shape{count}));
    new_.add_initializer(id, Tensor::of_int64({count}, numbers));
    return id;
  }

  const Graph& old_;
  const Inferred& inferred_;
  const KeptAxes& kept_;
  Graph new_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Graph cut_channels(const Graph& model, const Inferred& inferred, const KeptAxes& kept) {
  return Cutter(model, inferred, kept).run();
}

}  // namespace assay::transform
