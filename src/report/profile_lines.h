// Lines above and below the tables of every kind of profile.
#pragma once

#include <string>

#include "assay/profile.h"

namespace assay::report {

std::string setting_text(const Profile& profile);
// Of an imported profile: its file, and how much of its time was joined with nodes; else empty.
std::string source_text(const Profile& profile);
std::string attribution_text(const Profile& profile);
std::string latency_text(const Measurement& measured);
std::string spread_text(const LatencySummary& latency);
std::string verdict_text(const Measurement& measured);
// One line: the names of its reasons, which the warnings explain.
std::string verdict_names(const Measurement& measured);
std::string throughput_text(const Profile& profile);
std::string start_up_text(const StartUp& start_up);
std::string copies_text(const Profile& profile);     // of a GPU's inputs and outputs
std::string gpu_state_text(const Profile& profile);  // clocks, power, temperature
std::string ceiling_text(const Profile& profile);
std::string fell_back_text(const Profile& profile);

}  // namespace assay::report
