// Small files for the tests of src/data, and a folder to write them to.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/npy.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"

namespace assay {

class TemporaryFolder : public InScratchFolder {
 protected:
  std::string write(const std::string& name, const std::string& content) const {
    // A new file each time: file systems hurry to write out one that is emptied and filled again.
    std::filesystem::remove(folder_ / name);
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  std::string npy_of(const Tensor& tensor) const {
    write_npy(tensor, folder_ / "made.npy");
    std::ifstream stream(folder_ / "made.npy", std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
};

// An IDX file: type, dimensions with their highest byte first, elements.
inline std::string idx(char type, const std::vector<std::uint32_t>& dims,
                       const std::string& elements) {
  std::string text = {0, 0, type, static_cast<char>(dims.size())};
  for (const std::uint32_t dim : dims) {
    for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(dim >> shift & 0xff);
  }
  return text + elements;
}

// Compressed as gzip does it (window bits 31) or bare (-15).
inline std::string deflated(const std::string& content, int window_bits) {
  z_stream stream = {};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}
inline std::string gzipped(const std::string& content) {
  return deflated(content, 31);
}

// Calls `use` with `content`, a few random bytes of which are changed each time.
template <typename Use>
void with_random_damage(const std::string& content, int times, Use use) {
  std::mt19937_64 random(7);
  for (int i = 0; i < times; ++i) {
    std::string damaged = content;
    const std::size_t flips = 1 + random() % 3;
    for (std::size_t flip = 0; flip < flips; ++flip) {
      damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
    }
    use(damaged);
  }
}

}  // namespace assay
