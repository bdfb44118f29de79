#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;
using Keys = std::vector<std::pair<std::string, std::string>>;

class ExternalData : public ::testing::Test {
 protected:
  ExternalData() { std::filesystem::create_directory(folder_.path() / "model"); }

  std::filesystem::path in_model_folder(const std::string& name) const {
    return folder_.path() / "model" / name;
  }

  std::filesystem::path write_model(const Keys& keys, const Dims& dims = {2}) const {
    return folder_.write("model/m.onnx", model_with_nodes({node("Add", {"x", "w"}, {"y"})},
                                                          {external_tensor("w", dims, keys)}));
  }

  std::string refusal_with(const Keys& keys, const Dims& dims = {2}) const {
    return refusal_of_file(write_model(keys, dims));
  }

  TemporaryFolder folder_;
  const std::string four_ = bytes_of({1.0f, 2.0f, 3.0f, 4.0f});
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  folder_.write("model/w.bin", four_);
  const auto tensor = [&](const Keys& keys) {
    return read_onnx(write_model(keys)).initializers()[0].tensor;
  };
  EXPECT_EQ(tensor({{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}}),
            Tensor::of_float({2}, {3, 4}));
  EXPECT_EQ(tensor({{"location", "w.bin"}, {"checksum", "0123"}}), Tensor::of_float({2}, {1, 2}));
}

TEST_F(ExternalData, InASubfolderIsFine) {
  std::filesystem::create_directory(in_model_folder("weights"));
  folder_.write("model/weights/w.bin", four_);
  EXPECT_EQ(refusal_with({{"location", "weights/w.bin"}}), "");
  EXPECT_EQ(refusal_with({{"location", "./weights/w.bin"}}), "");
}

TEST_F(ExternalData, OneFileIsMappedOnce) {
  folder_.write("model/w.bin", four_);
  const auto path = folder_.write(
      "model/m.onnx",
      model_with_nodes({node("Add", {"v", "w"}, {"y"})},
                       {external_tensor("v", {2}, {{"location", "w.bin"}}),
                        external_tensor("w", {2}, {{"location", "w.bin"}, {"offset", "0"}})}));
  const Graph graph = read_onnx(path);
  EXPECT_TRUE(graph.initializers()[0].tensor.same_storage(graph.initializers()[1].tensor));
}

TEST_F(ExternalData, ThatLeavesTheFolderIsRefused) {
  folder_.write("secret.bin", four_);
  folder_.write("model/w.bin", four_);
  EXPECT_THAT(refusal_with({{"location", "../secret.bin"}}),
              HasSubstr("leaves the model's folder"));
  EXPECT_THAT(refusal_with({{"location", "../model/w.bin"}}), HasSubstr("leaves the model's"));
  EXPECT_THAT(refusal_with({{"location", "a/../../secret.bin"}}), HasSubstr("leaves the model's"));
  EXPECT_THAT(refusal_with({{"location", (folder_.path() / "secret.bin").string()}}),
              HasSubstr("has an absolute path"));
  EXPECT_THAT(refusal_with({{"location", ""}}), HasSubstr("is empty"));
  EXPECT_THAT(refusal_with({{"location", std::string("w.bin\0x", 7)}}),
              HasSubstr("not a file name"));
}

TEST_F(ExternalData, ThroughALinkIsRefused) {
  folder_.write("secret.bin", four_);
  std::filesystem::create_directory(folder_.path() / "elsewhere");
  folder_.write("elsewhere/w.bin", four_);
  std::filesystem::create_symlink("../secret.bin", in_model_folder("link.bin"));
  std::filesystem::create_directory_symlink("../elsewhere", in_model_folder("linked"));
  std::filesystem::create_hard_link(folder_.path() / "secret.bin", in_model_folder("hard.bin"));
  EXPECT_THAT(refusal_with({{"location", "link.bin"}}), HasSubstr("through a link"));
  EXPECT_THAT(refusal_with({{"location", "linked/w.bin"}}), HasSubstr("link"));
  EXPECT_THAT(refusal_with({{"location", "hard.bin"}}), HasSubstr("is hard-linked"));
}

TEST_F(ExternalData, ThatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo(in_model_folder("pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(in_model_folder("folder"));
  EXPECT_THAT(refusal_with({{"location", "pipe"}}), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal_with({{"location", "folder"}}), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal_with({{"location", "missing.bin"}}),
              HasSubstr("tensor 'w': external data 'missing.bin' cannot be opened"));
}

TEST_F(ExternalData, RangesOutsideTheFileAreRefused) {
  folder_.write("model/w.bin", four_);
  const auto with = [&](const std::string& offset, const std::string& length) {
    return refusal_with({{"location", "w.bin"}, {"offset", offset}, {"length", length}});
  };
  EXPECT_EQ(with("8", "8"), "");
  EXPECT_THAT(with("12", "8"), HasSubstr("has 16 bytes, but 8 bytes at 12 are needed"));
  EXPECT_THAT(with("9223372036854775807", "8"), HasSubstr("are needed"));
  EXPECT_THAT(with("18446744073709551612", "8"), HasSubstr("expected a number of bytes"));
  EXPECT_THAT(with("-8", "8"), HasSubstr("expected a number of bytes"));
  EXPECT_THAT(with("0", "-8"), HasSubstr("expected a number of bytes"));
  EXPECT_THAT(with("0x8", "8"), HasSubstr("expected a number of bytes"));
  EXPECT_THAT(with("0", "4"), HasSubstr("need 8 bytes, 4 are there"));
  EXPECT_THAT(with("0", "16"), HasSubstr("need 8 bytes, 16 are there"));
  EXPECT_THAT(refusal_with({{"location", "w.bin"}}, {1LL << 40}), HasSubstr("are needed"));
}

TEST_F(ExternalData, UnknownRepeatedAndMissingKeysAreRefused) {
  folder_.write("model/w.bin", four_);
  EXPECT_THAT(refusal_with({{"location", "w.bin"}, {"basepath", "/"}}),
              HasSubstr("unknown entry 'basepath'"));
  EXPECT_THAT(refusal_with({{"location", "w.bin"}, {"location", "w.bin"}}),
              HasSubstr("two entries 'location'"));
  EXPECT_THAT(refusal_with({{"offset", "0"}}), HasSubstr("no location"));
}

TEST_F(ExternalData, IsRefusedInAModelReadFromMemory) {
  EXPECT_THAT(refusal_of(model_with_nodes({node("Add", {"x", "w"}, {"y"})},
                                          {external_tensor("w", {2}, {{"location", "w.bin"}})})),
              HasSubstr("refused in a model read from memory"));
}

}  // namespace
}  // namespace assay
