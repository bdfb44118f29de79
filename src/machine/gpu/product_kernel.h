// Texts of kernels that do nothing but arithmetic, in registers: fused multiply-adds, or products
// of small matrices by tensor cores. Operands are random small integers, so that every sum is exact
// and can be compared with one worked out here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::machine {

struct ProductKernel {
  std::string_view precision;
  std::string_view instruction_set;  // "CUDA cores", "tensor cores"
  int least_capability = 0;          // 89: compute capability 8.9
  std::string text;                  // of `extern "C" __global__ void multiply(rounds, sums)`
  bool threads_cooperate = false;
  double operations = 0;   // of a warp in a round
  double sum_of_warp = 0;  // that its 32 threads should have added up after one round
};

inline constexpr int kWarp = 32;
// Rounds are a multiple of this: sums that tensor cores keep stay small, because those of 8-bit
// floats have 14 bits on some GPUs.
inline constexpr int kRoundsTogether = 8;
// Sums of more are not exact.
inline constexpr std::int64_t kMostProductRounds = 16384;

std::vector<ProductKernel> product_kernels();

}  // namespace assay::machine
