// Inputs for a model nobody gave inputs for: reproducible, and harmless to any op that reads them.
#include <algorithm>

#include "assay/program.h"
#include "base/fail.h"
#include "base/random_numbers.h"
#include "graph/half.h"

namespace assay {

using graph::float_to_bfloat16;
using graph::float_to_half;

namespace {

template <typename T, typename Draw>
Tensor drawn(DataType type, const std::vector<std::int64_t>& dims, std::size_t count, Draw draw) {
  std::vector<T> values(count);
  std::ranges::generate(values, draw);
  return Tensor::of<T>(type, dims, values);
}

// Small enough to be an index into most things.
constexpr std::uint64_t kSmallIntegers = 2;

Tensor random_tensor(const Value& input, RandomNumbers random) {
  const auto dims = input.type.shape->values();
  const auto count = static_cast<std::size_t>(*input.type.shape->elements());
  const auto small = [&] { return random.below(kSmallIntegers); };
  switch (input.type.element) {
    case DataType::Float32:
      return drawn<float>(DataType::Float32, dims, count,
                          [&] { return static_cast<float>(random.normal()); });
    case DataType::Float64:
      return drawn<double>(DataType::Float64, dims, count, [&] { return random.normal(); });
    case DataType::Float16:
      return drawn<std::uint16_t>(DataType::Float16, dims, count, [&] {
        return float_to_half(static_cast<float>(random.normal()));
      });
    case DataType::BFloat16:
      return drawn<std::uint16_t>(DataType::BFloat16, dims, count, [&] {
        return float_to_bfloat16(static_cast<float>(random.normal()));
      });
    case DataType::Bool:
    case DataType::UInt8:
    case DataType::Int8:
      return drawn<std::uint8_t>(input.type.element, dims, count,
                                 [&] { return static_cast<std::uint8_t>(small()); });
    case DataType::Int16:
    case DataType::UInt16:
      return drawn<std::uint16_t>(input.type.element, dims, count,
                                  [&] { return static_cast<std::uint16_t>(small()); });
    case DataType::Int32:
    case DataType::UInt32:
      return drawn<std::uint32_t>(input.type.element, dims, count,
                                  [&] { return static_cast<std::uint32_t>(small()); });
    case DataType::Int64:
    case DataType::UInt64:
      return drawn<std::uint64_t>(input.type.element, dims, count, small);
    default:
      fail_bad_input("input '{}' is {}: give it a value, none can be drawn at random", input.name,
                     input.type.to_string());
  }
}

}  // namespace

std::vector<Tensor> random_inputs(const std::vector<Value>& inputs, std::uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const Value& input : inputs) {
    if (!input.type.is_tensor() || !input.type.has_known_shape()) {
      fail_bad_input("input '{}' is {}: its shape must be known to draw it at random", input.name,
                     input.type.to_string());
    }
    tensors.push_back(random_tensor(input, RandomNumbers(seed, input.name)));
  }
  return tensors;
}

}  // namespace assay
