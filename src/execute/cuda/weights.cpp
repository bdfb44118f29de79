#include "execute/cuda/weights.h"

#include <algorithm>
#include <cstring>

namespace assay::cuda {

namespace {

// The elements of a tensor that lies row by row, as they lie channels last.
std::vector<std::byte> channels_moved_last(const Tensor& tensor, std::int64_t channels) {
  const auto from = tensor.bytes();
  const Dims& dims = tensor.dims();
  std::int64_t taps = 1;
  for (std::size_t axis = 2; axis < dims.size(); ++axis) taps *= dims[axis];
  const auto element = static_cast<std::size_t>(bits(tensor.type()) / 8);
  std::vector<std::byte> to(static_cast<std::size_t>(dims[0] * taps * channels) * element);
  for (std::int64_t filter = 0; filter < dims[0]; ++filter) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t channel = 0; channel < dims[1]; ++channel) {
        const auto source = static_cast<std::size_t>((filter * dims[1] + channel) * taps + tap);
        const auto target = static_cast<std::size_t>((filter * taps + tap) * channels + channel);
        std::memcpy(to.data() + target * element, from.data() + source * element, element);
      }
    }
  }
  return to;
}

// The elements of a matrix that lies row by row, as they lie column by column.
std::vector<std::byte> turned(const Tensor& matrix) {
  const auto from = matrix.bytes();
  const auto rows = static_cast<std::size_t>(matrix.dims()[0]);
  const auto columns = static_cast<std::size_t>(matrix.dims()[1]);
  const auto element = static_cast<std::size_t>(bits(matrix.type()) / 8);
  std::vector<std::byte> to(from.size());
  // Blocks of rows stay in the processor's cache while their columns are written.
  constexpr std::size_t kBlock = 64;
  for (std::size_t first = 0; first < rows; first += kBlock) {
    const std::size_t last = std::min(rows, first + kBlock);
    for (std::size_t column = 0; column < columns; ++column)
      for (std::size_t row = first; row < last; ++row)
        std::memcpy(to.data() + (column * rows + row) * element,
                    from.data() + (row * columns + column) * element, element);
  }
  return to;
}

}  // namespace

Placement Weights::stored(const Tensor& tensor) {
  const Key key{tensor.bytes().data(), tensor.type(), tensor.dims(), 0};
  return stored_at(key, tensor, tensor.bytes(), row_major_placement(tensor.type(), tensor.dims()));
}

Placement Weights::stored_channels_last(const Tensor& tensor, std::int64_t channels) {
  if (tensor.dims().size() < 3) return stored(tensor);
  Dims dims = tensor.dims();
  dims[1] = std::max(dims[1], channels);
  const Key key{tensor.bytes().data(), tensor.type(), tensor.dims(),
                std::max<std::int64_t>(dims[1], 1)};
  const auto found = placements_.find(key);
  if (found != placements_.end()) return found->second;
  return stored_at(key, tensor, channels_moved_last(tensor, dims[1]),
                   channels_last_placement(tensor.type(), dims));
}

Placement Weights::stored_by_columns(const Tensor& tensor) {
  const Key key{tensor.bytes().data(), tensor.type(), tensor.dims(), -1};
  const auto found = placements_.find(key);
  if (found != placements_.end()) return found->second;
  Placement placement = row_major_placement(tensor.type(), tensor.dims());
  placement.strides = {1, tensor.dims()[0]};
  return stored_at(key, tensor, turned(tensor), placement);
}

Placement Weights::stored_at(const Key& key, const Tensor& tensor, std::span<const std::byte> bytes,
                             Placement placement) {
  const auto found = placements_.find(key);
  if (found != placements_.end()) return found->second;
  gpu::Memory memory(device_, static_cast<std::int64_t>(bytes.size()), "weights");
  if (!bytes.empty()) stream_.copy_in(memory.address(), bytes);
  stream_.wait("copying weights");
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
