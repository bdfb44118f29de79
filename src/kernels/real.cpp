#include "kernels/real.h"

#include <algorithm>

#include "base/checked.h"
#include "base/text.h"
#include "kernels/elements.h"

namespace assay::kernels {

namespace {

bool is_real(DataType type) {
  return is_floating(type) && bits(type) >= 16;
}

}  // namespace

std::vector<double> load_real(const KernelCall& call, const Tensor& tensor) {
  if (!is_real(tensor.type()))
    call.fail("needs floating-point numbers, got {}", name(tensor.type()));
  return tensor.to_double();
}

std::vector<double> load_real(const KernelCall& call, std::size_t input, std::int64_t count) {
  const Tensor& tensor = call.input(input);
  if (tensor.elements() != count)
    call.fail("input {} holds {} numbers, needs {}", input, tensor.elements(), count);
  return load_real(call, tensor);
}

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

Tensor store_real(DataType type, Dims dims, const std::vector<double>& values) {
  if (type == DataType::Float64) return store<double>(type, std::move(dims), values);
  std::vector<float> rounded(values.size());
  std::ranges::transform(values, rounded.begin(),
                         [](double value) { return static_cast<float>(value); });
  return store<float>(type, std::move(dims), rounded);
}

std::size_t result_elements(const KernelCall& call, const Dims& dims) {
  const auto count = checked_product(dims);
  if (!count) call.fail("the result {} is too large", join_dims(dims));
  call.need_memory(saturating_multiply(*count, sizeof(double)));
  return static_cast<std::size_t>(*count);
}

Dims strides_over(const KernelCall& call, const Tensor& tensor, const Dims& dims) {
  if (broadcast_dims(dims, tensor.dims()) != dims)
    call.fail("{} cannot be broadcast to {}", join_dims(tensor.dims()), join_dims(dims));
  return broadcast_strides(tensor.dims(), dims);
}

double number_or(const Node& node, std::string_view attribute, double otherwise) {
  const AttributeValue* found = node.find(attribute);
  if (found == nullptr) return otherwise;
  if (const auto* whole = std::get_if<std::int64_t>(found)) return static_cast<double>(*whole);
  return static_cast<double>(node.float_or(attribute, 0));
}

}  // namespace assay::kernels
