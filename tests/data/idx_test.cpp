#include "assay/idx.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <fstream>

#include "assay/error.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IdxFile : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::temp_directory_path() / (std::string("assay_idx_") + test->name());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::string& content) const {
    std::ofstream(path_, std::ios::binary) << content;
  }
  void write_compressed(const std::string& content) const {
    const gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, content.data(), static_cast<unsigned>(content.size()));
    gzclose(file);
  }
  std::string refusal() const {
    try {
      read_idx(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::BadInput);
      return error.what();
    }
    return "";
  }

  std::filesystem::path path_;
};

// Type, dimensions with their highest byte first, elements.
std::string idx(char type, const std::vector<std::uint32_t>& dims, const std::string& elements) {
  std::string text = {0, 0, type, static_cast<char>(dims.size())};
  for (const std::uint32_t dim : dims) {
    for (const int shift : {24, 16, 8, 0}) text += static_cast<char>(dim >> shift & 0xff);
  }
  return text + elements;
}

TEST_F(IdxFile, OfBytesIsRead) {
  write(idx(8, {2, 3}, "\x01\x02\x03\x04\x05\xff"));
  const Tensor tensor = read_idx(path_);
  EXPECT_EQ(tensor.type(), DataType::UInt8);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 3));
  EXPECT_THAT(tensor.to_int64(), ElementsAre(1, 2, 3, 4, 5, 255));
}

TEST_F(IdxFile, CompressedIsRead) {
  std::string pixels;
  for (int i = 0; i < 28 * 28 * 10; ++i) pixels += static_cast<char>(i * 7);
  write_compressed(idx(8, {10, 28, 28}, pixels));
  const Tensor tensor = read_idx(path_);
  EXPECT_THAT(tensor.dims(), ElementsAre(10, 28, 28));
  EXPECT_EQ(tensor.to_int64()[1000], 7000 % 256);
}

TEST_F(IdxFile, OfWideElementsHasTheHighestByteFirst) {
  write(idx(11, {2}, std::string("\x01\x02\xff\xfe", 4)));
  EXPECT_THAT(read_idx(path_).to_int64(), ElementsAre(258, -2));
  write(idx(13, {1}, std::string("\x3f\xc0\x00\x00", 4)));
  EXPECT_THAT(read_idx(path_).to_double(), ElementsAre(1.5));
}

TEST_F(IdxFile, DamagedIsRefusedWithTheByte) {
  write("");
  EXPECT_THAT(refusal(), HasSubstr("ends at byte 0"));
  write(std::string("\x00\x00\x08", 3));
  EXPECT_THAT(refusal(), HasSubstr("ends at byte 3"));
  write("PNG, not this");
  EXPECT_THAT(refusal(), HasSubstr("not an IDX file"));
  write(idx(7, {1}, "x"));
  EXPECT_THAT(refusal(), HasSubstr("byte 2: 0x07"));
  write(idx(8, {}, "x"));
  EXPECT_THAT(refusal(), HasSubstr("byte 3: 0 axes"));
  write(idx(8, {2, 3}, "12345"));
  EXPECT_THAT(refusal(), HasSubstr("byte 12: 2x3 elements need 6 bytes, and no more than 5"));
  write(idx(8, {2, 3}, "1234567"));
  EXPECT_THAT(refusal(), HasSubstr("byte 18: goes on after the 6 bytes"));
  write(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "1"));
  EXPECT_THAT(refusal(), HasSubstr("more elements than can be counted"));
  write(idx(8, {0xffffffff}, "1"));
  EXPECT_THAT(refusal(), HasSubstr("no more than 1 can follow"));
}

TEST_F(IdxFile, DamagedWithinItsCompressionIsRefusedWithTheByte) {
  write_compressed(idx(8, {200'000}, std::string(200'000, 'x')));
  const auto size = std::filesystem::file_size(path_);
  std::filesystem::resize_file(path_, size - 12);
  EXPECT_THAT(refusal(), HasSubstr("ends too soon"));
  write_compressed(idx(8, {5}, "hello"));
  {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-6, std::ios::end);  // its checksum
    file.put('\0');
  }
  EXPECT_THAT(refusal(), HasSubstr("damaged"));
  // Claims far more than so few bytes can become.
  write_compressed(idx(8, {0xfffffff}, "hello"));
  EXPECT_THAT(refusal(), HasSubstr("can follow"));
}

}  // namespace
}  // namespace assay
