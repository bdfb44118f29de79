#include "execute/cuda/weights.h"

namespace assay::cuda {

Placement Weights::stored(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const Key key{bytes.data(), tensor.type(), tensor.dims()};
  const auto found = placements_.find(key);
  if (found != placements_.end()) return found->second;
  gpu::Memory memory(device_, static_cast<std::int64_t>(bytes.size()), "weights");
  if (!bytes.empty()) stream_.copy_in(memory.address(), bytes);
  stream_.wait("copying weights");
  Placement placement = row_major_placement(tensor.type(), tensor.dims());
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
