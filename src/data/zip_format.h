// Numbers of the ZIP format, from APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
#pragma once

#include <bit>
#include <cstdint>

namespace assay::data {

static_assert(std::endian::native == std::endian::little, "numbers are stored as they are");

inline constexpr std::uint32_t kMemberSignature = 0x04034b50;
inline constexpr std::uint32_t kEntrySignature = 0x02014b50;
inline constexpr std::uint32_t kEndSignature = 0x06054b50;
inline constexpr std::uint32_t kWideEndSignature = 0x06064b50;
inline constexpr std::uint32_t kWideLocatorSignature = 0x07064b50;
inline constexpr std::uint16_t kWideSizes = 1;               // the extra field of 64-bit sizes
inline constexpr std::uint32_t kSeeWideSizes = 0xffff'ffff;  // the size is in that field instead

}  // namespace assay::data
