// The elements of a float32 tensor at an address that suits them.
#pragma once

#include <cstdint>

#include "assay/tensor.h"

namespace assay::cpu {

// Calls `use` with the elements; a mapped file need not align them, and then it sees a copy.
template <typename Use>
void with_floats(const Tensor& tensor, const Use& use) {
  const auto stored = tensor.bytes();
  if (reinterpret_cast<std::uintptr_t>(stored.data()) % alignof(float) == 0) {
    return use(reinterpret_cast<const float*>(stored.data()));
  }
  const auto copy = tensor.to_vector<float>();
  use(copy.data());
}

}  // namespace assay::cpu
