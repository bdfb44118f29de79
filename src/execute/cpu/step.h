// A step of a program while it is planned: what it reads and writes, and how it runs once buffers
// have addresses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/program.h"
#include "execute/cpu/placement.h"

namespace assay::cpu {

// Addresses of all buffers, once they have any.
class Addresses {
 public:
  explicit Addresses(std::vector<std::byte*> starts) : starts_(std::move(starts)) {}
  std::byte* start(BufferId id) const { return id.is_valid() ? starts_[id.number] : nullptr; }
  std::byte* bytes(const Placement& placement) const;
  float* floats(const Placement& placement) const {
    return reinterpret_cast<float*>(bytes(placement));
  }

 private:
  std::vector<std::byte*> starts_;
};

using Runner = std::function<void()>;
using Binder = std::function<Runner(const Addresses&)>;

struct PlannedStep {
  StepInfo info;
  Binder bind;
  std::vector<BufferId> touched;
};

// What a step reads and writes, beside its info.
struct StepDraft {
  std::vector<NodeId> nodes;  // of the lowered graph, the main one first
  std::string algorithm = "";
  std::string precision = "";  // empty: that of the main node's values
  std::string isa = "";        // empty: read from the algorithm, else that of our own loops
  std::int64_t executed_flops = 0;
  std::vector<Placement> reads = {};
  std::vector<Placement> writes = {};
  std::vector<BufferId> workspace = {};
  std::string fell_back = "";
};

}  // namespace assay::cpu
