// Evaluates one node on tensors written in a line, for tests whose arithmetic is written out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "assay/error.h"
#include "kernels/kernel.h"

namespace assay {

using Numbers = std::vector<double>;
using Sizes = std::vector<std::int64_t>;

inline Tensor real_tensor(Sizes dims, const std::vector<float>& values) {
  return Tensor::of_float(std::move(dims), values);
}
template <typename T>
Tensor whole_tensor(DataType type, Sizes dims, const std::vector<T>& values) {
  return Tensor::of<T>(type, std::move(dims), values);
}
inline Tensor bytes_tensor(Sizes dims, const std::vector<std::uint8_t>& values) {
  return whole_tensor<std::uint8_t>(DataType::UInt8, std::move(dims), values);
}
inline Tensor long_tensor(Sizes dims, const Sizes& values) {
  return Tensor::of_int64(std::move(dims), values);
}

inline Attribute number(const char* name, std::int64_t value) {
  return {name, value};
}
inline Attribute real_number(const char* name, float value) {
  return {name, value};
}
inline Attribute text(const char* name, const char* value) {
  return {name, std::string(value)};
}
inline Attribute list(const char* name, Sizes values) {
  return {name, std::move(values)};
}

struct Case {
  const char* op = "";
  std::vector<Tensor> inputs = {};
  std::vector<Attribute> attributes = {};
  std::int64_t opset = 17;
  std::size_t outputs = 1;
  const char* domain = "";
};

inline std::vector<Tensor> outputs_of(const Case& test) {
  const Node node{.name = "node",
                  .op = test.op,
                  .domain = test.domain,
                  .inputs = {},
                  .outputs = std::vector<ValueId>(test.outputs, ValueId{0}),
                  .attributes = test.attributes};
  return kernels::evaluate(node, test.inputs, test.opset);
}

inline Tensor result_of(const Case& test) {
  return outputs_of(test).front();
}

// The elements are those, each to within a rounding of float.
inline void expect_near(const Tensor& tensor, const Numbers& wanted, double tolerance = 1e-6) {
  const auto got = tensor.to_double();
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(got[i], wanted[i], tolerance) << "at " << i;
}

}  // namespace assay
