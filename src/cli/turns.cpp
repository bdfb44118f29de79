#include "cli/turns.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>

namespace assay::cli {

TurnsProgress::TurnsProgress() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void TurnsProgress::report(double /*fraction*/, std::string_view what) {
  constexpr auto kTurn = std::chrono::milliseconds(100);
  const bool is_first = what == "warming up" && !has_begun_;
  const bool is_over =
      what == "measuring" && std::chrono::steady_clock::now() - turn_began_ >= kTurn;
  if (is_first || is_over) wait_for_turn();
}

void TurnsProgress::wait_for_turn() {
  has_begun_ = true;
  char byte = kTurnByte;
  is_alone_ = ::write(kTurnsOut, &byte, 1) != 1;
  while (!is_alone_ && !interrupted()) {
    const auto count = ::read(kTurnsIn, &byte, 1);
    if (count == 1) break;
    is_alone_ = count == 0 || errno != EINTR;
  }
  turn_began_ = std::chrono::steady_clock::now();
}

}  // namespace assay::cli
