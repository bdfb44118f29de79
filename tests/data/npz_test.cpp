#include "assay/npz.h"

#include "data/zip_maker.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Npz : public TemporaryFolder {
 protected:
  std::map<std::string, Tensor> read(const std::string& content) const {
    return read_npz(write("a.npz", content));
  }
  std::string refusal(const std::string& content) const {
    const std::string message = error_message(ErrorKind::BadInput, [&] { read(content); });
    EXPECT_TRUE(message.empty() || message.find("a.npz") != std::string::npos) << message;
    return message;
  }
  std::string refusal(const MadeMember& member) const {
    ZipMaker zip;
    zip.add(member);
    return refusal(zip.made());
  }
  MadeMember x(bool is_deflated = false) const {
    return {.name = "x.npy", .content = npy_of(x_), .is_deflated = is_deflated};
  }
  MadeMember y(bool is_deflated = false) const {
    return {.name = "y.npy", .content = npy_of(y_), .is_deflated = is_deflated};
  }
  std::string x_and_y(bool is_deflated, bool is_wide = false) const {
    ZipMaker zip;
    zip.is_wide = is_wide;
    zip.add(x(is_deflated));
    zip.add(y(is_deflated));
    return zip.made();
  }

  const Tensor x_ = Tensor::of_float({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor y_ = Tensor::of_int64({2}, {7, -8});
};

TEST_F(Npz, IsReadStoredAndDeflatedNarrowAndWide) {
  const std::map<std::string, Tensor> wanted = {{"x", x_}, {"y", y_}};
  for (const bool is_deflated : {false, true}) {
    for (const bool is_wide : {false, true}) {
      EXPECT_EQ(read(x_and_y(is_deflated, is_wide)), wanted) << is_deflated << is_wide;
    }
  }
}

// numpy.savez_compressed(file, x=numpy.arange(6, dtype='u1').reshape(2, 3)), version 1.24.
TEST_F(Npz, IsReadAsNumpyWroteIt) {
  const std::string hex =
      "504b0304140000000800000021007e9ed7cf4c0000008600000005001400782e6e7079010010008600000000"
      "0000004c000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e536aa8aea3a09e965f5452"
      "9498179f5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e0646266616560050"
      "4b01021403140000000800000021007e9ed7cf4c000000860000000500000000000000000000008001000000"
      "00782e6e7079504b0506000000000100010033000000830000000000";
  std::string content;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    content += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  const std::vector<std::uint8_t> numbers = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(read(content).at("x"), Tensor::of<std::uint8_t>(DataType::UInt8, {2, 3}, numbers));
}

TEST_F(Npz, MayHaveACommentAndNoArrays) {
  ZipMaker zip;
  zip.comment = "made by hand";
  EXPECT_TRUE(read(zip.made()).empty());
  zip.add(x());
  EXPECT_EQ(read(zip.made()).at("x"), x_);
}

TEST_F(Npz, EveryPrefixIsRefused) {
  for (const bool is_wide : {false, true}) {
    const std::string whole = x_and_y(true, is_wide);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
    }
  }
  EXPECT_THAT(refusal(""), HasSubstr("not a NumPy .npz file"));
  EXPECT_THAT(refusal(x_and_y(false) + "x"), HasSubstr("do not end with a ZIP directory"));
  EXPECT_THAT(refusal("x" + x_and_y(false)), HasSubstr("does not end here"));
}

TEST_F(Npz, ChecksumsAreComparedWithTheContent) {
  for (const bool is_deflated : {false, true}) {
    MadeMember member = x(is_deflated);
    member.checksum = 0x1234;
    EXPECT_THAT(refusal(member), AllOf(HasSubstr("'x.npy': byte 55: damaged, its checksum is"),
                                       HasSubstr("instead of 00001234")));
  }
  std::string whole = x_and_y(false);
  whole[55 + 140] ^= 1;  // behind 30 + 5 + 20 of the header, within the numbers
  EXPECT_THAT(refusal(whole), HasSubstr("damaged"));
}

TEST_F(Npz, SizesMustBeWhatComesOut) {
  const auto size = static_cast<std::uint64_t>(x().content.size());
  MadeMember member = x(true);
  member.size = size - 1;
  EXPECT_THAT(refusal(member), HasSubstr("23 bytes of data, but shape 2x3 of float32 needs 24"));
  member.size = size + 1;
  EXPECT_THAT(refusal(member), HasSubstr("25 bytes of data, but shape 2x3 of float32 needs 24"));
  member.size = 1'000'000'000;
  EXPECT_THAT(refusal(member), HasSubstr("cannot hold 1000000000 bytes, deflated in"));
  member = x(false);
  member.size = size + 1;
  EXPECT_THAT(refusal(member), HasSubstr("stored in"));
  member.packed_size = member.size = std::uint64_t{1} << 31;
  EXPECT_THAT(refusal(member), HasSubstr("overlaps"));
}

TEST_F(Npz, DeflatedDataThatGoesOnOrEndsTooSoonIsRefused) {
  MadeMember longer = x(true);
  longer.size = longer.content.size();
  longer.content += std::string(1'000'000, '\0');
  EXPECT_THAT(refusal(longer), HasSubstr("holds more bytes than the 152 it declares"));
  MadeMember shorter = x(true);
  shorter.size = shorter.content.size();
  shorter.content.pop_back();
  EXPECT_THAT(refusal(shorter), HasSubstr("holds fewer bytes than the 152 it declares"));
  MadeMember cut = x(true);
  cut.packed_size = 20;
  EXPECT_THAT(refusal(cut), HasSubstr("byte 75: its compressed data ends too soon"));
}

TEST_F(Npz, ZipBombsAreRefusedBeforeTheyAreUnpacked) {
  // 64 MiB of zeros behind a header of two numbers: declared, and still more than the array.
  const std::string zeros(1 << 20, '\0');
  MadeMember bomb = y(true);
  for (int i = 0; i < 64; ++i) bomb.content += zeros;
  EXPECT_THAT(refusal(bomb), HasSubstr("67108880 bytes of data, but shape 2 of int64 needs 16"));
}

TEST_F(Npz, EncryptionAndOtherMethodsAreRefused) {
  MadeMember member = x();
  member.flags = 1;
  EXPECT_THAT(refusal(member), HasSubstr("'x.npy' is encrypted"));
  member.flags = 0;
  member.method = 12;
  EXPECT_THAT(refusal(member), HasSubstr("method 12"));
}

TEST_F(Npz, NamesAreTheSameTwiceAndDifferent) {
  ZipMaker zip;
  zip.add(x());
  zip.add(x());
  EXPECT_THAT(refusal(zip.made()), HasSubstr("a second member is called 'x.npy'"));
  MadeMember member = x();
  member.inner_name = "z.npy";
  EXPECT_THAT(refusal(member), HasSubstr("not the 'x.npy' that the directory lists here"));
  EXPECT_THAT(refusal(MadeMember{.name = "x.txt\n", .content = "hello"}),
              HasSubstr("is not an array"));
}

TEST_F(Npz, MembersThatShareBytesAreRefused) {
  ZipMaker same;
  same.add(x());
  MadeMember member = x();
  member.header_at = 0;
  member.name = "y.npy";
  same.add(member);
  EXPECT_THAT(refusal(same.made()), HasSubstr("not the 'y.npy'"));
  // A second member inside the content of the first.
  ZipMaker inner;
  inner.add(y());
  const std::string hidden = inner.made().substr(0, 55 + y().content.size());
  ZipMaker outer;
  outer.add({.name = "x.npy", .content = hidden});
  MadeMember stolen = y();
  stolen.header_at = 55;
  outer.add(stolen);
  EXPECT_THAT(refusal(outer.made()), HasSubstr("overlaps what begins at byte 55"));
}

TEST_F(Npz, InconsistentDirectoriesAreRefused) {
  const std::string whole = x_and_y(false);
  const std::size_t end = whole.size() - 22;
  const auto with = [&](std::size_t at, const std::string& bytes) {
    std::string changed = whole;
    return changed.replace(at, bytes.size(), bytes);
  };
  EXPECT_THAT(refusal(with(end + 8, little(3, 2) + little(3, 2))),
              HasSubstr("2 entries, 3 announced"));
  EXPECT_THAT(refusal(with(end + 8, little(1, 2))), HasSubstr("several volumes"));
  EXPECT_THAT(refusal(with(end + 12, little(1, 4))), HasSubstr("does not end here"));
  EXPECT_THAT(refusal(with(end + 16, little(0xffffffff, 4))), HasSubstr("does not end here"));
  const std::size_t entry = whole.find(little(0x02014b50, 4));
  EXPECT_THAT(refusal(with(entry, "QK")), HasSubstr("its signature is missing"));
  EXPECT_THAT(refusal(with(entry + 28, little(65535, 2))), HasSubstr("goes beyond the file's"));
  EXPECT_THAT(refusal(with(entry + 42, little(0xfffffff0, 4))), HasSubstr("goes beyond the file"));
  EXPECT_THAT(refusal(with(entry + 42, little(1, 4))), HasSubstr("its signature is missing"));
}

TEST_F(Npz, MembersMustBeArrays) {
  EXPECT_THAT(refusal(MadeMember{.name = "x.npy", .content = "hello"}),
              HasSubstr("'x.npy': not a NumPy .npy file"));
  EXPECT_THAT(refusal(MadeMember{.name = "x.npy", .content = ""}),
              HasSubstr("'x.npy': not a NumPy .npy file"));
}

TEST_F(Npz, RandomDamageIsRefusedOrHarmless) {
  const std::map<std::string, Tensor> wanted = {{"x", x_}, {"y", y_}};
  int refused = 0;
  for (const bool is_wide : {false, true}) {
    with_random_damage(x_and_y(true, is_wide), 10'000, [&](const std::string& damaged) {
      const std::string message =
          error_message(ErrorKind::BadInput, [&] { EXPECT_EQ(read(damaged), wanted); });
      refused += !message.empty();
    });
  }
  EXPECT_GT(refused, 10'000);  // versions, times and attributes do not matter
}

TEST_F(Npz, WhatIsWrittenIsReadAgain) {
  const std::map<std::string, Tensor> arrays = {
      {"scalar", Tensor::of_float({}, {3})}, {"none", Tensor::of_float({0, 2}, {})}, {"y", y_}};
  write_npz(arrays, folder_ / "written.npz");
  EXPECT_EQ(read_npz(folder_ / "written.npz"), arrays);
}

TEST_F(Npz, EqualArraysMakeEqualFiles) {
  write_npz({{"x", x_}}, folder_ / "a.npz");
  write_npz({{"x", x_}}, folder_ / "b.npz");
  const auto content = [&](const char* name) {
    std::ifstream stream(folder_ / name, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  };
  EXPECT_EQ(content("a.npz"), content("b.npz"));
}

TEST_F(Npz, TypesThatNumpyLacksAreNotWritten) {
  const Tensor strings({1}, std::vector<std::string>{"a"});
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [&] {
                              write_npz({{"x", strings}}, folder_ / "a.npz");
                            }),
              HasSubstr("NumPy has no element type"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.npz"));
}

TEST_F(Npz, MissingFilesAreErrors) {
  EXPECT_THROW(read_npz(folder_ / "none.npz"), Error);
}

}  // namespace
}  // namespace assay
