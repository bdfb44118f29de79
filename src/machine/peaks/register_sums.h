// The loop of every peak kernel: independent sums, all in registers, each added to once a round.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::machine {

#if defined(__x86_64__)
#define ASSAY_VECTOR_REGISTER "+v"
#elif defined(__aarch64__)
#define ASSAY_VECTOR_REGISTER "+w"
#else
#define ASSAY_VECTOR_REGISTER "+m"
#endif

// Hides the origin of a value from the compiler, which could otherwise do the arithmetic at compile
// time, or once for all sums. Always inline: vectors belong to the instruction set of one file.
template <typename Vector>
[[gnu::always_inline]] inline Vector hidden(Vector value) {
  asm volatile("" : ASSAY_VECTOR_REGISTER(value));
  return value;
}

template <typename Lane, typename Vector>
[[gnu::always_inline]] inline double total_of_lanes(const Vector& vector) {
  Lane lanes[sizeof(Vector) / sizeof(Lane)];
  __builtin_memcpy(lanes, &vector, sizeof lanes);
  double total = 0;
  for (const Lane lane : lanes) total += static_cast<double>(lane);
  return total;
}

// `add(sum)` does a sum's part of a round. Gives the total over all lanes of all sums.
template <std::size_t kSums, typename Lane, typename Vector, typename Add>
[[gnu::always_inline]] inline double register_sums(std::int64_t rounds, Vector start, Add add) {
  Vector sums[kSums];
#pragma GCC unroll 32
  for (Vector& sum : sums) sum = hidden(start);
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 32
    for (Vector& sum : sums) sum = add(sum);
  }
  double total = 0;
#pragma GCC unroll 32
  for (const Vector& sum : sums) total += total_of_lanes<Lane>(sum);
  return total;
}

}  // namespace assay::machine
