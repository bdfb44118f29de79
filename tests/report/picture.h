// A PNG as a test looks at it: its chunks, its size and its pixels.
#pragma once

#include <cairo/cairo.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

inline std::uint32_t big_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (const char c : bytes.substr(0, 4)) number = number << 8 | static_cast<unsigned char>(c);
  return number;
}

struct Chunk {
  std::string name;
  std::string payload;
  bool is_sound = false;  // its checksum is right
};

inline std::vector<Chunk> chunks_of(std::string_view png) {
  std::vector<Chunk> chunks;
  EXPECT_EQ(png.substr(0, 8), std::string_view("\x89PNG\r\n\x1a\n", 8));
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t size = big_endian(png.substr(at));
    const std::string_view checked = png.substr(at + 4, 4 + size);
    const auto sum = ::crc32(0, reinterpret_cast<const Bytef*>(checked.data()),
                             static_cast<uInt>(checked.size()));
    chunks.push_back({std::string(checked.substr(0, 4)), std::string(checked.substr(4)),
                      big_endian(png.substr(at + 8 + size)) == sum});
    at += 12 + size;
  }
  return chunks;
}

class Picture {
 public:
  explicit Picture(const std::string& png)
      : unread_(png), surface_(cairo_image_surface_create_from_png_stream(read, this)) {
    EXPECT_EQ(cairo_surface_status(surface_.get()), CAIRO_STATUS_SUCCESS);
  }
  int width() const { return cairo_image_surface_get_width(surface_.get()); }
  int height() const { return cairo_image_surface_get_height(surface_.get()); }
  // 0x00RRGGBB
  std::uint32_t colour(int x, int y) const {
    const unsigned char* row = cairo_image_surface_get_data(surface_.get()) +
                               y * cairo_image_surface_get_stride(surface_.get());
    std::uint32_t word = 0;
    std::memcpy(&word, row + 4 * x, sizeof word);
    return word & 0xffffffu;
  }
  bool is_white(int x, int y) const { return colour(x, y) == 0xffffffu; }
  // Nothing within `pixels` of any edge.
  bool has_white_frame(int pixels) const {
    for (int y = 0; y < height(); ++y) {
      for (int x = 0; x < width(); ++x) {
        const bool is_frame =
            x < pixels || y < pixels || x >= width() - pixels || y >= height() - pixels;
        if (is_frame && !is_white(x, y)) return false;
      }
    }
    return true;
  }
  bool shows_something() const {
    for (int y = 0; y < height(); ++y) {
      for (int x = 0; x < width(); ++x) {
        if (!is_white(x, y)) return true;
      }
    }
    return false;
  }

 private:
  struct Release {
    void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
  };
  static cairo_status_t read(void* self, unsigned char* bytes, unsigned int count) {
    std::string_view& unread = static_cast<Picture*>(self)->unread_;
    if (unread.size() < count) return CAIRO_STATUS_READ_ERROR;
    std::memcpy(bytes, unread.data(), count);
    unread.remove_prefix(count);
    return CAIRO_STATUS_SUCCESS;
  }

  std::string_view unread_;
  std::unique_ptr<cairo_surface_t, Release> surface_;
};

inline void expect_whole_picture(const std::string& png) {
  const Picture picture(png);
  EXPECT_GT(picture.width(), 0);
  EXPECT_GT(picture.height(), 0);
  EXPECT_TRUE(picture.shows_something());
  EXPECT_TRUE(picture.has_white_frame(20));
}

}  // namespace assay
