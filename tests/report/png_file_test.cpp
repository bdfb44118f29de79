#include "report/charts/png_file.h"

#include <gtest/gtest.h>

#include "report/picture.h"

namespace assay {

using namespace assay::report;

namespace {

TEST(PngFile, HasThePixelsItWasGiven) {
  // Two rows of three, with one word of padding each.
  const std::vector<std::uint32_t> words = {0x00ffffff, 0x00ff8001, 0x00ffffff, 7,
                                            0x00000000, 0x00ffffff, 0x00ffffff, 7};
  const std::string png = png_file({words, 3, 2, 4}, 180);
  const Picture picture(png);
  ASSERT_EQ(picture.width(), 3);
  ASSERT_EQ(picture.height(), 2);
  for (int y = 0; y < 2; ++y) {
    for (int x = 0; x < 3; ++x) {
      EXPECT_EQ(picture.colour(x, y), words[static_cast<std::size_t>(4 * y + x)]) << x << " " << y;
    }
  }
  for (const Chunk& chunk : chunks_of(png)) EXPECT_TRUE(chunk.is_sound) << chunk.name;
}

}  // namespace
}  // namespace assay
