#include "train/bound_model.h"

#include <algorithm>

#include "assay/bind.h"
#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay::train {

namespace {

// Old files list their weights among the inputs.
const Value& only_input(const Graph& graph) {
  std::vector<ValueId> fed;
  for (const ValueId id : graph.inputs()) {
    if (graph.initializer(id) == nullptr) fed.push_back(id);
  }
  if (fed.size() != 1) {
    fail_bad_input("the model has {} inputs, a data set feeds exactly one", fed.size());
  }
  const Value& input = graph.value(fed.front());
  if (!input.type.is_tensor() || input.type.element != DataType::Float32) {
    fail_bad_input("input '{}' is {}, samples of data sets are float32", input.name,
                   input.type.to_string());
  }
  return input;
}

bool may_be(const Shape& declared, std::span<const std::int64_t> sample) {
  if (declared.rank() != sample.size() + 1) return false;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const Dim& dim = declared[i + 1];
    if (dim.is_known() && dim.value() != sample[i]) return false;
  }
  return true;
}

// The shape in which the model takes a sample: its own, or flattened.
std::vector<std::int64_t> sample_dims_for(const Value& input, const Dataset& data) {
  auto sample = data.sample_dims();
  if (!input.type.shape || may_be(*input.type.shape, sample)) return sample;
  std::vector<std::int64_t> flat = {checked_product(sample).value_or(0)};
  if (may_be(*input.type.shape, flat)) return flat;
  fail_bad_input("input '{}' is {}, but samples of data set '{}' are {}", input.name,
                 input.type.to_string(), data.name, join_dims(sample));
}

std::int64_t checked_outputs(const Graph& graph, const Dataset& data, std::int64_t batch_size) {
  if (graph.outputs().empty()) fail_bad_input("the model has no output");
  const Value& output = graph.value(graph.outputs()[0]);
  const ValueType& type = output.type;
  const bool are_scores = type.has_known_shape() && type.shape->rank() == 2 &&
                          is_floating(type.element) && (*type.shape)[0].value() == batch_size;
  if (!are_scores) {
    fail_bad_input("output '{}' is {} for a batch of {}: expected one score for each class, {}xN",
                   output.name, type.to_string(), batch_size, batch_size);
  }
  const std::int64_t scores = (*type.shape)[1].value();
  if (scores < data.classes) {
    fail_bad_input("output '{}' has scores for {} classes, data set '{}' has {}", output.name,
                   scores, data.name, data.classes);
  }
  return scores;
}

// A data set that was built by hand may contain anything.
void check_labels(const Dataset& data, std::int64_t outputs) {
  const auto labels = data.labels.to_vector<std::int64_t>();
  const auto found = std::ranges::find_if(
      labels, [&](std::int64_t label) { return label < 0 || label >= outputs; });
  if (found == labels.end()) return;
  fail_bad_input("data set '{}': label {} is {}, the model has scores for classes 0 to {}",
                 data.name, found - labels.begin(), *found, outputs - 1);
}

}  // namespace

BoundModel bind_to_data(const Graph& graph, const Dataset& data, std::int64_t batch_size) {
  const Value& input = only_input(graph);
  BoundModel bound;
  bound.input_dims = sample_dims_for(input, data);
  bound.input_dims.insert(bound.input_dims.begin(), batch_size);
  const Bindings bindings = {.input_shapes = {{input.name, Shape(bound.input_dims)}}};
  bound.model = infer_shapes(bind_inputs(graph, bindings).graph);
  bound.outputs = checked_outputs(bound.model.graph, data, batch_size);
  check_labels(data, bound.outputs);
  return bound;
}

Tensor fitted_samples(const Tensor& samples, const BoundModel& model) {
  const auto batch_size = static_cast<std::size_t>(model.input_dims[0]);
  const auto given = static_cast<std::size_t>(samples.dims()[0]);
  if (given >= batch_size) {  // more: a batch in parts
    std::vector<std::int64_t> dims = model.input_dims;
    dims[0] = samples.dims()[0];
    return samples.reshaped(dims);
  }
  const auto bytes = samples.bytes();
  const std::size_t row = bytes.size() / given;
  std::vector<std::byte> filled(bytes.begin(), bytes.end());
  for (std::size_t i = given; i < batch_size; ++i) {
    filled.insert(filled.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(row));
  }
  return Tensor(samples.type(), model.input_dims, heap_storage(std::move(filled)));
}

}  // namespace assay::train
