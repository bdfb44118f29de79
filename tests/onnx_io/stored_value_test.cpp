// Tensors, sequences and optionals in files of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/onnx.h"
#include "onnx_io/model_maker.h"
#include "onnx_io/stored_value.h"
#include "support/error_message.h"

namespace assay {
namespace {

using namespace assay::testing;
using onnx::read_stored_value;
using onnx::StoredValue;
using ::testing::HasSubstr;

std::filesystem::path written(const TemporaryFolder& folder, const std::string& bytes) {
  return folder.write("value.pb", bytes);
}

const std::string kPair = raw_tensor("v", kFloat, {2}, bytes_of({1.5f, -2.0f}));

std::string container(int field, const Messages& messages) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_string(1, "name");
  writer.add_int32(2, 1);
  for (const auto& message : messages) writer.add_message(field, message);
  return bytes;
}

ValueType of_kind(ValueType::Kind kind) {
  ValueType type;
  type.kind = kind;
  return type;
}

TEST(StoredValues, ATensorIsRead) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_onnx_tensor(written(folder, kPair)), Tensor::of_float({2}, {1.5f, -2.0f}));
}

TEST(StoredValues, ComplaintsNameTheFile) {
  const TemporaryFolder folder;
  const auto damaged = written(folder, kPair.substr(0, kPair.size() - 1));
  EXPECT_THAT(error_message([&] { read_onnx_tensor(damaged); }),
              ::testing::AllOf(HasSubstr("value.pb"), HasSubstr("truncated")));
  const auto lying = written(folder, raw_tensor("v", kFloat, {1 << 28, 4}, "1234"));
  EXPECT_THAT(error_message([&] { read_onnx_tensor(lying); }), HasSubstr("4 are there"));
  const auto outside = written(folder, external_tensor("v", {2}, {{"location", "w.bin"}}));
  EXPECT_NE(error_message([&] { read_onnx_tensor(outside); }), "");
  EXPECT_NE(error_message([&] { read_onnx_tensor(folder.path() / "missing.pb"); }), "");
}

TEST(StoredValues, SequencesAndOptionalsHoldTensors) {
  const TemporaryFolder folder;
  const auto sequence = of_kind(ValueType::Kind::Sequence);
  const auto optional = of_kind(ValueType::Kind::Optional);
  const StoredValue two =
      read_stored_value(written(folder, container(3, {kPair, kPair})), sequence);
  EXPECT_EQ(two.kind, StoredValue::Kind::Sequence);
  EXPECT_EQ(two.tensors.size(), 2u);
  const StoredValue one = read_stored_value(written(folder, container(3, {kPair})), optional);
  EXPECT_EQ(one.kind, StoredValue::Kind::Tensor);
  const StoredValue inner =
      read_stored_value(written(folder, container(5, {container(3, {kPair})})), optional);
  EXPECT_EQ(inner.kind, StoredValue::Kind::Sequence);
  EXPECT_EQ(read_stored_value(written(folder, container(3, {})), optional).kind,
            StoredValue::Kind::Nothing);
  const auto nested = written(folder, container(5, {container(3, {kPair})}));
  EXPECT_THAT(error_message([&] { read_stored_value(nested, sequence); }), HasSubstr("field 5"));
}

}  // namespace
}  // namespace assay
