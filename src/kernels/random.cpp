// RandomNormal, RandomUniform, their …Like, Bernoulli, Multinomial. A node draws the same numbers
// every time, from its `seed` or else from its name. So results are reproducible, and folding such
// a node is the same as running it.
#include <bit>

#include "base/random_numbers.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/numbers.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

RandomNumbers generator_of(const KernelCall& call) {
  if (const auto* seed = call.node.get<float>("seed"))
    return RandomNumbers(std::bit_cast<std::uint32_t>(*seed), "");
  return RandomNumbers(0, call.node.name);
}

DataType type_or(const KernelCall& call, DataType otherwise) {
  const auto number = call.node.int_or("dtype", static_cast<std::int64_t>(otherwise));
  const auto type = data_type_from_onnx(number);
  if (!type) call.fail("attribute 'dtype' names no element type");
  return *type;
}

// A tensor of shape `dims`; element i is `draw(i)`.
template <typename Draw>
Tensor drawn(const KernelCall& call, DataType type, const Dims& dims, Draw draw) {
  const std::size_t count = result_elements(call, dims);
  return with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = from_real<T>(draw(i));
    return store<T>(type, dims, values);
  });
}

std::vector<Tensor> normal(const KernelCall& call, DataType type, const Dims& dims) {
  RandomNumbers random = generator_of(call);
  const auto mean = static_cast<double>(call.node.float_or("mean", 0));
  const auto scale = static_cast<double>(call.node.float_or("scale", 1));
  return {drawn(call, type, dims, [&](std::size_t) { return mean + scale * random.normal(); })};
}

std::vector<Tensor> uniform(const KernelCall& call, DataType type, const Dims& dims) {
  RandomNumbers random = generator_of(call);
  const auto low = static_cast<double>(call.node.float_or("low", 0));
  const auto high = static_cast<double>(call.node.float_or("high", 1));
  return {
      drawn(call, type, dims, [&](std::size_t) { return low + (high - low) * random.uniform(); })};
}

using Draw = std::vector<Tensor> (*)(const KernelCall&, DataType, const Dims&);

template <Draw draw>
std::vector<Tensor> of_shape(const KernelCall& call) {
  return draw(call, type_or(call, DataType::Float32), call.node.ints_or("shape", {}));
}

template <Draw draw>
std::vector<Tensor> like_input(const KernelCall& call) {
  return draw(call, type_or(call, call.input(0).type()), call.input(0).dims());
}

std::vector<Tensor> bernoulli(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto probabilities = load_real(call, input);
  RandomNumbers random = generator_of(call);
  return {drawn(call, type_or(call, input.type()), input.dims(),
                [&](std::size_t i) { return random.uniform() < probabilities[i] ? 1.0 : 0.0; })};
}

// The classes of one sample, each with the sum of the probabilities up to it.
std::vector<double> cumulated(std::span<const double> logarithms) {
  const double largest = *std::ranges::max_element(logarithms);
  std::vector<double> sums;
  double sum = 0;
  for (const double logarithm : logarithms) sums.push_back(sum += std::exp(logarithm - largest));
  return sums;
}

std::vector<Tensor> multinomial(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.dims().size() != 2 || input.dims()[1] == 0)
    call.fail("needs logarithms of probabilities as a batch of classes");
  const std::int64_t samples = call.node.int_or("sample_size", 1);
  if (samples < 0) call.fail("sample_size {} is negative", samples);
  const auto logarithms = load_real(call, input);
  const auto classes = static_cast<std::size_t>(input.dims()[1]);
  RandomNumbers random = generator_of(call);
  std::vector<double> sums;
  const auto draw = [&](std::size_t i) {
    const auto row = i / static_cast<std::size_t>(samples);
    if (i % static_cast<std::size_t>(samples) == 0)
      sums = cumulated(std::span(logarithms).subspan(row * classes, classes));
    const auto found = std::ranges::lower_bound(sums, random.uniform() * sums.back());
    const auto place = static_cast<std::size_t>(found - sums.begin());
    return static_cast<double>(std::min(place, classes - 1));
  };
  return {drawn(call, type_or(call, DataType::Int32), {input.dims()[0], samples}, draw)};
}

}  // namespace

void add_random_kernels(KernelTable& table) {
  table["RandomNormal"] = of_shape<normal>;
  table["RandomUniform"] = of_shape<uniform>;
  table["RandomNormalLike"] = like_input<normal>;
  table["RandomUniformLike"] = like_input<uniform>;
  table["Bernoulli"] = bernoulli;
  table["Multinomial"] = multinomial;
}

}  // namespace assay::kernels
