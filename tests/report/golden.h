// Each report format is pinned by a file; ASSAY_UPDATE_GOLDEN=1 rewrites them after a wanted
// change.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace assay {

inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(ASSAY_TESTS_DIR) + "/report/golden/" + name;
  if (std::getenv("ASSAY_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  std::ifstream file(path);
  std::stringstream pinned;
  pinned << file.rdbuf();
  EXPECT_EQ(actual, pinned.str()) << path;
}

}  // namespace assay
