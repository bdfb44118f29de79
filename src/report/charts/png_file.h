// Pixels as a PNG file. Made for charts, where most rows equal the one above: each is stored as its
// difference to that, which packs as well as trying all of PNG's filters and takes a fraction of
// the time.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace assay::report {

struct Pixels {
  std::span<const std::uint32_t> words = {};  // 0x00RRGGBB, row by row
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::size_t words_per_row = 0;  // at least `width`
};

std::string png_file(const Pixels& pixels, double dots_per_inch);

}  // namespace assay::report
