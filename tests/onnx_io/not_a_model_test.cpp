#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(NotAModel, EachMistakeGetsItsOwnSentence) {
  EXPECT_EQ(refusal_of(""), "test.onnx: is empty, not an ONNX model");
  EXPECT_THAT(refusal_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
              HasSubstr("git lfs pull"));
  EXPECT_THAT(refusal_of("\n <!DOCTYPE html><html></html>"), HasSubstr("is a web page"));
  EXPECT_THAT(refusal_of("layers:\n  - conv\n"), HasSubstr("is a text file"));
  EXPECT_THAT(refusal_of(std::string("PK\x03\x04rest", 8)), HasSubstr("torch.onnx.export"));
  EXPECT_THAT(refusal_of(std::string("\x1f\x8b\x08\x00", 4)), HasSubstr("gzip"));
}

TEST(NotAModel, OtherBytesAreNotAnOnnxModel) {
  EXPECT_THAT(refusal_of(std::string(100, '\0')), HasSubstr("not an ONNX model"));
  EXPECT_THAT(refusal_of("\x7f"
                         "ELF\x02\x01\x01"),
              HasSubstr("not an ONNX model"));
  EXPECT_THAT(refusal_of(raw_tensor("t", kFloat, {1}, "1234")), HasSubstr("not an ONNX model"));
}

TEST(NotAModel, AModelWithoutAGraphSaysSo) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_int64(1, 8);
  writer.add_message(8, opset(17));
  EXPECT_THAT(refusal_of(bytes), HasSubstr("it has no graph"));
}

TEST(NotAModel, TwoGraphsAreRefused) {
  std::string bytes = model_with_nodes({node("Relu", {"x"}, {"y"})});
  bytes += bytes;
  EXPECT_THAT(refusal_of(bytes), HasSubstr("two graphs"));
}

TEST(NotAModel, FilesThatCannotBeReadAreNamed) {
  const TemporaryFolder folder;
  const auto missing = folder.path() / "missing.onnx";
  EXPECT_THAT(refusal_of_file(missing), StartsWith(missing.string() + ": cannot be opened"));
  EXPECT_THAT(refusal_of_file(folder.path()), HasSubstr("is a directory"));
  const auto pipe = folder.path() / "pipe.onnx";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal_of_file(pipe), HasSubstr("is not a regular file"));
}

TEST(NotAModel, ComplaintsOfAFileStartWithItsName) {
  const TemporaryFolder folder;
  const auto path = folder.write("bad.onnx", model_with_nodes({node("Relu", {"no"}, {"y"})}));
  EXPECT_THAT(refusal_of_file(path), StartsWith(path.string() + ": Relu 'y' reads"));
}

}  // namespace
}  // namespace assay
