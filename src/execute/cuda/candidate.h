// One way of computing a step: a kernel of our own, or an algorithm of a library.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "execute/cuda/step.h"

namespace assay::cuda {

// Ready to run.
struct Prepared {
  Binder bind = {};
  std::vector<BufferId> workspace = {};
};

struct Candidate {
  std::string name = "";       // as StepInfo::algorithm: "cudnn engine 38"
  std::string key = "";        // with all its settings, as the tuning file keeps it
  std::string precision = "";  // it computes in, if that is not the step's
  bool is_library = false;
  // Adds the kernels of our own that it needs, before they are compiled; empty: none.
  std::function<void()> add_kernels = {};
  // Compiles what a library compiles, and asks for workspaces; throws an Error if the library does
  // not support the step after all.
  std::function<Prepared()> prepare = {};
  // Adds to what the step says of itself what the names of the kernels tell that it launches; empty
  // if they tell nothing that is not known.
  std::function<void(StepInfo&, std::span<const std::string> kernels)> describe = {};
};

}  // namespace assay::cuda
