// Two processes that are compared measure in turns of a few samples, so that other load on the
// machine slows down both alike. The comparing process schedules the turns through pipes.
#pragma once

#include <chrono>

#include "base/turn_message.h"
#include "cli/console.h"

namespace assay::cli {

// Waits for the first turn before warm-up, and for the next whenever a turn is over.
class TurnsProgress : public Progress {
 public:
  // From now on, this process ends when its parent ends.
  explicit TurnsProgress(double turn_seconds);
  void report(double fraction, std::string_view what) override;
  void sampled(std::size_t samples) override;
  bool cancelled() const override { return is_alone_ || interrupted(); }

 private:
  void wait_for_turn();

  double turn_seconds_ = 0;
  bool has_begun_ = false;
  TurnMessage samples_ = 0;
  bool is_alone_ = false;  // the comparing process is gone
  std::chrono::steady_clock::time_point turn_began_ = {};
};

}  // namespace assay::cli
