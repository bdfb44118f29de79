// Moves whole elements of any fixed-size type from tensors into a new one, without looking at them.
#pragma once

#include <cstring>

#include "base/checked.h"
#include "base/text.h"
#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay {

class ElementWriter {
 public:
  // Elements that are never written are zero.
  ElementWriter(const KernelCall& call, DataType type, Dims dims)
      : type_(type), dims_(std::move(dims)), width_(element_width(call, type)) {
    const auto elements = checked_product(dims_);
    const auto size = elements ? byte_size(type, *elements) : std::nullopt;
    if (!size) call.fail("the result {} is too large", join_dims(dims_));
    bytes_.resize(static_cast<std::size_t>(*size));
  }

  void copy(std::size_t position, const Tensor& source, std::int64_t source_position) {
    if (source_bytes_of_ != &source) {
      source_bytes_ = source.bytes();
      source_bytes_of_ = &source;
    }
    std::memcpy(&bytes_[position * width_],
                &source_bytes_[static_cast<std::size_t>(source_position) * width_], width_);
  }

  std::size_t elements() const { return bytes_.size() / width_; }
  Tensor finish() { return Tensor(type_, std::move(dims_), heap_storage(std::move(bytes_))); }

 private:
  static std::size_t element_width(const KernelCall& call, DataType type) {
    if (bits(type) < 8) call.fail("elements of type {} cannot be moved one by one", name(type));
    return static_cast<std::size_t>(bits(type)) / 8;
  }

  DataType type_ = DataType::Undefined;
  Dims dims_;
  std::size_t width_ = 0;
  std::vector<std::byte> bytes_;
  const Tensor* source_bytes_of_ = nullptr;
  std::span<const std::byte> source_bytes_;
};

// The axes a node names, from the attribute `axes` or, since some opset, from the input `input`.
std::optional<Dims> axes_of(const KernelCall& call, std::size_t input);

}  // namespace assay
