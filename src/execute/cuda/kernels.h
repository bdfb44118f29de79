// The kernels of a program: their texts are collected while it is lowered, and compiled together.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/progress.h"
#include "gpu/code.h"

namespace assay::cuda {

using KernelId = std::size_t;

class Kernels {
 public:
  // `text` defines one kernel, called KERNEL, whose threads work together or not (then the fake GPU
  // of the tests need not run them in turns). Equal texts are one kernel.
  KernelId add(const std::string& text, bool threads_cooperate = false);

  // Several at a time, on several threads.
  void compile(const gpu::Device& device, Progress* progress);
  gpu::Handle function(KernelId id) const { return functions_[id]; }

 private:
  std::vector<std::string> texts_;
  std::map<std::string, KernelId> ids_;
  std::vector<gpu::Code> modules_;
  std::vector<gpu::Handle> functions_;
};

}  // namespace assay::cuda
