#include "graph/seeded.h"

#include "base/checked.h"
#include "base/fail.h"
#include "graph/mixing.h"

namespace assay::graph {

std::uint64_t mixed_bits(std::uint64_t x) {
  return mixed(x);
}

namespace {

std::uint64_t stream_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t state = mixed_bits(seed);
  for (const unsigned char c : name) state = mixed_bits(state ^ c);
  return state;
}

void fill_uniform(std::span<std::byte> bytes, std::uint64_t stream, float bound) {
  for (std::size_t i = 0; i * sizeof(float) < bytes.size(); ++i) {
    const auto top24 = static_cast<std::int32_t>(mixed_bits(stream + i) >> 40);
    // 24 bits fit a float exactly, so the result is the same on every machine.
    const float number = static_cast<float>(top24 - (1 << 23)) * 0x1p-23f * bound;
    std::memcpy(bytes.data() + i * sizeof(float), &number, sizeof number);
  }
}

std::size_t float_bytes(std::span<const std::int64_t> dims) {
  const auto elements = checked_product(dims);
  const auto bytes = elements ? byte_size(DataType::Float32, *elements) : std::nullopt;
  if (!bytes) fail_bad_input("weight dimensions overflow");
  return static_cast<std::size_t>(*bytes);
}

}  // namespace

Tensor seeded_uniform(std::uint64_t seed, std::string_view name, std::vector<std::int64_t> dims,
                      double bound) {
  const std::uint64_t stream = stream_of(seed, name);
  const auto limit = static_cast<float>(bound);
  auto storage = generated_storage(
      float_bytes(dims), [=](std::span<std::byte> bytes) { fill_uniform(bytes, stream, limit); });
  return Tensor(DataType::Float32, std::move(dims), std::move(storage));
}

Tensor filled_tensor(std::vector<std::int64_t> dims, float number) {
  auto storage = generated_storage(float_bytes(dims), [=](std::span<std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof number) {
      std::memcpy(bytes.data() + at, &number, sizeof number);
    }
  });
  return Tensor(DataType::Float32, std::move(dims), std::move(storage));
}

}  // namespace assay::graph
