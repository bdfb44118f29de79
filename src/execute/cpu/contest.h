// Executables of one model, timed in turns so that what else the machine does disturbs all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "execute/cpu/executable.h"

namespace assay::cpu {

class Contestant {
 public:
  // Runs on `threads` threads of the caller's team.
  Contestant(Executable& executable, std::span<const Tensor> inputs, int threads);

  void measure();                              // for about a millisecond
  std::int64_t best() const { return best_; }  // nanoseconds a run

 private:
  void run() const;
  std::int64_t time_of(std::int64_t runs) const;

  Executable& executable_;
  int threads_ = 1;
  std::int64_t runs_ = 1;
  std::int64_t best_ = std::numeric_limits<std::int64_t>::max();
};

// How many times longer the first takes than the second.
double relative_time(Contestant first, Contestant second);

}  // namespace assay::cpu
