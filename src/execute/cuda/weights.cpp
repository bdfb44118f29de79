#include "execute/cuda/weights.h"

#include <cstring>

namespace assay::cuda {

namespace {

// The elements of a tensor that lies row by row, as they lie channels last.
std::vector<std::byte> channels_moved_last(const Tensor& tensor) {
  const auto from = tensor.bytes();
  const Dims& dims = tensor.dims();
  std::int64_t taps = 1;
  for (std::size_t axis = 2; axis < dims.size(); ++axis) taps *= dims[axis];
  const auto element = static_cast<std::size_t>(bits(tensor.type()) / 8);
  std::vector<std::byte> to(from.size());
  std::byte* out = to.data();
  for (std::int64_t filter = 0; filter < dims[0]; ++filter) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t channel = 0; channel < dims[1]; ++channel, out += element) {
        const auto at = static_cast<std::size_t>((filter * dims[1] + channel) * taps + tap);
        std::memcpy(out, from.data() + at * element, element);
      }
    }
  }
  return to;
}

}  // namespace

Placement Weights::stored(const Tensor& tensor) {
  return stored(tensor, false);
}

Placement Weights::stored_channels_last(const Tensor& tensor) {
  return stored(tensor, tensor.dims().size() > 2);
}

Placement Weights::stored(const Tensor& tensor, bool channels_last) {
  const Key key{tensor.bytes().data(), tensor.type(), tensor.dims(), channels_last};
  const auto found = placements_.find(key);
  if (found != placements_.end()) return found->second;
  std::vector<std::byte> moved;
  if (channels_last) moved = channels_moved_last(tensor);
  const std::span<const std::byte> bytes = channels_last ? moved : tensor.bytes();
  gpu::Memory memory(device_, static_cast<std::int64_t>(bytes.size()), "weights");
  if (!bytes.empty()) stream_.copy_in(memory.address(), bytes);
  stream_.wait("copying weights");
  Placement placement = channels_last ? channels_last_placement(tensor.type(), tensor.dims())
                                      : row_major_placement(tensor.type(), tensor.dims());
  // Without an address it would be taken for a part of the arena: nothing reads a weight of no
  // bytes.
  auto* address = reinterpret_cast<std::byte*>(bytes.empty() ? 1 : memory.address());
  placement.buffer = buffers_.add_fixed(memory.bytes(), address);
  bytes_ += memory.bytes();
  memories_.push_back(std::move(memory));
  kept_.push_back(tensor);
  return placements_.emplace(key, placement).first->second;
}

}  // namespace assay::cuda
