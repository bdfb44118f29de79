// Each report format is pinned by a file; ASSAY_UPDATE_GOLDEN=1 rewrites them after a wanted
// change.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "support/file_content.h"

namespace assay {

inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = std::string(ASSAY_TESTS_DIR) + "/report/golden/" + name;
  if (std::getenv("ASSAY_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << actual;
  EXPECT_EQ(actual, content(path)) << path;
}

}  // namespace assay
