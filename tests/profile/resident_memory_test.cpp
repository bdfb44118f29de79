#include "profile/resident_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace assay {

using namespace assay::profile;

namespace {

TEST(ResidentGrowth, SeesWhatWasTouchedEvenAfterItIsGone) {
  constexpr std::size_t kBytes = std::size_t{96} << 20;
  const ResidentGrowth growth;
  {
    const auto block = std::make_unique<unsigned char[]>(kBytes);
    std::memset(block.get(), 7, kBytes);
    EXPECT_EQ(block[kBytes / 2], 7);
  }
  ASSERT_TRUE(growth.bytes());  // a new peak shows even where the old one cannot be reset
  EXPECT_GE(*growth.bytes(), static_cast<std::int64_t>(kBytes / 2));
}

}  // namespace
}  // namespace assay
