#include "transform/prune/cut.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/as_size.h"
#include "transform/reads.h"

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

// Integers that follow from the length of an axis that loses positions. What is computed from such
// lengths may have to keep its value, a head's width for one, and gets it as a constant.
std::vector<bool> follows_from_lengths(const Graph& graph, const KeptAxes& kept) {
  std::vector<bool> result(graph.value_count(), false);
  for (const Node& node : graph.nodes()) {
    const bool measures = node.is("Shape") || node.is("Size");
    const bool follows = std::ranges::any_of(node.inputs, [&](ValueId input) {
      return input.is_valid() &&
             (result[input.number] || (measures && !kept[input.number].empty()));
    });
    for (const ValueId output : node.outputs) {
      if (output.is_valid()) result[output.number] = follows;
    }
  }
  return result;
}

class Cutter {
 public:
  Cutter(const Graph& model, const Inferred& inferred, const KeptAxes& kept)
      : old_(model),
        inferred_(inferred),
        open_(infer_shapes(model)),
        kept_(kept),
        follows_from_lengths_(transform::follows_from_lengths(model, kept)),
        new_(model.declarations()) {
    for (const Value& value : old_.values()) names_.insert(value.name);
  }

  Graph run() && {
    for (std::uint32_t i = 0; i < old_.value_count(); ++i) shrink_type(ValueId{i});
    for (const auto& [value, tensor] : old_.initializers())
      new_.add_initializer(value, cut(value, tensor));
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      const Node& node = old_.node(NodeId{i});
      new_.add_node(is_arithmetic_of_lengths(node) ? node : adapted(with_old_lengths(node)));
    }
    return without_leftovers();
  }

 private:
  bool is_read(const Node& node, const std::vector<bool>& read) const {
    return std::ranges::any_of(
        node.outputs, [&](ValueId output) { return output.is_valid() && read[output.number]; });
  }

  // Drops the old lengths, and what computed them, that nobody reads any more; what was unread in
  // the model stays.
  Graph without_leftovers() const {
    std::vector<bool> stays = read_values(old_);
    stays.flip();
    stays.resize(new_.value_count(), false);
    for (const ValueId output : new_.outputs()) stays[output.number] = true;
    std::vector<bool> lives(new_.node_count(), false);
    for (std::uint32_t i = static_cast<std::uint32_t>(new_.node_count()); i-- > 0;) {
      const Node& node = new_.node(NodeId{i});
      lives[i] = is_read(node, stays);
      if (!lives[i]) continue;
      for (const ValueId input : node.inputs) {
        if (input.is_valid()) stays[input.number] = true;
      }
      for_each_subgraph(node, [&](const Graph& body) {
        for (const Capture& capture : body.captures()) stays[capture.outer.number] = true;
      });
    }
    Graph result = new_.declarations();
    for (const auto& [value, tensor] : new_.initializers()) {
      if (stays[value.number]) result.add_initializer(value, tensor);
    }
    for (std::uint32_t i = 0; i < new_.node_count(); ++i) {
      if (lives[i]) result.add_node(new_.node(NodeId{i}));
    }
    return result;
  }

  // What a value holds whatever the shapes of inputs that are left open.
  const Tensor* always_known(ValueId value) const {
    if (!value.is_valid() || value.number >= old_.value_count()) return nullptr;
    const Tensor* stored = old_.initializer(value);
    return stored != nullptr ? stored : open_.known_value(value);
  }

  // What it computes is known before and loses nothing. Weights that are sliced or expanded may be
  // known too, and lose channels.
  bool is_arithmetic_of_lengths(const Node& node) const {
    return std::ranges::all_of(node.outputs, [&](ValueId output) {
      return !output.is_valid() || (open_.known_value(output) != nullptr && !is_cut(output));
    });
  }

  Node with_old_lengths(Node node) {
    for (ValueId& input : node.inputs) {
      if (!input.is_valid() || !follows_from_lengths_[input.number]) continue;
      if (const Tensor* content = open_.known_value(input))
        input = add_constant(old_.value(input).name, cut(input, *content));
    }
    return node;
  }

  const KeptAxis* kept_axis(ValueId value, std::size_t axis) const {
    for (const KeptAxis& one : kept_[value.number]) {
      if (one.axis == axis) return &one;
    }
    return nullptr;
  }
  Dims dims(ValueId value) const { return inferred_.graph.value(value).type.shape->values(); }
  std::size_t rank(ValueId value) const { return dims(value).size(); }
  // The content of an input, which may be a constant that was added.
  std::optional<Dims> known_ints(ValueId value) const {
    const Tensor* content = new_.initializer(value);
    if (content == nullptr) content = always_known(value);
    if (content == nullptr && value.number < old_.value_count())
      content = inferred_.known_value(value);
    if (content == nullptr) return {};
    return content->to_int64();
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
    if (!node.has_input(input)) {
      if (node.is("Reshape")) node.set("shape", cut_lengths(made, node.ints_or("shape", {})));
      return node;
    }
    const ValueId shape = node.inputs[input];
    const bool is_added = shape.number >= old_.value_count();
    const Tensor* content = is_added ? new_.initializer(shape) : always_known(shape);
    const std::string& name = old_.value(made).name;
    if (content != nullptr) {
      if (is_cut(made))
        node.inputs[input] = add_ints(name + ".shape", cut_lengths(made, content->to_int64()));
    } else if (is_cut(made) || follows_from_lengths_[shape.number]) {
      node.inputs[input] = with_known_lengths(shape, made);
    }
    return node;
  }

  Dims cut_lengths(ValueId made, Dims lengths) const {
    for (std::size_t axis = 0; axis < lengths.size(); ++axis) {
      if (lengths[axis] > 0 && kept_axis(made, axis) != nullptr)
        lengths[axis] = new_length(made, axis);
    }
    return lengths;
  }

  // A shape that is known only at run time: lengths that are known before are put in.
  ValueId with_known_lengths(ValueId shape, ValueId made) {
    const auto& open = open_.graph.value(made).type.shape;
    const auto count = static_cast<std::int64_t>(rank(made));
    Dims lengths;
    std::vector<std::uint8_t> is_known;
    for (std::size_t axis = 0; axis < rank(made); ++axis) {
      lengths.push_back(new_length(made, axis));
      const bool known = kept_axis(made, axis) != nullptr || (open && (*open)[axis].is_known());
      is_known.push_back(known ? 1 : 0);
    }
    const std::string& name = old_.value(made).name;
    const ValueId mask =
        add_constant(name + ".known", Tensor::of<std::uint8_t>(DataType::Bool, {count}, is_known));
    const ValueId result = new_.add_value(unique(name + ".shape"), old_.value(shape).type);
    new_.add_node({.name = "",
                   .op = "Where",
                   .domain = "",
                   .inputs = {mask, add_ints(name + ".lengths", lengths), shape},
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

  std::string unique(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  ValueId add_constant(const std::string& name, Tensor tensor) {
    const ValueId id = new_.add_value(unique(name), tensor_type(tensor.type(), tensor.shape()));
    new_.add_initializer(id, std::move(tensor));
    return id;
  }

  ValueId add_ints(const std::string& name, const Dims& numbers) {
    return add_constant(name,
                        Tensor::of_int64({static_cast<std::int64_t>(numbers.size())}, numbers));
  }

  const Graph& old_;
  const Inferred& inferred_;
  const Inferred open_;  // `old_`, its open shapes left open
  const KeptAxes& kept_;
  const std::vector<bool> follows_from_lengths_;  // by value
  Graph new_;
  std::unordered_set<std::string> names_;
};

}  // namespace

Graph cut_channels(const Graph& model, const Inferred& inferred, const KeptAxes& kept) {
  return Cutter(model, inferred, kept).run();
}

}  // namespace assay::transform
