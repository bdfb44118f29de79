#include "report/charts/png_density.h"

#include <zlib.h>

#include <cmath>
#include <cstdint>

namespace assay::report {

namespace {

// The signature, then the header chunk: length, name, 13 bytes and a checksum.
constexpr std::size_t kEndOfHeader = 8 + (4 + 4 + 13 + 4);
constexpr char kUnitIsMetre = 1;

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((number >> shift) & 0xffu);
  return bytes;
}

std::string chunk(const std::string& chunk_name, const std::string& payload) {
  const std::string checked = chunk_name + payload;
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(payload.size())) + checked +
         big_endian(static_cast<std::uint32_t>(sum));
}

}  // namespace

std::string with_density(std::string png, double dots_per_inch) {
  constexpr double kInchInMetres = 0.0254;
  const auto per_metre = static_cast<std::uint32_t>(std::lround(dots_per_inch / kInchInMetres));
  const std::string both_ways = big_endian(per_metre) + big_endian(per_metre);
  png.insert(kEndOfHeader, chunk("pHYs", both_ways + kUnitIsMetre));
  return png;
}

}  // namespace assay::report
