#include <gtest/gtest.h>

#include <array>

#include "assay/error.h"
#include "execute/engine.h"
#include "support/error_message.h"

namespace assay {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Engines, TheDefaultOneComesFirstAndIsAvailable) {
  ASSERT_FALSE(engines().empty());
  EXPECT_EQ(engines().front().name, default_engine());
  EXPECT_TRUE(engines().front().available);
  EXPECT_EQ(ProgramOptions{}.engine, default_engine());
}

TEST(Engines, OneThatIsNotAvailableSaysWhy) {
  for (const EngineInfo& engine : engines()) {
    EXPECT_EQ(engine.available, engine.why_not.empty()) << engine.name;
  }
}

TEST(Engines, AFormerNameStillMeansTheEngine) {
  EXPECT_EQ(find_engine("onednn").name, "cpu");
  EXPECT_EQ(find_engine("cpu").name, "cpu");
}

TEST(Engines, AnUnknownNameIsAnsweredByTheNamesThereAre) {
  const std::string message = error_message([] { find_engine("abacus"); });
  EXPECT_TRUE(holds(message, "'abacus'")) << message;
  for (const std::string& name : engine_names()) EXPECT_TRUE(holds(message, name)) << message;
}

TEST(Engines, AnUnavailableOneIsRefusedWithWhatIsMissing) {
  const std::array<execute::Engine, 2> all = {
      execute::Engine{.info = {.name = "here"}},
      execute::Engine{.info = {.name = "away"},
                      .what_is_missing = [] { return std::string("there is no libaway.so"); }}};
  EXPECT_EQ(&execute::usable_engine(all, "here"), &all[0]);
  const std::string message = error_message([&] { execute::usable_engine(all, "away"); });
  EXPECT_TRUE(holds(message, "engine 'away' cannot run here")) << message;
  EXPECT_TRUE(holds(message, "here; away (not available: there is no libaway.so)")) << message;
}

}  // namespace
}  // namespace assay
