// How many threads a small model runs on, decided by running it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/bind.h"
#include "assay/cost.h"
#include "assay/program.h"
#include "assay/training_step.h"
#include "assay/zoo.h"
#include "base/processors.h"

namespace assay {
namespace {

class ThreadChoice : public testing::Test {
 protected:
  ~ThreadChoice() override { std::filesystem::remove(file_); }

  std::unique_ptr<Program> compiled(const Graph& graph, int threads = 0) const {
    ProgramOptions options{.tuning_file = file_.string()};
    options.cpu = {.threads = threads, .fewer_where_faster = true};
    return compile(infer_shapes(bind_inputs(graph, {}).graph), options);
  }

  std::string stored() const {
    std::stringstream text;
    text << std::ifstream(file_).rdbuf();
    return text.str();
  }

  void replace_answer(const std::string& wanted) const {
    std::string text = stored();
    const auto question = text.find("threads of");
    ASSERT_NE(question, std::string::npos) << text;
    const auto answer = text.find('\t', question) + 1;
    text.replace(answer, text.find('\n', answer) - answer, wanted);
    std::ofstream(file_) << text;
  }

  /// One file for each test: tests run side by side.
  std::filesystem::path file_ = std::filesystem::path(testing::TempDir()) /
                                (std::string("thread_choice_") +
                                 testing::UnitTest::GetInstance()->current_test_info()->name());
};

int processors() {
  return static_cast<int>(available_processors().size());
}

TEST_F(ThreadChoice, IsBetweenOneAndTheProcessors) {
  const auto program = compiled(zoo_model("mlp"));
  EXPECT_GE(program->threads(), 1);
  EXPECT_LE(program->threads(), processors());
}

TEST_F(ThreadChoice, IsTakenFromTheTuningFile) {
  EXPECT_LE(compiled(zoo_model("mlp"))->threads(), processors());
  if (processors() == 1) return;  // no choice, nothing stored
  replace_answer("1");
  EXPECT_EQ(compiled(zoo_model("mlp"))->threads(), 1);
  replace_answer(std::to_string(processors()));
  EXPECT_EQ(compiled(zoo_model("mlp"))->threads(), processors());
}

TEST_F(ThreadChoice, ADamagedAnswerIsMeasuredAgain) {
  EXPECT_LE(compiled(zoo_model("mlp"))->threads(), processors());
  if (processors() == 1) return;  // no choice, nothing stored
  for (const char* damaged : {"0", "9999", "many", "-1"}) {
    replace_answer(damaged);
    const int threads = compiled(zoo_model("mlp"))->threads();
    EXPECT_TRUE(threads >= 1 && threads <= processors()) << damaged;
  }
}

TEST_F(ThreadChoice, LeavesAThreadCountThatWasAskedFor) {
  EXPECT_EQ(compiled(zoo_model("mlp"), 1)->threads(), 1);
  EXPECT_EQ(compiled(zoo_model("mlp"), processors())->threads(), processors());
  EXPECT_EQ(stored().find("threads of"), std::string::npos);
}

TEST_F(ThreadChoice, DoesNotDisturbAModelWithState) {
  const Inferred model = infer_shapes(bind_inputs(zoo_model("mlp"), {}).graph);
  const TrainingStep step = training_step(model, trainable_parameters(model));
  const auto program = compiled(step.graph);
  EXPECT_LE(program->threads(), processors());
  EXPECT_EQ(program->state().size(), step.state.size());
}

}  // namespace
}  // namespace assay
