#include "assay/idx.h"

#include "data/data_files.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class IdxFile : public TemporaryFolder {
 protected:
  Tensor read(const std::string& content) const { return read_idx(write("a.idx", content)); }
  std::string refusal(const std::string& content) const {
    return error_message(ErrorKind::BadInput, [&] { read(content); });
  }
};

TEST_F(IdxFile, OfBytesIsRead) {
  const Tensor tensor = read(idx(8, {2, 3}, "\x01\x02\x03\x04\x05\xff"));
  EXPECT_EQ(tensor.type(), DataType::UInt8);
  EXPECT_THAT(tensor.dims(), ElementsAre(2, 3));
  EXPECT_THAT(tensor.to_int64(), ElementsAre(1, 2, 3, 4, 5, 255));
}

TEST_F(IdxFile, CompressedIsRead) {
  std::string pixels;
  for (int i = 0; i < 28 * 28 * 10; ++i) pixels += static_cast<char>(i * 7);
  const Tensor tensor = read(gzipped(idx(8, {10, 28, 28}, pixels)));
  EXPECT_THAT(tensor.dims(), ElementsAre(10, 28, 28));
  EXPECT_EQ(tensor.to_int64()[1000], 7000 % 256);
}

TEST_F(IdxFile, OfWideElementsHasTheHighestByteFirst) {
  EXPECT_THAT(read(idx(11, {2}, std::string("\x01\x02\xff\xfe", 4))).to_int64(),
              ElementsAre(258, -2));
  EXPECT_THAT(read(idx(13, {1}, std::string("\x3f\xc0\x00\x00", 4))).to_double(), ElementsAre(1.5));
}

TEST_F(IdxFile, DamagedIsRefusedWithTheByte) {
  EXPECT_THAT(refusal(""), HasSubstr("ends at byte 0"));
  EXPECT_THAT(refusal(std::string("\x00\x00\x08", 3)), HasSubstr("ends at byte 3"));
  EXPECT_THAT(refusal("PNG, not this"), HasSubstr("not an IDX file"));
  EXPECT_THAT(refusal(idx(7, {1}, "x")), HasSubstr("byte 2: 0x07"));
  EXPECT_THAT(refusal(idx(8, {}, "x")), HasSubstr("byte 3: 0 axes"));
  EXPECT_THAT(refusal(idx(8, {2, 3}, "12345")),
              HasSubstr("byte 12: 2x3 elements need 6 bytes, and no more than 5"));
  EXPECT_THAT(refusal(idx(8, {2, 3}, "1234567")), HasSubstr("byte 18: goes on after the 6 bytes"));
  EXPECT_THAT(refusal(idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, "1")),
              HasSubstr("more elements than can be counted"));
  EXPECT_THAT(refusal(idx(8, {0xffffffff}, "1")), HasSubstr("no more than 1 can follow"));
}

TEST_F(IdxFile, DamagedWithinItsCompressionIsRefusedWithTheByte) {
  const std::string packed = gzipped(idx(8, {200'000}, std::string(200'000, 'x')));
  EXPECT_THAT(refusal(packed.substr(0, packed.size() - 12)), HasSubstr("ends too soon"));
  std::string damaged = gzipped(idx(8, {5}, "hello"));
  damaged[damaged.size() - 6] ^= 1;  // its checksum
  EXPECT_THAT(refusal(damaged), HasSubstr("damaged"));
  // Claims far more than so few bytes can become.
  EXPECT_THAT(refusal(gzipped(idx(8, {0xfffffff}, "hello"))), HasSubstr("can follow"));
}

TEST_F(IdxFile, EveryPrefixIsRefused) {
  const std::string plain = idx(8, {2, 3}, "abcdef");
  for (const std::string& whole : {plain, gzipped(plain)}) {
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
    }
  }
}

TEST_F(IdxFile, RandomDamageIsRefusedOrHarmless) {
  std::string pixels;
  for (int i = 0; i < 300; ++i) pixels += static_cast<char>(i * i);
  const Tensor wanted = read(idx(8, {3, 10, 10}, pixels));
  int refused = 0;
  with_random_damage(gzipped(idx(8, {3, 10, 10}, pixels)), 20'000, [&](const std::string& damaged) {
    const std::string message =
        error_message(ErrorKind::BadInput, [&] { EXPECT_EQ(read(damaged), wanted); });
    refused += !message.empty();
  });
  EXPECT_GT(refused, 15'000);  // gzip's header has a time and a system that do not matter
}

}  // namespace
}  // namespace assay
