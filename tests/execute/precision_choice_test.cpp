// What a model of 16 bits stores, decided by running it: here by what a tuning file says, so that
// nothing depends on the machine's speed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "assay/bind.h"
#include "assay/program.h"
#include "assay/zoo.h"
#include "execute/compare_engines.h"

namespace assay {
namespace {

class PrecisionChoice : public testing::TestWithParam<DataType> {
 protected:
  ~PrecisionChoice() override { std::filesystem::remove(file_); }

  // Its filters are 5×5: Winograd would round transformed 3×3 ones again, to 16-bit integers.
  std::unique_ptr<Program> compiled() const {
    ProgramOptions options{.tuning_file = file_.string(), .precision = GetParam()};
    options.only_where_faster = true;
    options.cpu.threads = 1;
    return compile(infer_shapes(bind_inputs(zoo_model("lenet5"), {}).graph), options);
  }

  // Of the one line about the whole model; returns what was there.
  std::string set_answer(const std::string& wanted) const {
    std::stringstream lines;
    lines << std::ifstream(file_).rdbuf();
    std::ofstream changed(file_);
    std::string found;
    for (std::string line; std::getline(lines, line);) {
      if (line.find("what is stored as") != std::string::npos) {
        found = line.substr(line.rfind('\t') + 1);
        line = line.substr(0, line.rfind('\t') + 1) + wanted;
      }
      changed << line << '\n';
    }
    return found;
  }

  bool has_halves(const Program& program) const {
    const std::string precision = GetParam() == DataType::BFloat16 ? "bf16" : "fp16";
    return std::ranges::any_of(program.steps(), [&](const StepInfo& step) {
      return step.precision == precision || step.storage == precision;
    });
  }

  std::filesystem::path file_ = std::filesystem::path(testing::TempDir()) /
                                ("precision_choice_" + std::string(name(GetParam())));
};

std::vector<double> outputs_of(Program& program) {
  program.set_inputs(random_inputs(program.inputs()));
  program.run();
  return program.results().front().to_double();
}

TEST_P(PrecisionChoice, IsKeptInTheTuningFile) {
  const auto first = compiled();
  const std::string answer = set_answer("nothing");
  EXPECT_TRUE(answer == "everything" || answer == "weights" || answer == "nothing") << answer;
  const auto in_floats = compiled();
  EXPECT_FALSE(has_halves(*in_floats));
  set_answer(answer);
  EXPECT_EQ(has_halves(*compiled()), has_halves(*first));
}

TEST_P(PrecisionChoice, RoundsWeightsWhateverIsStored) {
  compiled();
  set_answer("nothing");
  const auto in_floats = compiled();
  set_answer("weights");
  const auto with_weights = compiled();
  EXPECT_FALSE(has_halves(*in_floats));
  const auto expected = outputs_of(*in_floats);
  const auto found = outputs_of(*with_weights);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-5) << i;
}

INSTANTIATE_TEST_SUITE_P(Halves, PrecisionChoice,
                         testing::Values(DataType::BFloat16, DataType::Float16),
                         [](const auto& one) { return std::string(name(one.param)); });

}  // namespace
}  // namespace assay
