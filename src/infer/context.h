// The node as a shape rule sees it, and where the rule puts its result.
//
// A rule reads input types and whatever input content is known, and sets output types. It
// leaves unknown what it cannot know, and calls `fail`, which names the node, for contradictions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/graph.h"
#include "base/fail.h"
#include "kernels/shape_math.h"

namespace assay::infer {

class InferContext {
 public:
  // `known` holds the content of every value of `graph`, empty where it is not known.
  InferContext(const Graph& graph, const std::vector<Tensor>& known, const Node& node);

  const Node& node() const { return node_; }
  std::int64_t opset() const { return opset_; }  // the version of the node's domain
  std::size_t input_count() const { return node_.inputs.size(); }
  std::size_t output_count() const { return node_.outputs.size(); }
  bool has(std::size_t i) const { return node_.has_input(i); }

  const ValueType& type(std::size_t input) const;  // fails when the input is left out
  DataType element(std::size_t input) const { return type(input).element; }
  const Shape* shape(std::size_t input) const;  // null when even the rank is not known
  // As above; fails if the rank is known and different.
  const Shape* shape_of_rank(std::size_t input, std::size_t rank) const;
  const Shape* shape_of_rank_at_least(std::size_t input, std::size_t rank) const;

  const Tensor* known(std::size_t input) const;  // null when absent or not known
  // As above, also where it is large: what the file stores for this input.
  const Tensor* stored(std::size_t input) const;
  const std::string& input_name(std::size_t input) const;
  std::optional<Dims> ints(std::size_t input) const;             // the content as integers
  std::optional<std::int64_t> integer(std::size_t input) const;  // fails unless it is one number
  std::optional<std::vector<double>> numbers(std::size_t input) const;

  std::size_t axis(std::int64_t axis, std::size_t rank) const;  // fails when out of range
  std::vector<std::size_t> axes(const Dims& axes, std::size_t rank) const;
  // From attribute `name`, or from an input since some opset. `is_given` false: neither is there.
  struct MaybeInts {
    bool is_given = false;
    std::optional<Dims> values = {};  // nothing: given, but not known before running
  };
  MaybeInts ints_from(const char* attribute, std::size_t input) const;
  DataType type_from(const char* attribute, DataType otherwise) const;
  // Exactly `count` integers, or the default; every one at least `least`.
  Dims counted_ints(const char* attribute, std::size_t count, std::int64_t otherwise,
                    std::int64_t least) const;

  void set(std::size_t output, DataType element, std::optional<Shape> shape = std::nullopt);
  void set(std::size_t output, ValueType type);
  void leave_open(std::string reason) { reason_ = std::move(reason); }
  std::vector<ValueType>& outputs() { return outputs_; }
  const std::string& reason() const { return reason_; }

  std::string node_name() const;  // its own, or that of its first output
  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_with(fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  [[noreturn]] void fail_with(const std::string& message) const;

  const Graph& graph_;
  const std::vector<Tensor>& known_;
  const Node& node_;
  std::int64_t opset_ = 0;
  std::vector<ValueType> outputs_;
  std::string reason_;
};

std::string node_name(const Graph& graph, const Node& node);

}  // namespace assay::infer
