// Candidates of one step on memory of their own, run in turns and timed by the GPU's clock.
#pragma once

#include <string>
#include <vector>

#include "execute/buffers.h"
#include "execute/cuda/candidate.h"
#include "execute/cuda/kernels.h"
#include "gpu/launched_kernels.h"

namespace assay::cuda {

// What the step reads lies here, random; weights are where they are.
class Scratch {
 public:
  Scratch(const gpu::Stream& stream, const execute::Buffers& buffers, const Kernels& kernels,
          const std::vector<Placement>& reads, const std::vector<Placement>& writes,
          const std::vector<std::vector<BufferId>>& workspaces);

  // For a candidate with these workspaces.
  Addresses addresses(const std::vector<BufferId>& workspace) const;
  // The result's first elements and its last, as numbers.
  std::vector<float> result() const;
  // Numbers that no candidate would leave there.
  void spoil_result() const;

 private:
  void fill(BufferId buffer, DataType type, std::int64_t bytes) const;

  const gpu::Stream& stream_;
  const execute::Buffers& buffers_;
  const Kernels& kernels_;
  Placement result_;
  gpu::Memory memory_;
  std::vector<gpu::DevicePointer> starts_;  // by buffer
  gpu::DevicePointer workspace_ = 0;
};

class Trial {
 public:
  // Runs it once; throws what the first run throws.
  Trial(const gpu::Stream& stream, Runner runner);

  // About how long a run takes, in ms, with what the processor does to launch it.
  double first_look();
  // Captures so many runs that they can be timed; throws if that is not possible.
  void capture();
  void time();  // once more
  // The names of the kernels that it launches.
  std::vector<std::string> kernels() const { return gpu::launched_kernels(stream_, runner_); }
  double median() const;                   // ms a run
  double spent() const { return spent_; }  // ms of all runs

 private:
  double timed(const std::function<void()>& launch);

  const gpu::Stream& stream_;
  Runner runner_;
  gpu::Owned begin_;
  gpu::Owned end_;
  gpu::Owned graph_;
  int runs_ = 1;
  double first_ms_ = 0;
  double spent_ = 0;
  std::vector<double> times_;
};

// How far the numbers are apart, relative to the largest of them; 0 for equal ones, also if both
// are not a number.
double relative_difference(const std::vector<float>& numbers, const std::vector<float>& expected);

}  // namespace assay::cuda
