#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_io/model_maker.h"

namespace assay {
namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

std::string refusal_of_tensor(const std::string& tensor) {
  return refusal_of(model_with_nodes({node("Add", {"x", "w"}, {"y"})}, {tensor}));
}

// A model with a bit of everything, small enough to damage at every byte.
std::string small_model() {
  const std::string body = branch({node("Relu", {"x"}, {"r"})}, "r");
  const std::string twice = function(
      {.name = "f", .inputs = {"a"}, .outputs = {"b"}, .nodes = {node("Add", {"a", "a"}, {"b"})}});
  return model(testing::graph(
                   {.nodes = {node("If", {"c"}, {"t"},
                                   {graph_attribute("then_branch", body),
                                    graph_attribute("else_branch", body)}),
                              node("Constant", {}, {"k"}, {int_attribute("value_int", 7)}),
                              node("f", {"t"}, {"u"}, {}, "local"), node("Add", {"u", "w"}, {"y"})},
                    .initializers = {raw_tensor("w", kFloat, {2}, bytes_of({1.0f, 2.0f}))},
                    .inputs = {value_info("x"), value_info("c", 9, {})},
                    .value_infos = {value_info("t")}}),
               {opset(17), opset(1, "local")}, {twice});
}

TEST(Untrusted, TheSmallModelIsFineBeforeItIsDamaged) {
  EXPECT_EQ(refusal_of(small_model()), "");
}

TEST(Untrusted, TruncatedAtAnyByteIsAnErrorOrAModelButNeverACrash) {
  const std::string whole = small_model();
  int refused = 0;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string message = refusal_of(whole.substr(0, size));
    refused += message.starts_with("test.onnx: ") ? 1 : 0;
  }
  // Only right before the function, which comes last, there is a model: one that calls an operator
  // of another domain.
  EXPECT_EQ(refused, static_cast<int>(whole.size()) - 1);
}

TEST(Untrusted, TruncationInsideTheGraphSaysWhere) {
  const std::string whole = small_model();
  EXPECT_THAT(refusal_of(whole.substr(0, 100)), HasSubstr("truncated: the file ends at byte 100"));
}

TEST(Untrusted, AnyFlippedBitIsAnErrorOrAModelButNeverACrash) {
  const std::string whole = small_model();
  int refused = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      refused += refusal_of(damaged).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole.size()) * 2);
}

TEST(Untrusted, DimensionsThatOverflowAreRefused) {
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kFloat, {1LL << 32, 1LL << 32}, "1234")),
              HasSubstr("tensor 'w': its dimensions 4294967296x4294967296 are negative or their"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kFloat, {(1LL << 62)}, "1234")),
              HasSubstr("overflow"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kFloat, {-1}, "")), HasSubstr("negative"));
}

TEST(Untrusted, HugeDimensionsWithLittleDataAllocateNothing) {
  for (const int type : {1, 3, 7, 8, 9, 10, 11, 12, 13, 22}) {
    EXPECT_THAT(refusal_of_tensor(tensor_with("w", type, {1LL << 50}, [](auto&) {})),
                HasSubstr("are there"))
        << type;
  }
}

TEST(Untrusted, DimensionsMustFitTheBytesExactly) {
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kFloat, {2}, std::string(9, 'x'))),
              HasSubstr("2 elements of float32 need 8 bytes, 9 are there"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kFloat, {3}, std::string(8, 'x'))),
              HasSubstr("need 12 bytes, 8 are there"));
  EXPECT_THAT(refusal_of_tensor(
                  tensor_with("w", kInt64, {2}, [](auto& writer) { writer.add_int64(7, 1); })),
              HasSubstr("need 2 stored values, 1 are there"));
}

TEST(UntrustedTensors, FourBitElementsShareBytesInPairs) {
  constexpr int kInt4 = 22;
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kInt4, {3}, "x")),
              HasSubstr("3 elements of int4 need 2 bytes, 1 are there"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kInt4, {3}, "xyz")),
              HasSubstr("need 2 bytes, 3 are there"));
  EXPECT_EQ(refusal_of_tensor(raw_tensor("w", kInt4, {3}, "xy")), "");
}

TEST(UntrustedTensors, NarrowIntegersStayInTheirRange) {
  const auto stored = [](int type, std::int32_t number) {
    return tensor_with("w", type, {1}, [&](auto& writer) { writer.add_int32(5, number); });
  };
  constexpr int kUInt8 = 2, kInt8 = 3, kUInt16 = 4;
  EXPECT_THAT(refusal_of_tensor(stored(kUInt8, 256)),
              HasSubstr("it holds 256, which no uint8 can be"));
  EXPECT_THAT(refusal_of_tensor(stored(kUInt8, -1)), HasSubstr("it holds -1"));
  EXPECT_THAT(refusal_of_tensor(stored(kInt8, 128)), HasSubstr("it holds 128"));
  EXPECT_THAT(refusal_of_tensor(stored(kUInt16, 65536)), HasSubstr("it holds 65536"));
  EXPECT_EQ(refusal_of_tensor(stored(kInt8, -128)), "");
}

TEST(Untrusted, DataInTheWrongOrInTwoFieldsIsRefused) {
  EXPECT_THAT(refusal_of_tensor(
                  tensor_with("w", kFloat, {1}, [](auto& writer) { writer.add_int64(7, 1); })),
              HasSubstr("cannot be stored in field 7"));
  EXPECT_THAT(refusal_of_tensor(tensor_with("w", kFloat, {1},
                                            [](auto& writer) {
                                              writer.add_float(4, 1);
                                              writer.add_bytes(9, "1234");
                                            })),
              HasSubstr("two different fields"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", 8, {1}, "text")), HasSubstr("raw data"));
}

TEST(Untrusted, UnknownElementTypesAndRanksAreRefused) {
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", 23, {1}, "x")), HasSubstr("element type 23"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", 0, {1}, "x")), HasSubstr("undefined"));
  EXPECT_THAT(refusal_of_tensor(raw_tensor("w", kFloat, Dims(65, 1), "1234")),
              HasSubstr("more than 64 dimensions"));
}

TEST(Untrusted, SparseTensorsAreRefusedByName) {
  std::string sparse;
  protozero::pbf_writer(sparse).add_message(1, raw_tensor("s", kFloat, {1}, "1234"));
  std::string message = testing::graph({.nodes = {node("Relu", {"x"}, {"y"})}});
  protozero::pbf_writer(message).add_message(15, sparse);
  EXPECT_THAT(refusal_of(model(message)), HasSubstr("initializer 's' is a sparse tensor"));
  const auto in_attribute =
      attribute("sparse_value", 11, [&](auto& writer) { writer.add_message(22, sparse); });
  EXPECT_THAT(refusal_of(model_with_nodes({node("Constant", {}, {"y"}, {in_attribute})})),
              HasSubstr("Constant 'y': attribute 'sparse_value' is a sparse tensor"));
}

TEST(Untrusted, TrainingInformationIsRefusedByName) {
  std::string bytes = small_model();
  protozero::pbf_writer(bytes).add_message(20, std::string());
  EXPECT_THAT(refusal_of(bytes), HasSubstr("training_info"));
}

TEST(Untrusted, CyclesDuplicatesAndUseBeforeDefinitionNameNodeAndTensor) {
  EXPECT_THAT(
      refusal_of(model_with_nodes({node("Relu", {"y"}, {"t"}), node("Relu", {"t"}, {"y"})})),
      HasSubstr("Relu 't' reads tensor 'y' before Relu 'y' defines it"));
  EXPECT_THAT(refusal_of(model_with_nodes({node("Relu", {"x"}, {"y"}), node("Neg", {"x"}, {"y"})})),
              HasSubstr("tensor 'y' is defined a second time by Neg 'y'"));
  EXPECT_THAT(refusal_of(model_with_nodes({node("Relu", {"nothing"}, {"y"})})),
              HasSubstr("Relu 'y' reads tensor 'nothing', which nothing defines"));
  const std::string w = raw_tensor("w", kFloat, {1}, "1234");
  EXPECT_THAT(refusal_of(model_with_nodes({node("Add", {"x", "w"}, {"y"})}, {w, w})),
              HasSubstr("tensor 'w' is defined a second time"));
  EXPECT_THAT(refusal_of(model_with_nodes({node("Relu", {"x"}, {"t"})})),
              HasSubstr("nothing defines its output 'y'"));
}

TEST(Untrusted, ASubgraphMayNotUseWhatIsDefinedLater) {
  const std::string body = branch({node("Relu", {"late"}, {"r"})}, "r");
  const std::string message = refusal_of(model(testing::graph(
      {.nodes = {node("If", {"c"}, {"t"},
                      {graph_attribute("then_branch", body), graph_attribute("else_branch", body)}),
                 node("Relu", {"x"}, {"late"}), node("Add", {"t", "late"}, {"y"})},
       .inputs = {value_info("x"), value_info("c", 9, {})}})));
  EXPECT_THAT(message, HasSubstr("'late'"));
}

TEST(Untrusted, TenThousandNestedSubgraphsAreRefusedWithTheirPath) {
  std::string body = branch({node("Relu", {"x"}, {"r"})}, "r");
  for (int i = 0; i < 10000; ++i) {
    body = branch({node("Nest", {}, {"r"}, {graph_attribute("body", body)})}, "r");
  }
  EXPECT_THAT(refusal_of(model_with_nodes(
                  {node("Nest", {}, {"y"}, {graph_attribute("body", body)}, "", "top")})),
              HasSubstr("nested more than 100 deep: Nest 'top' body > Nest 'r' body"));
}

TEST(Untrusted, HundredNestedSubgraphsAreAccepted) {
  std::string body = branch({node("Relu", {"x"}, {"r0"})}, "r0");
  for (int i = 1; i < 100; ++i) {
    const std::string result = "r" + std::to_string(i);
    body = branch({node("Nest", {}, {result}, {graph_attribute("body", body)})}, result);
  }
  EXPECT_EQ(
      refusal_of(model_with_nodes({node("Nest", {}, {"y"}, {graph_attribute("body", body)})})), "");
}

TEST(Untrusted, DeeplyNestedTypesAreRefused) {
  std::string type = tensor_type(kFloat, {1});
  for (int i = 0; i < 10000; ++i) {
    std::string sequence;
    protozero::pbf_writer(sequence).add_message(1, type);
    type.clear();
    protozero::pbf_writer(type).add_message(4, sequence);
  }
  EXPECT_THAT(refusal_of(model(testing::graph(
                  {.nodes = {node("Foo", {"x"}, {"y"})}, .inputs = {value_info("x", type)}}))),
              HasSubstr("nested more than 16 deep"));
}

TEST(Untrusted, AttributesThatContradictThemselvesAreRefused) {
  const auto with = [](const Messages& attributes) {
    return refusal_of(model_with_nodes({node("Foo", {"x"}, {"y"}, attributes, "", "foo")}));
  };
  EXPECT_THAT(with({int_attribute("a", 1), int_attribute("a", 2)}),
              HasSubstr("Foo 'foo': an attribute is given twice"));
  EXPECT_THAT(with({attribute("a", 2, [](auto& writer) { writer.add_float(2, 1.0f); })}),
              HasSubstr("states one type and stores another"));
  EXPECT_THAT(with({attribute("a", 99, [](auto&) {})}), HasSubstr("unknown type 99"));
  EXPECT_THAT(with({attribute("a", 5, [](auto&) {})}), HasSubstr("has no value"));
  EXPECT_THAT(with({attribute("a", 4, [](auto&) {})}), HasSubstr("has no value"));
  EXPECT_THAT(with({reference_attribute("a", 2, "b")}), HasSubstr("stands in none"));
}

TEST(Untrusted, ANodeWithoutOperatorIsRefused) {
  EXPECT_THAT(refusal_of(model_with_nodes({node("", {"x"}, {"y"}, {}, "", "bare")})),
              HasSubstr("node 'bare' has no operator"));
}

TEST(Untrusted, NamesThatAreNotTextAreRefused) {
  EXPECT_THAT(refusal_of(model_with_nodes({node("Relu", {"x"}, {"\xff\xfe"})})),
              HasSubstr("not valid UTF-8"));
  EXPECT_THAT(refusal_of(model_with_nodes({node("Relu", {"x"}, {"\xed\xa0\x80"})})),
              HasSubstr("not valid UTF-8"));  // half a surrogate pair
  EXPECT_EQ(refusal_of(model_with_nodes(
                {node("Relu", {"x"}, {"größe…"}), node("Relu", {"größe…"}, {"y"})})),
            "");
}

TEST(Untrusted, OpsetsOutsideTheKnownRangeSayWhatToTry) {
  const auto with = [](const Messages& opsets) {
    return refusal_of(model(testing::graph({.nodes = {node("Relu", {"x"}, {"y"})}}), opsets));
  };
  EXPECT_THAT(with({opset(0)}), HasSubstr("operator set 0, assay knows 1 to 28: re-export it with "
                                          "opset_version=17"));
  EXPECT_THAT(with({opset(29)}), HasSubstr("operator set 29"));
  EXPECT_THAT(with({}), HasSubstr("imports no operator set"));
  EXPECT_THAT(with({opset(1, "other")}), HasSubstr("imports no standard operator set"));
  EXPECT_THAT(with({opset(13), opset(14)}), HasSubstr("imported twice"));
  EXPECT_EQ(with({opset(1)}), "");
  EXPECT_EQ(with({opset(21)}), "");
}

TEST(Untrusted, ALengthOfManyGigabytesIsRefused) {
  std::string bytes = "\x08\x08\x3a";               // field 1 = 8, then field 7 of a claimed length
  bytes += std::string("\x85\x80\x80\x80\x10", 5);  // 2^32 + 5, which 32 bits would take for 5
  bytes += "12345";
  EXPECT_THAT(refusal_of(bytes), HasSubstr("truncated"));
}

}  // namespace
}  // namespace assay
