// How many nodes a function becomes once everything it calls is inlined too, found without inlining
// anything: each body is looked at once.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "onnx_io/functions.h"

namespace assay::onnx {

class ExpandedSizes {
 public:
  ExpandedSizes(const FunctionTable& functions, const Source& source)
      : functions_(functions), source_(source), sizes_(functions.functions().size()) {}

  // Never more than InliningBudget::kMostNodes + 1. Recursive calls and those nested too deeply
  // count once: the reader refuses them anyway.
  std::size_t of(const Function& function) { return size_of(function, 0); }

 private:
  static constexpr std::size_t kUnknown = 0;
  static constexpr std::size_t kBeingCounted = static_cast<std::size_t>(-1);

  std::size_t size_of(const Function& function, int depth);
  std::size_t count(std::span<const std::string_view> nodes, int depth);
  std::size_t count_node(std::string_view node, int depth);

  const FunctionTable& functions_;
  const Source& source_;
  std::vector<std::size_t> sizes_;  // by function
};

}  // namespace assay::onnx
