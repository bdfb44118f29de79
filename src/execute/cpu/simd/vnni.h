// Loops for processors that multiply four pairs of 8-bit numbers at a time (AVX-512 VNNI, dot
// products of AArch64).
#pragma once

#include <cstddef>
#include <cstdint>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

// Channels that the loops work on at a time.
constexpr std::size_t kVnniChannels = 64;

// From sums of 8-bit products to 8-bit numbers: (sum + bias) · scale, rounded, plus the zero point.
struct ChannelScales {
  const std::int32_t* bias = nullptr;  // in the order of `depthwise_channel`
  const float* scales = nullptr;       // likewise
  std::int32_t zero_point = 0;
  Clamp8 clamp;
  bool is_signed = false;
};

// Results of one row of a channel-wise convolution with square filters, for 64 channels or fewer.
struct DepthwiseRow {
  const std::uint8_t* const* rows = nullptr;  // of the source, one for each row of the filter
  const std::size_t* row_steps = nullptr;     // bytes from pixel to pixel; 0 in rows of padding
  const std::uint8_t* padding = nullptr;      // 64 bytes that stand for pixels outside
  const std::int8_t* weights = nullptr;       // packed
  ChannelScales finish;
  std::ptrdiff_t first_column = 0;  // of the source, for the first result
  std::ptrdiff_t columns = 0;       // of the source
  std::size_t results = 0;
  std::size_t result_step = 0;  // bytes
  std::size_t channels = 0;     // at most 64
  bool source_is_signed = false;
};

struct VnniKernels {
  const char* isa = "";  // as StepInfo has it
  // Sources are multiplied as unsigned numbers (128 is added to signed ones), or as signed ones
  // (128 is subtracted from unsigned ones), which the bias of depthwise_row has to undo.
  bool multiplies_unsigned = true;
  void (*depthwise_row)(std::size_t filter, std::size_t stride, const DepthwiseRow& row,
                        std::uint8_t* results);
  ByteProductFunction byte_product;
};

// Null where the processor has no such instructions.
const VnniKernels* vnni();
const VnniKernels* compiled_vnni();          // whatever the processor has
const VnniKernels* compiled_neon_dot();      // likewise, on AArch64
ByteProductFunction fastest_byte_product();  // that this processor has

// Filters of 3, 5 and 7 taps a side, one or two pixels apart.
constexpr bool has_depthwise_row(std::int64_t filter, std::int64_t stride) {
  return (filter == 3 || filter == 5 || filter == 7) && (stride == 1 || stride == 2);
}
// Rows of a filter that lie together, four at a time: one group for 3, two for 5 and 7.
constexpr std::size_t depthwise_groups(std::size_t filter) {
  return (filter + 3) / 4;
}
// The channel at position `i` (0…63) of a packed block.
constexpr std::size_t depthwise_channel(std::size_t i) {
  return i % 16 / 4 * 16 + i / 16 * 4 + i % 4;
}

}  // namespace assay::cpu
