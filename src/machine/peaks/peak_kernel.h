// Arithmetic only: sums that stay in registers, enough of them to keep every unit busy. One kernel
// per file; those that this processor can run are selected at run time.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace assay::machine {

struct PeakKernel {
  std::string_view precision;           // "fp32", "fp16", "bf16", "int16" or "int8"
  std::string_view instruction_set;     // "AVX-512 VNNI"
  std::int64_t operations_a_round = 0;  // multiplications and additions
  bool (*is_supported)() = nullptr;
  // Runs `rounds` rounds and returns the total of all sums. It equals `sum_after` exactly if the
  // arithmetic was really done.
  double (*run)(std::int64_t rounds) = nullptr;
  double (*sum_after)(std::int64_t rounds) = nullptr;
};

// Sums are exact up to this many rounds.
constexpr std::int64_t kMostRounds = std::int64_t{1} << 23;

const PeakKernel& peak_fp32_baseline();
#if defined(__x86_64__)
const PeakKernel& peak_fp32_avx2();
const PeakKernel& peak_fp32_avx512();
const PeakKernel& peak_fp16_avx512();
const PeakKernel& peak_bf16_avx512();
const PeakKernel& peak_int8_avx2();
const PeakKernel& peak_int8_avx_vnni();
const PeakKernel& peak_int8_avx512();
const PeakKernel& peak_int8_avx512_vnni();
const PeakKernel& peak_int16_avx512_vnni();
const PeakKernel& peak_int8_amx();
const PeakKernel& peak_bf16_amx();
#elif defined(__aarch64__)
const PeakKernel& peak_fp16_neon();
const PeakKernel& peak_bf16_neon();
const PeakKernel& peak_int8_neon();
const PeakKernel& peak_int8_neon_dot();
const PeakKernel& peak_int8_neon_i8mm();
#endif

// As Peak::instruction_set names tile instructions.
constexpr std::string_view kTileInstructions = "AMX";

// The kernels that this processor can run.
std::vector<const PeakKernel*> supported_peak_kernels();

}  // namespace assay::machine
