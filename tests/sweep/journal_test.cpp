#include "sweep/journal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "assay/error.h"
#include "support/scratch_folder.h"

namespace assay::sweep {
namespace {

using report::Json;

std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

class JournalTest : public testing::Test {
 protected:
  ScratchFolder folder_;
  std::filesystem::path file_ = folder_.path() / "a.jsonl";
};

TEST_F(JournalTest, KeepsRecordsInOrder) {
  {
    Journal journal(file_);
    journal.append({{"task", "a"}});
    journal.append({{"task", "b"}, {"text", "line\nbreak"}});
  }
  const JournalContent content = read_journal(file_);
  ASSERT_EQ(content.records.size(), 2u);
  EXPECT_EQ(content.damaged_lines, 0u);
  EXPECT_EQ(content.records[1]["text"], "line\nbreak");
}

TEST_F(JournalTest, IsJsonLines) {
  Journal(file_).append({{"task", "a"}});
  EXPECT_EQ(Json::parse(text_of_file(file_))["record"]["task"], "a");
}

TEST_F(JournalTest, LosesOnlyALineThatWasCutOff) {
  const std::string whole = journal_line({{"task", "a"}}) + journal_line({{"task", "b"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_text(file_, whole.substr(0, size));
    { Journal(file_).append({{"task", "c"}}); }
    const JournalContent content = read_journal(file_);
    ASSERT_FALSE(content.records.empty());
    EXPECT_EQ(content.records.back()["task"], "c");
    const std::size_t complete = size + 1 >= whole.size()       ? 2
                                 : size + 1 >= whole.size() / 2 ? 1
                                                                : 0;
    EXPECT_EQ(content.records.size(), complete + 1) << "cut at " << size;
  }
}

TEST_F(JournalTest, SkipsAChangedLine) {
  std::string text = journal_line({{"task", "a"}}) + journal_line({{"task", "b"}});
  text[text.find("\"a\"") + 1] = 'x';
  write_text(file_, text);
  const JournalContent content = read_journal(file_);
  ASSERT_EQ(content.records.size(), 1u);
  EXPECT_EQ(content.records[0]["task"], "b");
  EXPECT_EQ(content.damaged_lines, 1u);
}

TEST_F(JournalTest, HasOneWriter) {
  const Journal journal(file_);
  EXPECT_THROW(Journal{file_}, Error);
}

TEST_F(JournalTest, AFolderIsHeldByOneOrShared) {
  {
    const FolderLock one(folder_.path(), FolderLock::Mode::Shared);
    const FolderLock two(folder_.path(), FolderLock::Mode::Shared);
    EXPECT_THROW(FolderLock(folder_.path(), FolderLock::Mode::Exclusive), Error);
  }
  const FolderLock alone(folder_.path(), FolderLock::Mode::Exclusive);
  EXPECT_THROW(FolderLock(folder_.path(), FolderLock::Mode::Shared), Error);
}

}  // namespace
}  // namespace assay::sweep
