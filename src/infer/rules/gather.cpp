// Gather and scatter by index, and one-hot encoding.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

Shape gathered_shape(const InferContext& context, const Shape& data, const Shape& indices) {
  const std::size_t axis = context.axis(context.node().int_or("axis", 0), data.rank());
  std::vector<Dim> dims = dims_of(data);
  const auto at = dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  dims.insert(at, indices.begin(), indices.end());
  return Shape(dims);
}

namespace {

void gather(InferContext& context) {
  const Shape* data = context.shape_of_rank_at_least(0, 1);
  const Shape* indices = context.shape(1);
  if (data == nullptr || indices == nullptr) return context.set(0, context.element(0));
  context.set(0, context.element(0), gathered_shape(context, *data, *indices));
}

void gather_elements(InferContext& context) {
  const Shape* data = context.shape(0);
  const Shape* indices = context.shape(1);
  if (data != nullptr && indices != nullptr && data->rank() != indices->rank()) {
    context.fail("data has rank {}, indices {}", data->rank(), indices->rank());
  }
  context.set(0, context.element(0), maybe(indices));
}

void gather_nd(InferContext& context) {
  const Shape* data = context.shape_of_rank_at_least(0, 1);
  const Shape* indices = context.shape_of_rank_at_least(1, 1);
  if (data == nullptr || indices == nullptr) return context.set(0, context.element(0));
  const Dim& width = (*indices)[indices->rank() - 1];
  if (!width.is_known()) return context.set(0, context.element(0));
  const std::int64_t batch = context.node().int_or("batch_dims", 0);
  const auto rank = static_cast<std::int64_t>(data->rank());
  if (batch < 0 || batch > rank || width.value() > rank - batch ||
      batch >= static_cast<std::int64_t>(indices->rank())) {
    context.fail("index tuples of {} with {} batch axes do not fit data {}", width.value(), batch,
                 data->to_string());
  }
  std::vector<Dim> dims = dims_of(*indices);
  dims.pop_back();
  for (std::int64_t axis = batch + width.value(); axis < rank; ++axis)
    dims.push_back((*data)[static_cast<std::size_t>(axis)]);
  context.set(0, context.element(0), Shape(dims));
}

void one_hot(InferContext& context) {
  const Shape* indices = context.shape(0);
  const DataType element = context.element(2);
  if (indices == nullptr) return context.set(0, element);
  const auto depth = context.integer(1);
  if (depth && *depth < 0) context.fail("depth {} is negative", *depth);
  std::vector<Dim> dims = dims_of(*indices);
  const std::size_t axis = context.axis(context.node().int_or("axis", -1), dims.size() + 1);
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), depth ? Dim(*depth) : Dim());
  context.set(0, element, Shape(dims));
}

void scatter(InferContext& context) {
  context.type(2);
  same_as_input(context);
}

}  // namespace

void add_gather_rules(RuleTable& table) {
  table["Gather"] = gather;
  table["GatherElements"] = gather_elements;
  table["GatherND"] = gather_nd;
  table["OneHot"] = one_hot;
  for (const char* op : {"Scatter", "ScatterElements", "ScatterND"}) table[op] = scatter;
}

}  // namespace assay::infer
