#include "assay/shape.h"

#include <algorithm>

#include "base/checked.h"

namespace assay {

Dim Dim::symbol(std::string name) {
  Dim dim;
  dim.symbol_ = std::move(name);
  return dim;
}

std::string Dim::to_string() const {
  if (is_known()) return std::to_string(value_);
  return symbol_.empty() ? "?" : symbol_;
}

bool Shape::is_known() const {
  return std::all_of(dims_.begin(), dims_.end(), [](const Dim& dim) { return dim.is_known(); });
}

std::optional<std::int64_t> Shape::elements() const {
  const auto numbers = values();
  return checked_product(numbers);
}

std::vector<std::int64_t> Shape::values() const {
  std::vector<std::int64_t> numbers;
  numbers.reserve(dims_.size());
  for (const auto& dim : dims_) numbers.push_back(dim.value());
  return numbers;
}

std::string Shape::to_string() const {
  if (dims_.empty()) return "scalar";
  std::string text;
  for (const auto& dim : dims_) {
    if (!text.empty()) text += 'x';
    text += dim.to_string();
  }
  return text;
}

}  // namespace assay
