#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "assay/error.h"
#include "base/atomic_file.h"
#include "base/checked.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/text.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

class TemporaryFolder : public InScratchFolder {
 protected:
  std::size_t file_count() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), {}));
  }
};

using MappedFileTest = TemporaryFolder;
using AtomicFileTest = TemporaryFolder;

// The standard's own example (FIPS 180-2, B.1).
TEST(Sha256, IsThatOfAllPartsTogether) {
  const std::string a = "a";
  const std::string bc = "bc";
  EXPECT_EQ(sha256_of({std::as_bytes(std::span(a)), {}, std::as_bytes(std::span(bc))}),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Checked, ProductsRefuseToWrap) {
  const std::int64_t big = std::int64_t{1} << 32;
  EXPECT_FALSE(checked_product(std::vector<std::int64_t>{big, big}));
  EXPECT_EQ(checked_product(std::vector<std::int64_t>{big, big, 0}), 0);
  EXPECT_EQ(checked_product(std::vector<std::int64_t>{}), 1);
  EXPECT_FALSE(checked_product(std::vector<std::int64_t>{-1, 2}));
  EXPECT_EQ(saturating_multiply(big, big), std::numeric_limits<std::int64_t>::max());
}

TEST(Text, NumbersReadAsPeopleWriteThem) {
  EXPECT_EQ(with_thousands(1814073344), "1,814,073,344");
  EXPECT_EQ(with_thousands(-999), "-999");
  EXPECT_EQ(with_si_suffix(1814073344.0), "1.81 G");
  EXPECT_EQ(with_si_suffix(999.0), "999");
  EXPECT_EQ(with_si_unit(1814073344.0, "FLOPs"), "1.81 GFLOPs");
  EXPECT_EQ(with_si_unit(96, "FLOPs"), "96 FLOPs");
  EXPECT_EQ(with_binary_unit(102228128.0), "97.5 MiB");
  EXPECT_EQ(with_decimal(2), "2.0");
  EXPECT_EQ(with_decimal(0.25), "0.25");
  EXPECT_EQ(parse_integer("12x"), std::nullopt);
  EXPECT_EQ(parse_integer("-3"), -3);
}

TEST(Text, NearestFindsATypingErrorAndNothingElse) {
  const std::vector<std::string> known = {"resnet18", "resnet50", "vgg16"};
  EXPECT_EQ(nearest("resnet51", known), "resnet50");
  EXPECT_EQ(nearest("transformer", known), std::nullopt);
}

TEST_F(MappedFileTest, SaysWhatIsWrongWithThePath) {
  EXPECT_THROW(MappedFile::open(folder_ / "missing"), Error);
  EXPECT_THROW(MappedFile::open(folder_), Error);
}

TEST_F(MappedFileTest, AFileThatShrinksIsAnErrorAndNotASignal) {
  const auto path = folder_ / "file";
  std::ofstream(path) << std::string(64 * 1024, 'x');
  const auto file = MappedFile::open(path);
  EXPECT_NO_THROW(file->check_intact());
  std::filesystem::resize_file(path, 0);
  EXPECT_EQ(file->bytes()[60 * 1024], std::byte{0});
  EXPECT_THROW(file->check_intact(), Error);
}

TEST_F(AtomicFileTest, AppearsWholeOnCommit) {
  const auto path = folder_ / "file";
  AtomicFile file(path);
  file.write("one ");
  file.write("two");
  EXPECT_FALSE(std::filesystem::exists(path));
  file.commit();
  std::ifstream written(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), "one two");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenAbandoned) {
  const auto path = folder_ / "file";
  std::ofstream(path) << "old";
  { AtomicFile(path).write("new"); }
  std::ifstream kept(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "old");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(AtomicFileTest, WritesThroughALink) {
  std::ofstream(folder_ / "file") << "old";
  std::filesystem::create_symlink("file", folder_ / "link");
  AtomicFile file(folder_ / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  std::ifstream written(folder_ / "file");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(written), {}), "new");
}

TEST_F(AtomicFileTest, RefusesToReplaceWhatIsNotAFile) {
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(AtomicFile(folder_ / "pipe"), Error);
  EXPECT_TRUE(std::filesystem::is_fifo(folder_ / "pipe"));
}

TEST_F(AtomicFileTest, NamesAFolderThatDoesNotExist) {
  EXPECT_THROW(AtomicFile(folder_ / "no" / "file"), Error);
}

TEST(Text, ControlCharactersBecomeQuestionMarks) {
  EXPECT_EQ(without_control_characters("a\x1b[31m\n\x7f"), "a?[31m??");
  EXPECT_EQ(without_control_characters("\u009b31m \u202eb \u2028 \u2066"), "?31m ?b ? ?");
  EXPECT_EQ(without_control_characters("ü € 🦜"), "ü € 🦜");
}

}  // namespace
}  // namespace assay
