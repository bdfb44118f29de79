// Two processes that are compared measure in turns, a few samples each: what else the machine does
// meanwhile slows down both alike. The process that compares hands out the turns through pipes.
#pragma once

#include <chrono>
#include <cstdint>

#include "cli/console.h"

namespace assay::cli {

constexpr int kTurnsIn = 0;   // the descriptor on which a measuring process is told to go on
constexpr int kTurnsOut = 3;  // and the one on which it says that it waits
// What goes through the pipes: how many samples the process has taken so far, and back any one.
using TurnMessage = std::uint64_t;

// Waits for the first turn before warm-up, and for the next whenever a turn is over.
class TurnsProgress : public Progress {
 public:
  // From now on, this process ends with the one that started it.
  explicit TurnsProgress(double turn_seconds);
  void report(double fraction, std::string_view what) override;
  void sampled(std::size_t samples) override;
  bool cancelled() const override { return is_alone_ || interrupted(); }

 private:
  void wait_for_turn();

  double turn_seconds_ = 0;
  bool has_begun_ = false;
  TurnMessage samples_ = 0;
  bool is_alone_ = false;  // nobody hands out turns any more
  std::chrono::steady_clock::time_point turn_began_ = {};
};

}  // namespace assay::cli
