// What a child process may take for one mutant before it is ended and counted as a finding.
#pragma once

namespace assay::fuzz {

// The exit status of a child that ended itself.
inline constexpr int kHung = 101;
inline constexpr int kTooMuchMemory = 102;
inline constexpr int kUnexpectedException = 103;

// Begins the time of the next mutant: some seconds of processor time, or a minute on the clock.
void start_watch();
void install_limits();

}  // namespace assay::fuzz
