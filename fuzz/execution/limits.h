// What a child process may take for one mutant before it is ended and counted as a finding.
#pragma once

namespace assay::fuzz {

// The exit status of a child that ended itself.
inline constexpr int kHung = 101;
inline constexpr int kTooMuchMemory = 102;
inline constexpr int kUnexpectedException = 103;

// Begins the time of the next mutant: 10 s of processor time, or two minutes in which the process
// was not stopped.
void start_watch();
void install_limits();

// A request for more than 2 GiB ends the process. Where sizes depend on what the inputs hold, such
// a request may be honest: it then fails with std::bad_alloc, as on a small machine.
void expect_sizes_from_inputs(bool sizes_depend_on_inputs);

}  // namespace assay::fuzz
