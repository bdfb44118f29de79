#include "cli/turns.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

namespace assay::cli {

TurnsProgress::TurnsProgress(double turn_seconds) : turn_seconds_(turn_seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void TurnsProgress::report(double /*fraction*/, std::string_view what) {
  if (what == "warming up" && !has_begun_) wait_for_turn();
}

void TurnsProgress::sampled(std::size_t samples) {
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - turn_began_;
  if (taken.count() < turn_seconds_) return;
  samples_ = samples;
  wait_for_turn();
}

void TurnsProgress::wait_for_turn() {
  has_begun_ = true;
  constexpr auto kSize = static_cast<ssize_t>(sizeof samples_);
  is_alone_ = ::write(kTurnsOut, &samples_, sizeof samples_) != kSize;
  while (!is_alone_ && !interrupted()) {
    TurnMessage ignored = 0;
    const auto count = ::read(kTurnsIn, &ignored, sizeof ignored);
    if (count == kSize) break;
    is_alone_ = count == 0 || errno != EINTR;
  }
  turn_began_ = std::chrono::steady_clock::now();
}

}  // namespace assay::cli
