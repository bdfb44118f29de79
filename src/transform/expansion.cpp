#include "transform/expansion.h"

#include <algorithm>

#include "transform/cast_precision.h"
#include "transform/reads.h"

namespace assay::transform {

Expansion::Expansion(Inferred model)
    : old_(std::move(model)), graph_(old_.graph.declarations()), is_read_(read_values(old_.graph)) {
  for (const auto& [value, tensor] : old_.graph.initializers())
    graph_.add_initializer(value, tensor);
}

void Expansion::begin(NodeId id) {
  current_ = id;
  node_ = old_.graph.node(id);
  widened_results_.clear();
  for (ValueId& output : node_.outputs) {
    if (output.is_valid() && !is_read_[output.number]) output = {};
  }
  while (!node_.outputs.empty() && !node_.outputs.back().is_valid()) node_.outputs.pop_back();
}

namespace {

Tensor as_float32(const Tensor& tensor) {
  std::vector<float> numbers;
  for (const double number : tensor.to_double()) numbers.push_back(static_cast<float>(number));
  return Tensor::of<float>(DataType::Float32, tensor.dims(), numbers);
}

}  // namespace

void Expansion::widen() {
  const auto is_known_half = [&](ValueId id) {
    return id.is_valid() && is_half(element(id)) && graph_.value(id).type.has_known_shape();
  };
  for (ValueId& input : node_.inputs) {
    if (!is_known_half(input)) continue;
    const Dims dims_of_input = dims(input);
    if (const Tensor* known = constant(input)) {
      input = new_value("widened", dims_of_input, DataType::Float32);
      graph_.add_initializer(input, as_float32(*known));
    } else {
      input = as_floats(input);
    }
  }
  for (ValueId& output : node_.outputs) {
    if (!is_known_half(output)) continue;
    const ValueId wide = new_value("wide", dims(output), DataType::Float32);
    widened_results_.emplace_back(wide, output);
    output = wide;
  }
}

void Expansion::narrow() {
  for (const auto& [wide, output] : widened_results_)
    add_as({"Cast", {wide}, {{"to", static_cast<std::int64_t>(element(output))}}}, {output});
}

void Expansion::keep() {
  graph_.add_node(old_.graph.node(current_));
  origins_.push_back({current_});
}

bool Expansion::is_float(ValueId id) const {
  if (!id.is_valid()) return false;
  const ValueType& type = graph_.value(id).type;
  return type.is_tensor() && type.element == DataType::Float32 && type.has_known_shape() &&
         type.shape->elements().value_or(0) > 0;
}

bool Expansion::are_floats(const std::vector<ValueId>& ids) const {
  return std::ranges::all_of(ids, [&](ValueId id) { return !id.is_valid() || is_float(id); });
}

Dims Expansion::dims(ValueId id) const {
  const ValueType& type = graph_.value(id).type;
  return type.has_known_shape() ? type.shape->values() : Dims{};
}

const Tensor* Expansion::constant(ValueId id) const {
  if (!id.is_valid()) return nullptr;
  if (const Tensor* stored = graph_.initializer(id)) return stored;
  return id.number < old_.known.size() ? old_.known_value(id) : nullptr;
}

ValueId Expansion::new_value(const std::string& what, const Dims& dims, DataType element) {
  return graph_.add_value(old_.graph.display_name(current_) + "/" + what,
                          tensor_type(element, Shape(dims)));
}

ValueId Expansion::integers(const std::vector<std::int64_t>& numbers) {
  const Dims dims = {static_cast<std::int64_t>(numbers.size())};
  const ValueId id = new_value("integers", dims, DataType::Int64);
  graph_.add_initializer(id, Tensor::of<std::int64_t>(DataType::Int64, dims, numbers));
  return id;
}

ValueId Expansion::floats(const Dims& dims, const std::vector<float>& numbers) {
  const ValueId id = new_value("floats", dims, DataType::Float32);
  graph_.add_initializer(id, Tensor::of<float>(DataType::Float32, dims, numbers));
  return id;
}

ValueId Expansion::number(float number) {
  return floats({}, {number});
}

ValueId Expansion::add(Piece piece, const Dims& dims, DataType element) {
  return add_many(std::move(piece), {dims}, {element}).front();
}

std::vector<ValueId> Expansion::add_many(Piece piece, const std::vector<Dims>& dims,
                                         const std::vector<DataType>& elements) {
  std::vector<ValueId> results;
  for (std::size_t i = 0; i < dims.size(); ++i)
    results.push_back(new_value(piece.op, dims[i], elements[i]));
  add_as(std::move(piece), results);
  return results;
}

void Expansion::add_as(Piece piece, std::vector<ValueId> results) {
  graph_.add_node({.name = old_.graph.display_name(current_),
                   .op = std::move(piece.op),
                   .domain = std::move(piece.domain),
                   .inputs = std::move(piece.inputs),
                   .outputs = std::move(results),
                   .attributes = std::move(piece.attributes)});
  origins_.push_back({current_});
}

void Expansion::add_chain(std::vector<Piece> pieces, ValueId result) {
  ValueId running = pieces.front().inputs.front();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    pieces[i].inputs.front() = running;
    if (i + 1 == pieces.size()) return add_as(std::move(pieces[i]), {result});
    running = add(std::move(pieces[i]), dims(result), element(result));
  }
}

Piece Expansion::clip(ValueId value, float low, float high) {
  constexpr std::int64_t kBoundsAreInputs = 11;
  if (opset() < kBoundsAreInputs) return {"Clip", {value}, {{"min", low}, {"max", high}}};
  return {"Clip", {value, number(low), number(high)}};
}

Piece Expansion::reduce(const std::string& op, ValueId value, std::int64_t axis, bool keeps_axis) {
  const std::int64_t axes_are_inputs = op == "ReduceSum" ? 13 : 18;
  Piece piece{op, {value}, {{"keepdims", std::int64_t{keeps_axis ? 1 : 0}}}};
  if (opset() < axes_are_inputs) {
    piece.attributes.push_back({"axes", std::vector<std::int64_t>{axis}});
  } else {
    piece.inputs.push_back(integers({axis}));
  }
  return piece;
}

Piece Expansion::split(ValueId value, std::int64_t axis, const std::vector<std::int64_t>& sizes) {
  constexpr std::int64_t kSizesAreInputs = 13;
  if (opset() < kSizesAreInputs) return {"Split", {value}, {{"axis", axis}, {"split", sizes}}};
  return {"Split", {value, integers(sizes)}, {{"axis", axis}}};
}

ValueId Expansion::reshaped(ValueId value, const Dims& dims) {
  return add({"Reshape", {value, integers(dims)}}, dims, element(value));
}

ValueId Expansion::as_floats(ValueId integers) {
  return add({"Cast", {integers}, {{"to", static_cast<std::int64_t>(DataType::Float32)}}},
             dims(integers));
}

Rewritten Expansion::finish() && {
  Rewritten result;
  result.model = std::move(old_);
  result.model.graph = std::move(graph_);
  result.model.known.resize(result.model.graph.value_count());
  result.origins = std::move(origins_);
  return result;
}

}  // namespace assay::transform
