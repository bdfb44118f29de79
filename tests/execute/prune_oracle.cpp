#include "execute/prune_oracle.h"

#include <algorithm>
#include <cstring>

#include "assay/bind.h"
#include "assay/error.h"
#include "transform/prune/plan.h"

namespace assay {

namespace {

using transform::FollowedModel;
using transform::KeptAxes;
using transform::KeptAxis;

std::vector<bool> stays(const KeptAxis& kept, std::int64_t length) {
  std::vector<bool> result(static_cast<std::size_t>(length), false);
  for (const std::int64_t position : kept.positions)
    result[static_cast<std::size_t>(position)] = true;
  return result;
}

Tensor zeroed(const Tensor& tensor, const KeptAxis& kept) {
  const auto& dims = tensor.dims();
  std::size_t inner = static_cast<std::size_t>(bits(tensor.type()) / 8);
  for (std::size_t i = kept.axis + 1; i < dims.size(); ++i)
    inner *= static_cast<std::size_t>(dims[i]);
  const auto is_kept = stays(kept, dims[kept.axis]);
  const auto old = tensor.bytes();
  std::vector<std::byte> bytes(old.begin(), old.end());
  for (std::size_t row = 0; row * inner < bytes.size(); ++row) {
    if (!is_kept[row % is_kept.size()]) std::memset(bytes.data() + row * inner, 0, inner);
  }
  return Tensor(tensor.type(), dims, heap_storage(std::move(bytes)));
}

class Zeroing {
 public:
  Zeroing(const FollowedModel& followed, const KeptAxes& kept)
      : old_(followed.inferred.graph), kept_(kept), new_(old_.declarations()) {}

  Graph run() && {
    for (const auto& [value, tensor] : old_.initializers()) {
      Tensor content = tensor;
      for (const KeptAxis& one : kept_[value.number]) content = zeroed(content, one);
      new_.add_initializer(value, content);
    }
    for (const Node& node : old_.nodes()) add(node);
    return std::move(new_);
  }

 private:
  const KeptAxis* kept_axis(ValueId value, std::size_t axis) const {
    const auto& axes = kept_[value.number];
    const auto found = std::ranges::find(axes, axis, &KeptAxis::axis);
    return found == axes.end() ? nullptr : &*found;
  }

  void add(Node node) {
    std::vector<ValueId> made = node.outputs;
    for (ValueId& output : node.outputs) {
      if (output.is_valid() && !kept_[output.number].empty()) output = another(output);
    }
    const std::vector<ValueId> raw = node.outputs;
    if (!add_layer_norm(node) && !add_mean(node)) new_.add_node(node);
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (raw[i] != made[i]) add_masks(raw[i], made[i]);
    }
  }

  ValueId another(ValueId like) {
    return new_.add_value(old_.value(like).name + "#" + std::to_string(count_++),
                          old_.value(like).type);
  }
  ValueId untyped() { return new_.add_value("#" + std::to_string(count_++)); }
  ValueId constant(Tensor tensor) {
    const ValueId id =
        new_.add_value("#" + std::to_string(count_++), tensor_type(tensor.type(), tensor.shape()));
    new_.add_initializer(id, std::move(tensor));
    return id;
  }
  ValueId add_op(const std::string& op, std::vector<ValueId> inputs,
                 std::vector<Attribute> attributes = {}) {
    const ValueId result = untyped();
    new_.add_node({.name = "",
                   .op = op,
                   .domain = "",
                   .inputs = std::move(inputs),
                   .outputs = {result},
                   .attributes = std::move(attributes)});
    return result;
  }

  // Zero where a channel is removed, whatever was there.
  void add_masks(ValueId from, ValueId to) {
    const ValueType& type = old_.value(to).type;
    const auto& axes = kept_[to.number];
    for (std::size_t i = 0; i < axes.size(); ++i) {
      Dims shape(type.shape->rank(), 1);
      shape[axes[i].axis] = (*type.shape)[axes[i].axis].value();
      std::vector<std::uint8_t> mask;
      for (const bool stay : stays(axes[i], shape[axes[i].axis])) mask.push_back(stay ? 1 : 0);
      const std::vector<std::byte> zero(static_cast<std::size_t>(bits(type.element) / 8));
      const ValueId last = i + 1 == axes.size() ? to : untyped();
      new_.add_node({.name = "",
                     .op = "Where",
                     .domain = "",
                     .inputs = {constant(Tensor::of<std::uint8_t>(DataType::Bool, shape, mask)),
                                from, constant(Tensor(type.element, {}, heap_storage(zero)))},
                     .outputs = {last}});
      from = last;
    }
  }

  ValueId left_of(ValueId value, const KeptAxis& kept, std::size_t axis) {
    const auto count = static_cast<std::int64_t>(kept.positions.size());
    return add_op("Gather", {value, constant(Tensor::of_int64({count}, kept.positions))},
                  {{"axis", static_cast<std::int64_t>(axis)}});
  }

  // Norms what is left, and puts it back among zeros by a product with ones and zeros.
  bool add_layer_norm(const Node& node) {
    if (!node.is("LayerNormalization")) return false;
    const std::size_t last = old_.value(node.inputs[0]).type.shape->rank() - 1;
    const KeptAxis* kept = kept_axis(node.inputs[0], last);
    const std::int64_t axis = node.int_or("axis", -1);
    if (kept == nullptr) return false;
    if (axis != -1 && axis != static_cast<std::int64_t>(last))
      throw Error(ErrorKind::Failed, "norm over several axes");
    Node norm = node;
    norm.inputs[0] = left_of(node.inputs[0], *kept, last);
    for (std::size_t i = 1; i < norm.inputs.size(); ++i)
      norm.inputs[i] = left_of(norm.inputs[i], *kept, 0);
    norm.outputs = {untyped()};
    new_.add_node(norm);
    const std::int64_t rows = static_cast<std::int64_t>(kept->positions.size());
    const std::int64_t columns = (*old_.value(node.inputs[0]).type.shape)[last].value();
    std::vector<float> places(static_cast<std::size_t>(rows * columns), 0.0f);
    for (std::int64_t row = 0; row < rows; ++row)
      places[static_cast<std::size_t>(row * columns +
                                      kept->positions[static_cast<std::size_t>(row)])] = 1;
    new_.add_node({.name = "",
                   .op = "MatMul",
                   .domain = "",
                   .inputs = {norm.outputs[0], constant(Tensor::of_float({rows, columns}, places))},
                   .outputs = {node.outputs[0]}});
    return true;
  }

  bool is_reduced(const Node& node, std::size_t axis) const {
    const auto rank = static_cast<std::int64_t>(old_.value(node.inputs[0]).type.shape->rank());
    const auto axes = node.ints_or("axes", {});
    const auto at = static_cast<std::int64_t>(axis);
    return axes.empty() || std::ranges::any_of(axes, [&](std::int64_t one) {
             return one == at || one + rank == at;
           });
  }

  bool add_mean(Node node) {
    if (!node.is("ReduceMean")) return false;
    for (const KeptAxis& one : kept_[node.inputs[0].number]) {
      if (is_reduced(node, one.axis)) node.inputs[0] = left_of(node.inputs[0], one, one.axis);
    }
    new_.add_node(node);
    return true;
  }

  const Graph& old_;
  const KeptAxes& kept_;
  Graph new_;
  int count_ = 0;
};

std::vector<Tensor> outputs_of(const Graph& graph, const ProgramOptions& options,
                               std::uint64_t seed) {
  const auto program = compile(infer_shapes(graph), options);
  program->set_inputs(random_inputs(program->inputs(), seed));
  program->run();
  return program->results();
}

}  // namespace

Graph zeroed_model(const Graph& model, const PruneOptions& options) {
  const FollowedModel followed(model, options.bindings);
  const transform::PrunePlan plan = transform::plan_pruning(followed, options);
  return Zeroing(followed, plan.kept).run();
}

Difference compare_with_zeroed(const Graph& model, const PruneOptions& options,
                               const ProgramOptions& program, std::uint64_t seed) {
  const Graph pruned = bind_inputs(prune_model(model, options).graph, options.bindings).graph;
  return compare_results(outputs_of(pruned, program, seed),
                         outputs_of(zeroed_model(model, options), program, seed));
}

}  // namespace assay
