#include "assay/npy.h"

#include "data/data_files.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

class Npy : public TemporaryFolder {
 protected:
  std::filesystem::path file() const { return folder_ / "a.npy"; }

  Tensor read(const std::string& content) const { return read_npy(write("a.npy", content)); }
  std::string refusal(const std::string& content) const {
    const std::string message = error_message(ErrorKind::BadInput, [&] { read(content); });
    EXPECT_TRUE(message.empty() || message.find("a.npy") != std::string::npos) << message;
    return message;
  }
};

// A file of format version 1 with this dictionary and data.
std::string npy(const std::string& dictionary, const std::string& data, char version = 1) {
  const std::string text = dictionary + "\n";
  std::string length = {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  if (version > 1) length += std::string(2, '\0');
  return std::string("\x93NUMPY") + version + '\0' + length + text + data;
}

std::string dictionary(const std::string& descr, const std::string& shape,
                       const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST_F(Npy, IsReadInEveryVersion) {
  const auto data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  for (const char version : {'\x01', '\x02', '\x03'}) {
    EXPECT_EQ(read(npy(dictionary("<f4", "(2, 3)"), data, version)),
              Tensor::of_float({2, 3}, {1, 2, 3, 4, 5, 6}));
  }
}

TEST_F(Npy, IsReadWhateverTheOrderOfItsKeys) {
  const std::string text = "{\"shape\": (2,), 'descr': '=i8' ,'fortran_order':False}";
  EXPECT_EQ(read(npy(text, bytes_of<std::int64_t>({7, -8}))), Tensor::of_int64({2}, {7, -8}));
}

TEST_F(Npy, FortranOrderIsConvertedToC) {
  // Element (i, j, k) holds 100 i + 10 j + k; the first axis varies fastest in the file.
  std::vector<std::int64_t> stored;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) stored.push_back(100 * i + 10 * j + k);
    }
  }
  std::vector<std::int64_t> wanted;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) wanted.push_back(100 * i + 10 * j + k);
    }
  }
  EXPECT_EQ(read(npy(dictionary("<i8", "(2, 3, 4)", "True"), bytes_of(stored))),
            Tensor::of_int64({2, 3, 4}, wanted));
}

TEST_F(Npy, EveryTypeSurvivesWritingAndReading) {
  for (const auto type :
       {DataType::Bool, DataType::Int8, DataType::UInt8, DataType::Int16, DataType::UInt16,
        DataType::Int32, DataType::UInt32, DataType::Int64, DataType::UInt64, DataType::Float16,
        DataType::Float32, DataType::Float64, DataType::Complex64, DataType::Complex128}) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(6 * bits(type) / 8));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i % 2);
    const Tensor tensor(type, {3, 2}, heap_storage(bytes));
    write_npy(tensor, file());
    EXPECT_EQ(read_npy(file()), tensor) << name(type);
  }
}

TEST_F(Npy, ScalarsAndEmptyArraysSurvive) {
  for (const auto& tensor :
       {Tensor::of_float({}, {2.5}), Tensor::of_float({0}, {}), Tensor::of_float({3, 0, 2}, {})}) {
    write_npy(tensor, file());
    EXPECT_EQ(read_npy(file()), tensor);
  }
}

TEST_F(Npy, IsWrittenAsNumpyWritesIt) {
  // Magic 6, version 2, length 2, then text up to a multiple of 64.
  const std::string content = npy_of(Tensor::of_float({3}, {1, 2, 3}));
  EXPECT_EQ(content.size(), 128u + 12u);
  EXPECT_EQ(content.substr(0, 10), std::string("\x93NUMPY\x01\x00\x76\x00", 10));
  EXPECT_THAT(content, HasSubstr("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }   "));
  EXPECT_EQ(content[127], '\n');
  EXPECT_THAT(npy_of(Tensor::of_float({}, {1})), HasSubstr("'shape': (), }"));
  EXPECT_THAT(npy_of(Tensor::of_float({1, 2}, {1, 2})), HasSubstr("'shape': (1, 2), }"));
}

TEST_F(Npy, Bfloat16IsWrittenAsFloat32) {
  const std::vector<std::uint16_t> stored = {0x3f80, 0xc000};  // 1 and -2
  const auto tensor = Tensor::of<std::uint16_t>(DataType::BFloat16, {2}, stored);
  write_npy(tensor, file());
  EXPECT_EQ(read_npy(file()), Tensor::of_float({2}, {1, -2}));
}

TEST_F(Npy, TypesThatNumpyLacksAreNotWritten) {
  const Tensor strings({1}, std::vector<std::string>{"a"});
  EXPECT_THROW(write_npy(strings, file()), Error);
  const Tensor nibbles(DataType::Int4, {2}, heap_storage(std::vector<std::byte>(1)));
  EXPECT_THROW(write_npy(nibbles, file()), Error);
  EXPECT_THROW(write_npy(Tensor(), file()), Error);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Npy, OtherElementTypesAreRefusedByName) {
  const auto refused = [&](const std::string& descr) {
    return refusal(npy(dictionary(descr, "(1,)"), std::string(8, '\0')));
  };
  EXPECT_THAT(refused(">f4"), HasSubstr("big-endian '>f4'"));
  EXPECT_THAT(refused(">f4"), HasSubstr("byte 20"));  // 10 and {'descr': with its space
  EXPECT_THAT(refused(">i8"), HasSubstr("astype('<i8')"));
  EXPECT_THAT(refused("|O"), HasSubstr("Python objects"));
  EXPECT_THAT(refused("<U4"), HasSubstr("element type '<U4'"));
  EXPECT_THAT(refused("<f16"), HasSubstr("element type '<f16'"));
  EXPECT_THAT(refused("|f4"), HasSubstr("element type '|f4'"));
  EXPECT_THAT(refused(""), HasSubstr("element type ''"));
  EXPECT_THAT(refusal(npy("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }",
                          std::string(4, '\0'))),
              HasSubstr("records"));
}

TEST_F(Npy, SingleBytesHaveNoByteOrder) {
  EXPECT_EQ(read(npy(dictionary(">u1", "(2,)"), "\x01\x02")).type(), DataType::UInt8);
}

TEST_F(Npy, WrongHeadersAreRefusedBeforeAnythingIsAllocated) {
  const auto shape = [&](const std::string& dims) {
    return refusal(npy(dictionary("<f4", dims), std::string(8, '\0')));
  };
  EXPECT_EQ(shape("(2,)"), "");
  EXPECT_THAT(shape("(3,)"), HasSubstr("8 bytes of data, but shape 3 of float32 needs 12"));
  EXPECT_THAT(shape("(1,)"), HasSubstr("needs 4"));
  EXPECT_THAT(shape("()"), HasSubstr("shape scalar of float32 needs 4"));
  EXPECT_THAT(shape("(1000000000000000000,)"), HasSubstr("needs 4000000000000000000"));
  EXPECT_THAT(shape("(9223372036854775807,)"), HasSubstr("more elements than can be counted"));
  EXPECT_THAT(shape("(4294967296, 4294967296)"), HasSubstr("more elements than can be counted"));
  EXPECT_THAT(shape("(9223372036854775808,)"), HasSubstr("expected a dimension"));
  EXPECT_THAT(shape("(-2,)"), HasSubstr("expected a dimension"));
  EXPECT_THAT(shape("(2)"), HasSubstr("(n,)"));
  EXPECT_THAT(shape("2"), HasSubstr("expected '('"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "1, ";
  EXPECT_THAT(shape(many + ")"), HasSubstr("more than 64 dimensions"));
  EXPECT_THAT(shape("(0, 9223372036854775807)"), HasSubstr("needs 0"));
}

TEST_F(Npy, DictionariesMustBeWhatNumpyWrites) {
  const auto refused = [&](const std::string& text) {
    return refusal(npy(text, std::string(4, '\0')));
  };
  EXPECT_THAT(refused(""), HasSubstr("expected '{'"));
  EXPECT_THAT(refused("{}"), HasSubstr("no 'descr'"));
  EXPECT_THAT(refused("{'descr': '<f4', 'shape': (1,)}"), HasSubstr("no 'fortran_order'"));
  EXPECT_THAT(refused("{'descr': '<f4', 'descr': '<f4'}"), HasSubstr("repeated key 'descr'"));
  EXPECT_THAT(refused("{'order': 'C'}"), HasSubstr("unknown or repeated key 'order'"));
  EXPECT_THAT(refused("{'descr': '<f4"), HasSubstr("without end"));
  EXPECT_THAT(refused("{'fortran_order': 1}"), HasSubstr("expected True or False"));
  EXPECT_THAT(refused(dictionary("<f4", "(1,)") + "import os"), HasSubstr("unexpected text"));
}

TEST_F(Npy, TruncatedFilesAreRefusedWhereTheyEnd) {
  const std::string whole = npy(dictionary("<f4", "(2,)"), std::string(8, '\0'));
  for (std::size_t length = 0; length < whole.size(); ++length) {
    EXPECT_NE(refusal(whole.substr(0, length)), "") << length;
  }
  EXPECT_THAT(refusal(whole.substr(0, 7)), HasSubstr("ends at byte 7"));
  EXPECT_THAT(refusal(whole.substr(0, 9)), HasSubstr("ends at byte 9"));
  EXPECT_THAT(refusal(whole.substr(0, 40)), HasSubstr("byte 8: a header of "));
  EXPECT_THAT(refusal(whole + "x"), HasSubstr("9 bytes of data"));
}

TEST_F(Npy, AbsurdHeadersAreRefused) {
  EXPECT_THAT(refusal("PK\x03\x04"), HasSubstr("not a NumPy .npy file"));
  EXPECT_THAT(refusal(npy(dictionary("<f4", "(1,)"), "1234", 4)), HasSubstr("version 4"));
  const std::string absurd = std::string("\x93NUMPY\x02\x00", 8) + "\xff\xff\xff\xff" + "{";
  EXPECT_THAT(refusal(absurd), HasSubstr("a header of 4294967295 bytes"));
}

TEST_F(Npy, BoolsAreZeroOrOne) {
  EXPECT_THAT(refusal(npy(dictionary("|b1", "(3,)"), std::string("\x01\x00\x07", 3))),
              HasSubstr("a bool of 7"));
}

TEST_F(Npy, MissingFilesAndFoldersAreErrors) {
  EXPECT_THROW(read_npy(folder_ / "none.npy"), Error);
  EXPECT_THROW(read_npy(folder_), Error);
  EXPECT_THROW(write_npy(Tensor::of_float({1}, {1}), folder_ / "none" / "a.npy"), Error);
}

}  // namespace
}  // namespace assay
