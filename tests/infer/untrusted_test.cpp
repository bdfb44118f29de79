// Models that are well formed and mean harm: contradictory nodes, countless empty things, types
// that hold themselves. Each must end at once, with an answer or an Error.
#include "infer_helpers.h"

namespace assay {
namespace {

Tensor empty_ints(std::vector<std::int64_t> dims) {
  return Tensor(DataType::Int64, std::move(dims), heap_storage({}));
}

TEST(Untrusted, ContentThatIsNotAsTheRulePromisedIsNotKnown) {
  GraphBuilder builder("g", 0, 13);
  const ValueId numbers = builder.ints("numbers", {1, 2, 3, 4, 5, 6});
  // The shape is stated twice: as an input, and as the attribute of opset 1.
  const ValueId shaped = builder.node("Reshape", "reshape", {numbers, builder.ints("shape", {6})},
                                      {{"shape", std::vector<std::int64_t>{1, 1, 1, 6}}});
  const auto unique =
      builder.node_with_outputs("Unique", "unique", {shaped}, 1, {{"axis", std::int64_t{3}}});
  builder.output(unique[0], "y");
  try {
    const Inferred inferred = infer_shapes(builder.finish());
    for (std::uint32_t i = 0; i < inferred.known.size(); ++i) {
      if (!inferred.known[i].has_value()) continue;
      EXPECT_EQ(inferred.graph.value(ValueId{i}).type.shape, inferred.known[i].shape());
    }
  } catch (const Error&) {
    SUCCEED();  // to refuse the contradiction is as good
  }
}

TEST(Untrusted, SequencesOfSequencesEndSomewhere) {
  GraphBuilder builder("g");
  ValueId value = builder.input("x", DataType::Float32, Shape{1});
  for (int i = 0; i < 100; ++i) value = builder.node("SequenceConstruct", "nest", {value});
  builder.output(value, "y");
  EXPECT_THROW(infer_shapes(builder.finish()), Error);
}

TEST(Untrusted, CountlessEmptyTuplesAreGatheredAtOnce) {
  const std::int64_t countless = std::int64_t{1} << 62;
  GraphBuilder builder("g");
  const ValueId data = builder.constant("data", empty_ints({0}));
  const ValueId indices = builder.constant("indices", empty_ints({countless, 0}));
  builder.output(builder.node("GatherND", "gather", {data, indices}), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(inferred.graph.value(inferred.graph.outputs()[0]).type.shape,
            (Shape{Dim(countless), Dim(0)}));
}

TEST(Untrusted, CountlessEmptySlicesAreAllEqual) {
  GraphBuilder builder("g");
  const ValueId data = builder.constant("data", empty_ints({std::int64_t{1} << 62, 0}));
  builder.output(builder.node("Unique", "unique", {data}, {{"axis", std::int64_t{0}}}), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(inferred.graph.value(inferred.graph.outputs()[0]).type.shape->to_string(), "1x0");
}

TEST(Untrusted, SpreadingOneNumberAMillionTimesIsNotFolded) {
  GraphBuilder builder("g");
  std::vector<ValueId> operands = {builder.ints("wide", std::vector<std::int64_t>(60000, 1))};
  const ValueId one = builder.ints("one", {1});
  operands.insert(operands.end(), 100000, one);
  builder.output(builder.node("Max", "max", operands), "y");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(inferred.known_value(inferred.graph.outputs()[0]), nullptr);
}

}  // namespace
}  // namespace assay
