// Moves whole elements of any type from tensors into a new one, without looking at them.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "base/text.h"
#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

class ElementWriter {
 public:
  // Elements that are never written are zero.
  ElementWriter(const KernelCall& call, DataType type, Dims dims)
      : type_(type), dims_(std::move(dims)), width_(element_width(call, type)) {
    const auto elements = checked_product(dims_);
    const auto size =
        elements ? checked_multiply(*elements, static_cast<std::int64_t>(width_)) : std::nullopt;
    if (!size) call.fail("the result {} is too large", join_dims(dims_));
    call.need_memory(*size);
    if (type_ == DataType::String)
      strings_.resize(static_cast<std::size_t>(*elements));
    else
      bytes_.resize(static_cast<std::size_t>(*size));
  }

  // Copies `count` elements that follow each other in both.
  void copy(std::size_t position, const Tensor& source, std::int64_t source_position,
            std::size_t count = 1) {
    if (type_ == DataType::String) return copy_strings(position, source, source_position, count);
    if (source_bytes_of_ != &source) {
      source_bytes_ = source.bytes();
      source_bytes_of_ = &source;
    }
    std::memcpy(&bytes_[position * width_],
                &source_bytes_[static_cast<std::size_t>(source_position) * width_], count * width_);
  }

  std::size_t elements() const {
    return type_ == DataType::String ? strings_.size() : bytes_.size() / width_;
  }
  Tensor finish() {
    if (type_ == DataType::String) return Tensor(std::move(dims_), std::move(strings_));
    return Tensor(type_, std::move(dims_), heap_storage(std::move(bytes_)));
  }

 private:
  void copy_strings(std::size_t position, const Tensor& source, std::int64_t source_position,
                    std::size_t count) {
    const auto from = source.strings().begin() + source_position;
    std::copy_n(from, count, strings_.begin() + static_cast<std::ptrdiff_t>(position));
  }

  static std::size_t element_width(const KernelCall& call, DataType type) {
    if (type == DataType::String) return sizeof(std::string);
    if (bits(type) < 8) call.fail("elements of type {} cannot be moved one by one", name(type));
    return static_cast<std::size_t>(bits(type)) / 8;
  }

  DataType type_ = DataType::Undefined;
  Dims dims_;
  std::size_t width_ = 0;
  std::vector<std::byte> bytes_;
  std::vector<std::string> strings_;  // instead of the bytes
  const Tensor* source_bytes_of_ = nullptr;
  std::span<const std::byte> source_bytes_;
};

// The tensor with axis `order[i]` in place `i`; `order` must be a permutation of its axes.
Tensor transposed(const KernelCall& call, const Tensor& input, const Dims& order);

// The axes a node names, from the attribute `axes` or, since some opset, from the input `input`.
std::optional<Dims> axes_of(const KernelCall& call, std::size_t input);

}  // namespace assay::kernels
