// Stored tensors on the GPU: each is copied there once, however many steps read it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "assay/tensor.h"
#include "execute/buffers.h"
#include "execute/cuda/placement.h"
#include "gpu/device.h"

namespace assay::cuda {

class Weights {
 public:
  Weights(const gpu::Device& device, execute::Buffers& buffers)
      : device_(device), buffers_(buffers), stream_(device) {}

  // Row by row.
  Placement stored(const Tensor& tensor);
  // Filters by their taps, channels next to each other, followed by zeros if `channels` is more
  // than the tensor has.
  Placement stored_channels_last(const Tensor& tensor, std::int64_t channels = 0);
  // A matrix of which each column lies side by side.
  Placement stored_by_columns(const Tensor& tensor);
  std::int64_t bytes() const { return bytes_; }
  // What programs keep when lowering has ended.
  std::vector<gpu::Memory> take() { return std::move(memories_); }

 private:
  struct Key {
    const std::byte* bytes = nullptr;
    DataType type = DataType::Undefined;
    Dims dims = {};
    std::int64_t channels = 0;  // 0: row by row, -1: column by column
    friend auto operator<=>(const Key&, const Key&) = default;
  };

  Placement stored_at(const Key& key, const Tensor& tensor, std::span<const std::byte> bytes,
                      Placement placement);

  const gpu::Device& device_;
  execute::Buffers& buffers_;
  gpu::Stream stream_;
  std::map<Key, Placement> placements_;
  std::vector<Tensor> kept_;  // so that no other tensor gets the address of one that was stored
  std::vector<gpu::Memory> memories_;
  std::int64_t bytes_ = 0;
};

}  // namespace assay::cuda
