// How a process that measures in turns and the one that schedules the turns talk to each other.
#pragma once

#include <cstdint>

namespace assay {

constexpr int kTurnsIn = 0;   // descriptor on which a measuring process is told to continue
constexpr int kTurnsOut = 3;  // descriptor on which it reports that it waits
// Messages in the pipes: the number of samples taken so far; any value in the other direction.
using TurnMessage = std::uint64_t;

}  // namespace assay
