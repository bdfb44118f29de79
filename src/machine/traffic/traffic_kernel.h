// Kernels that move bytes between memory and registers and do as little else as possible. One kind
// of access per file, compiled for each instruction set, which is chosen at run time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay::machine {

// Arrays of the same length; a kernel uses the first, the first two, or all.
struct TrafficArrays {
  double* a = nullptr;
  double* b = nullptr;
  double* c = nullptr;
  std::size_t count = 0;  // of numbers in each, a multiple of kTrafficStep
};
constexpr std::size_t kTrafficStep = 128;

// The value of every element of an array before a kernel runs.
constexpr double kFilledA = std::bit_cast<double>(std::int64_t{1});  // the reading kernel's one
constexpr double kFilledB = 2;
constexpr double kFilledC = 5;

struct TrafficKernel {
  std::string_view access;  // "read", "write", "copy", "triad", or one with "-nt": non-temporal
  std::size_t arrays = 1;
  std::int64_t bytes_a_number = 0;  // read and written, as STREAM counts
  std::int64_t flops_a_number = 0;
  // Passes over the arrays, one after another. A kernel that only reads returns the sum.
  double (*run)(const TrafficArrays& arrays, std::size_t passes) = nullptr;
  double expected = 0;  // that sum per element; else the new value of each element of `a`
  bool reads_only = false;
};

struct TrafficTable {
  std::string_view instruction_set;
  bool (*is_supported)() = nullptr;
  std::span<const TrafficKernel> kernels;
};

const TrafficTable& traffic_baseline();
#if defined(__x86_64__)
const TrafficTable& traffic_avx2();
const TrafficTable& traffic_avx512();
#endif

// The widest that this processor can run.
const TrafficTable& traffic_table();

}  // namespace assay::machine
