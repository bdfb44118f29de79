// Operator sets after 21: read where nothing that the model uses has changed, or refused by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/infer.h"
#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// `node_message` reads x and gives y, both of 2×3.
std::string newer_model(std::int64_t version, const std::string& node_message) {
  return model(testing::graph({.nodes = {node_message},
                               .inputs = {value_info("x", kFloat, {2, 3})},
                               .outputs = {value_info("y", kFloat, {2, 3})}}),
               {opset(version)});
}

std::vector<std::string> warnings_of(const std::string& bytes) {
  return infer_shapes(read_bytes(bytes)).warnings;
}

TEST(NewerOpsets, AreReadWithAWarning) {
  const std::string relu = node("Relu", {"x"}, {"y"});
  EXPECT_EQ(read_bytes(newer_model(28, relu)).opset(), 28);
  EXPECT_THAT(warnings_of(newer_model(22, relu)),
              ElementsAre(HasSubstr("it uses operator set 22: it is read as 21")));
  EXPECT_THAT(warnings_of(newer_model(21, relu)), IsEmpty());
}

TEST(NewerOpsets, RefuseAnOperatorInAFormThatIsNew) {
  const auto cast = [](const Messages& attributes) {
    Messages all = attributes;
    all.push_back(int_attribute("to", kFloat));
    return newer_model(25, node("Cast", {"x"}, {"y"}, all));
  };
  const auto rounding = [](const std::string& mode) {
    return attribute("round_mode", 3, [&](auto& writer) { writer.add_bytes(4, mode); });
  };
  EXPECT_EQ(refusal_of(cast({})), "");
  EXPECT_EQ(refusal_of(cast({rounding("up")})), "");
  EXPECT_THAT(refusal_of(cast({rounding("down")})),
              HasSubstr("has attribute 'round_mode', new in operator set 24, which assay does not "
                        "know: re-export it with opset_version=21 or lower"));
}

TEST(NewerOpsets, NameTheOperatorsThatOnlyTheyHave) {
  const std::string swish = newer_model(24, node("Swish", {"x"}, {"y"}));
  EXPECT_THAT(warnings_of(swish),
              ElementsAre(HasSubstr("assay does not know Swish (new in 24): re-export it with")));
}

}  // namespace
}  // namespace assay
