// What a value is while a graph runs: a tensor, a sequence, or nothing.
//
// An optional that holds something is that something; one that holds nothing, and an input left
// out, are both nothing.
#pragma once

#include <variant>
#include <vector>

#include "assay/tensor.h"

namespace assay::reference {

class RuntimeValue {
 public:
  using Sequence = std::vector<RuntimeValue>;

  RuntimeValue() = default;  // nothing
  // An empty tensor, as kernels know it, is nothing as well.
  RuntimeValue(Tensor tensor) {  // NOLINT: a tensor is a value
    if (tensor.has_value()) content_ = std::move(tensor);
  }
  RuntimeValue(Sequence sequence) : content_(std::move(sequence)) {}  // NOLINT: so is a sequence

  bool has_value() const { return !std::holds_alternative<std::monostate>(content_); }
  const Tensor* tensor() const { return std::get_if<Tensor>(&content_); }  // null: it is none
  const Sequence* sequence() const { return std::get_if<Sequence>(&content_); }
  Sequence* sequence() { return std::get_if<Sequence>(&content_); }

 private:
  std::variant<std::monostate, Tensor, Sequence> content_;
};

}  // namespace assay::reference
