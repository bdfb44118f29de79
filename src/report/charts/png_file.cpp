#include "report/charts/png_file.h"

#include <zlib.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "base/fail.h"

namespace assay::report {

namespace {

constexpr char kUnitIsMetre = 1;
constexpr char kDifferenceToRowAbove = 2;  // the filter that PNG calls Up

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>((number >> shift) & 0xffu);
  return bytes;
}

std::string chunk(std::string_view chunk_name, std::string_view payload) {
  std::string checked(chunk_name);
  checked += payload;
  const auto sum =
      ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()), static_cast<uInt>(checked.size()));
  return big_endian(static_cast<std::uint32_t>(payload.size())) + checked +
         big_endian(static_cast<std::uint32_t>(sum));
}

std::string header_chunk(const Pixels& pixels) {
  constexpr std::string_view kEightBitColours("\x08\x02\0\0\0", 5);
  return chunk(
      "IHDR", big_endian(pixels.width) + big_endian(pixels.height) + std::string(kEightBitColours));
}

std::string density_chunk(double dots_per_inch) {
  constexpr double kInchInMetres = 0.0254;
  const auto per_metre = static_cast<std::uint32_t>(std::lround(dots_per_inch / kInchInMetres));
  return chunk("pHYs", big_endian(per_metre) + big_endian(per_metre) + kUnitIsMetre);
}

// Red, green and blue; each byte less the one above it, which is 0 in the first row.
void append_row(std::span<const std::uint32_t> row, std::span<const std::uint32_t> above,
                std::string& bytes) {
  const std::size_t start = bytes.size();
  bytes.resize(start + 1 + 3 * row.size());
  bytes[start] = kDifferenceToRowAbove;
  char* out = bytes.data() + start + 1;
  for (std::size_t x = 0; x < row.size(); ++x) {
    out[3 * x] = static_cast<char>(((row[x] >> 16) - (above[x] >> 16)) & 0xffu);
    out[3 * x + 1] = static_cast<char>(((row[x] >> 8) - (above[x] >> 8)) & 0xffu);
    out[3 * x + 2] = static_cast<char>((row[x] - above[x]) & 0xffu);
  }
}

std::string filtered_rows(const Pixels& pixels) {
  std::string bytes;
  bytes.reserve(pixels.height * (1 + 3 * std::size_t{pixels.width}));
  const std::vector<std::uint32_t> nothing(pixels.width, 0);
  std::span<const std::uint32_t> above = nothing;
  for (std::size_t y = 0; y < pixels.height; ++y) {
    const auto row = pixels.words.subspan(y * pixels.words_per_row, pixels.width);
    append_row(row, above, bytes);
    above = row;
  }
  return bytes;
}

std::string deflated(const std::string& bytes) {
  constexpr int kLevel = 4;
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string packed(size, '\0');
  const int status = ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                                 reinterpret_cast<const Bytef*>(bytes.data()),
                                 static_cast<uLong>(bytes.size()), kLevel);
  if (status != Z_OK) fail_running("a picture cannot be compressed: zlib reports {}", status);
  packed.resize(size);
  return packed;
}

}  // namespace

std::string png_file(const Pixels& pixels, double dots_per_inch) {
  constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
  return std::string(kSignature) + header_chunk(pixels) + density_chunk(dots_per_inch) +
         chunk("IDAT", deflated(filtered_rows(pixels))) + chunk("IEND", "");
}

}  // namespace assay::report
