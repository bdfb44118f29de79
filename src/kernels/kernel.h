// Evaluates one node on tensors in the simplest possible way: the oracle that faster engines are
// tested against.
//
// A kernel is a function from a call (node, inputs, opset) to output tensors. It checks its
// inputs: a bad index, a division by zero or mismatched shapes throw an Error that names the node.
// Integer overflow wraps. Every family of kernels registers itself in one table.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "assay/graph.h"
#include "base/fail.h"

namespace assay::kernels {

struct KernelCall {
  const Node& node;
  std::span<const Tensor> inputs;  // an empty tensor is an optional input left out
  std::int64_t opset = 0;

  bool has(std::size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  const Tensor& input(std::size_t i) const;                     // fails when it is left out
  void need_memory(std::int64_t bytes) const;                   // fails when that much is not free
  std::vector<std::int64_t> ints(const char* attribute) const;  // fails when it is missing
  // The attribute `axis` as 0..rank-1; fails when it is out of range.
  std::size_t axis(std::int64_t otherwise, std::size_t rank) const;

  template <typename... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) const {
    fail_bad_input("{} '{}': {}", node.op, node.name,
                   fmt::format(format, std::forward<Args>(args)...));
  }
};

using Kernel = std::vector<Tensor> (*)(const KernelCall&);
using KernelTable = std::unordered_map<std::string_view, Kernel>;

bool has_kernel(const Node& node);

// Whether the kernel's work is in proportion to the elements it reads and writes. That of Conv,
// MatMul and similar ops is not, so constant folding does not use them.
bool works_in_proportion(const Node& node);

// One tensor for each output of the op; `opset` is the version of the node's domain.
std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor> inputs, std::int64_t opset);

}  // namespace assay::kernels
