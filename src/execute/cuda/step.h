// A step of a program while it is planned, and how it runs once buffers have addresses.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/program.h"
#include "execute/cuda/kernels.h"
#include "execute/cuda/placement.h"
#include "gpu/device.h"

namespace assay::cuda {

// Addresses of all buffers, and the kernels, once there are any.
class Addresses {
 public:
  Addresses(std::vector<gpu::DevicePointer> starts, const Kernels& kernels)
      : starts_(std::move(starts)), kernels_(kernels) {}

  gpu::DevicePointer start(BufferId id) const { return id.is_valid() ? starts_[id.number] : 0; }
  gpu::DevicePointer of(const Placement& placement) const {
    return start(placement.buffer) +
           static_cast<gpu::DevicePointer>(placement.offset * bits(placement.type) / 8);
  }
  const Kernels& kernels() const { return kernels_; }

 private:
  std::vector<gpu::DevicePointer> starts_;
  const Kernels& kernels_;
};

// Puts its work into the stream; a step that runs on the host waits for what came before.
using Runner = std::function<void(const gpu::Stream&)>;
using Binder = std::function<Runner(const Addresses&)>;

// A kernel and what it is called with, in this order.
struct KernelCall {
  KernelId kernel = 0;
  gpu::Launch shape = {};
  std::vector<Placement> arguments = {};
};

// An argument that is a number and no address: a parameter of type long long.
Placement number_argument(std::int64_t number);

Binder binder_of(const KernelCall& call);
Binder binder_of(const std::vector<KernelCall>& calls);  // one after another

struct PlannedStep {
  StepInfo info;
  Binder bind;
  std::vector<BufferId> touched;
  bool on_host = false;
};

// What a step reads and writes, beside its info.
struct StepDraft {
  std::vector<NodeId> nodes = {};  // of the lowered graph, the main one first
  std::string name = "";           // of a step without nodes, as the next two
  std::string op = "";
  std::string algorithm = "";
  std::string precision = "";  // empty: that of the main node's values
  std::string isa = "cuda";
  std::int64_t executed_flops = 0;
  std::vector<Placement> reads = {};
  std::vector<Placement> writes = {};
  std::vector<BufferId> workspace = {};
  std::string fell_back = "";
  bool on_host = false;
};

}  // namespace assay::cuda
