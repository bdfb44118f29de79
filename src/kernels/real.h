// Real numbers as double: neural kernels compute in double whatever the floating type of their
// tensors, and round once, when they store. So the oracle is more precise than the engines that are
// compared with it.
#pragma once

#include <vector>

#include "kernels/kernel.h"
#include "kernels/strided_walk.h"

namespace assay::kernels {

// The elements as double; fails unless they are floating-point numbers.
std::vector<double> load_real(const KernelCall& call, const Tensor& tensor);
// The elements as double; fails unless there is one for each of `count`, e.g. channels.
std::vector<double> load_real(const KernelCall& call, std::size_t input, std::int64_t count);

double dot(const double* a, const double* b, std::int64_t count);

// Rounded to `type`, which must be floating.
Tensor store_real(DataType type, Dims dims, const std::vector<double>& values);

// How many elements a result of these dimensions has; fails when they overflow, are negative or
// need more memory than there is.
std::size_t result_elements(const KernelCall& call, const Dims& dims);

// A number that some versions of an op give as an int and others as a float.
double number_or(const Node& node, std::string_view attribute, double otherwise);

// Where `tensor` lies when it is broadcast to `dims`; fails when `dims` would have to grow.
Dims strides_over(const KernelCall& call, const Tensor& tensor, const Dims& dims);

// Calls `change(value, number)` for every value and the number of input `input` that is broadcast
// to it; an input left out changes nothing.
template <typename Change>
void change_by_input(const KernelCall& call, std::size_t input, const Dims& dims,
                     std::vector<double>& values, Change change) {
  if (!call.has(input)) return;
  const Tensor& tensor = call.input(input);
  const StridedWalk<1> walk(dims, {strides_over(call, tensor, dims)});
  const auto numbers = load_real(call, tensor);
  walk.for_each([&](std::size_t i, auto at) { change(values[i], numbers[at[0]]); });
}

// values += input `addend`, broadcast to `dims`.
inline void add_input(const KernelCall& call, std::vector<double>& values, const Dims& dims,
                      std::size_t addend) {
  change_by_input(call, addend, dims, values, [](double& value, double by) { value += by; });
}

// Input 0 with `function` applied to every element.
template <typename Function>
std::vector<Tensor> mapped(const KernelCall& call, Function function) {
  const Tensor& input = call.input(0);
  auto values = load_real(call, input);
  for (double& value : values) value = function(value);
  return {store_real(input.type(), input.dims(), values)};
}

}  // namespace assay::kernels
