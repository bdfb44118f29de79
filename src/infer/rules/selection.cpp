// Ops whose output size depends on the content of the input: known only if the content is.
#include <algorithm>
#include <set>

#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

constexpr const char* kDependsOnData = "how much it selects depends on the data";

void non_zero(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto values = context.numbers(0);
  context.leave_open(kDependsOnData);
  Dim count;
  if (values) count = Dim(std::ranges::count_if(*values, [](double value) { return value != 0; }));
  const Dim rank = input != nullptr ? Dim(static_cast<std::int64_t>(input->rank())) : Dim();
  context.set(0, DataType::Int64, Shape{rank, count});
}

void compress(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto condition = context.ints(1);
  const auto* axis = context.node().get<std::int64_t>("axis");
  context.leave_open(kDependsOnData);
  Dim count;
  if (condition)
    count = Dim(std::ranges::count_if(*condition, [](std::int64_t truth) { return truth != 0; }));
  if (axis == nullptr) return context.set(0, context.element(0), Shape{count});
  if (input == nullptr) return context.set(0, context.element(0));
  Shape result = *input;
  result[context.axis(*axis, input->rank())] = count;
  context.set(0, context.element(0), result);
}

// Distinct slices along an axis, or distinct elements without one.
std::optional<std::int64_t> distinct(const std::vector<double>& values, const Dims& dims,
                                     std::optional<std::size_t> axis) {
  if (!axis)
    return static_cast<std::int64_t>(std::set<double>(values.begin(), values.end()).size());
  if (values.empty()) return dims[*axis] == 0 ? 0 : 1;
  std::vector<std::vector<double>> slices(static_cast<std::size_t>(dims[*axis]));
  kernels::for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    slices[static_cast<std::size_t>(index[*axis])].push_back(values[i]);
  });
  return static_cast<std::int64_t>(
      std::set<std::vector<double>>(slices.begin(), slices.end()).size());
}

void unique(InferContext& context) {
  const Shape* input = context.shape(0);
  const auto* wanted = context.node().get<std::int64_t>("axis");
  std::optional<std::size_t> axis;
  if (wanted != nullptr && input != nullptr) axis = context.axis(*wanted, input->rank());
  const auto values = context.numbers(0);
  Dim count;
  if (values && (wanted == nullptr || axis))
    count = Dim(*distinct(*values, context.known(0)->dims(), axis));
  std::optional<Shape> result;
  if (wanted == nullptr) result = Shape{count};
  if (axis) {
    result = *input;
    (*result)[*axis] = count;
  }
  context.leave_open(kDependsOnData);
  context.set(0, context.element(0), result);
  context.set(1, DataType::Int64, Shape{count});
  Dim inverse;
  if (axis)
    inverse = (*input)[*axis];
  else if (input != nullptr && wanted == nullptr)
    inverse = product(context, dims_of(*input));
  context.set(2, DataType::Int64, Shape{inverse});
  context.set(3, DataType::Int64, Shape{count});
}

void non_max_suppression(InferContext& context) {
  context.leave_open(kDependsOnData);
  context.set(0, DataType::Int64, Shape{Dim(), Dim(3)});
}

}  // namespace

void add_selection_rules(RuleTable& table) {
  table["NonZero"] = non_zero;
  table["Compress"] = compress;
  table["Unique"] = unique;
  table["NonMaxSuppression"] = non_max_suppression;
}

}  // namespace assay::infer
