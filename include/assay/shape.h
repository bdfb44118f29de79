// A dimension is a number, a named symbol ("batch") or unknown; a shape is a list of dimensions.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace assay {

// The lengths of a tensor's axes, the outermost first.
using Dims = std::vector<std::int64_t>;

class Dim {
 public:
  Dim() = default;                            // unknown
  Dim(std::int64_t value) : value_(value) {}  // NOLINT: a number is a dimension
  static Dim symbol(std::string name);

  bool is_known() const { return value_ >= 0; }
  bool is_symbol() const { return !is_known() && !symbol_.empty(); }
  std::int64_t value() const { return value_; }  // -1 unless known
  const std::string& symbol_name() const { return symbol_; }
  std::string to_string() const;  // "224", "batch" or "?"

  friend bool operator==(const Dim&, const Dim&) = default;

 private:
  std::int64_t value_ = -1;
  std::string symbol_;
};

class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<Dim> dims) : dims_(dims) {}
  explicit Shape(std::vector<Dim> dims) : dims_(std::move(dims)) {}
  explicit Shape(std::span<const std::int64_t> dims) : dims_(dims.begin(), dims.end()) {}
  explicit Shape(const std::vector<std::int64_t>& dims) : dims_(dims.begin(), dims.end()) {}

  std::size_t rank() const { return dims_.size(); }
  const Dim& operator[](std::size_t axis) const { return dims_[axis]; }
  Dim& operator[](std::size_t axis) { return dims_[axis]; }
  auto begin() const { return dims_.begin(); }
  auto end() const { return dims_.end(); }
  void push_back(Dim dim) { dims_.push_back(std::move(dim)); }

  bool is_known() const;  // every dimension is a number
  // The product of the dimensions; nothing when one is not known or the product overflows.
  std::optional<std::int64_t> elements() const;
  std::vector<std::int64_t> values() const;  // -1 for dimensions that are not known
  std::string to_string() const;             // "1x3x224x224"; "scalar" for rank 0

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::vector<Dim> dims_;
};

}  // namespace assay
