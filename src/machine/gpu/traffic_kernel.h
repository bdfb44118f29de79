// Texts of kernels that do nothing but access memory, in groups of 16 bytes. Every word of a buffer
// has a value of its own, so that the sum tells whether all were read or written.
#pragma once

#include <cstdint>
#include <string>

namespace assay::machine {

// `read_all(words, groups, passes, sums)`, `write_all(words, groups, passes)` and
// `copy_all(to, from, groups)`. A pass over the buffer begins elsewhere for each pass, so that no
// multiprocessor accesses the same part twice; first-level caches are bypassed.
std::string traffic_kernels();

// What all words that `write_all` wrote sum up to, of at most 16 GB.
std::uint64_t sum_of_words(std::int64_t groups);

inline constexpr std::int64_t kGroupBytes = 16;

}  // namespace assay::machine
