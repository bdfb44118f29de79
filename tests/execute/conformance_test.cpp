// The reference engine against ONNX's own conformance models: what it computes from the recorded
// inputs must be the recorded outputs.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <filesystem>
#include <map>
#include <set>

#include "conformance/exclusions.h"
#include "execute/recorded_model.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// By "group/name".
std::map<std::string, std::string> exclusions() {
  return read_exclusions(fs::path(ASSAY_TESTS_DIR) / "execute" / "conformance_exclusions.txt");
}

std::set<fs::path> models_in(const std::string& group) {
  std::set<fs::path> models;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_ONNX_TESTDATA) / group)) {
    if (fs::exists(entry.path() / "model.onnx")) models.insert(entry.path());
  }
  return models;
}

class ExecuteConformance : public testing::TestWithParam<const char*> {};

TEST_P(ExecuteConformance, RecordedInputsGiveRecordedOutputs) {
  const auto excluded = exclusions();
  const std::string group = GetParam();
  const auto models = models_in(group);
  std::size_t passed = 0;
  for (const fs::path& folder : models) {
    const std::string name = group + "/" + folder.filename().string();
    const auto complaint = complaint_about(folder, {.options = {.engine = "reference"}});
    passed += complaint ? 0 : 1;
    EXPECT_TRUE(!complaint || excluded.contains(name)) << name << ": " << complaint.value_or("");
    EXPECT_TRUE(complaint || !excluded.contains(name))
        << name << " passes: remove it from the exclusions";
  }
  fmt::print("{}: {} of {}\n", group, passed, models.size());
  EXPECT_FALSE(models.empty());
  EXPECT_GE(static_cast<double>(passed), 0.9 * static_cast<double>(models.size()));
}

INSTANTIATE_TEST_SUITE_P(Groups, ExecuteConformance,
                         testing::Values("node", "simple", "pytorch-operator",
                                         "pytorch-converted"));

TEST(ExecuteConformanceExclusions, EachNamesAModelAndAReason) {
  for (const auto& [name, reason] : exclusions()) {
    EXPECT_TRUE(fs::exists(fs::path(ASSAY_ONNX_TESTDATA) / name)) << name;
    EXPECT_GE(reason.size(), 8u) << name;
  }
}

}  // namespace
}  // namespace assay
