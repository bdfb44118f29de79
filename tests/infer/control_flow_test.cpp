// If, Loop and Scan: branches taken, merged or refused; what loops carry and collect.
#include "assay/verify.h"
#include "execute/body_maker.h"
#include "infer_helpers.h"

namespace assay {
namespace {

using test::Ints;

Tensor truth(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&byte, 1));
}

// A branch that captures `outer`, applies one op to it and returns the result under `name`.
GraphPtr branch(ValueId outer, const char* op, const char* name,
                std::vector<Attribute> attributes = {}) {
  Graph graph;
  graph.name = "branch";
  graph.opsets[""] = 17;
  const ValueId captured = graph.add_value("captured");
  graph.add_capture({outer, captured});
  const ValueId result = graph.add_value(name);
  graph.add_node(Node{.name = "inner",
                      .op = op,
                      .domain = "",
                      .inputs = {captured},
                      .outputs = {result},
                      .attributes = std::move(attributes)});
  graph.add_output(result);
  return std::make_shared<const Graph>(std::move(graph));
}

struct Choice {
  GraphBuilder builder{"choice"};
  ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  ValueId condition;

  Inferred infer(GraphPtr yes, GraphPtr no) {
    const ValueId y =
        builder.node("If", "choose", {condition}, {{"then_branch", yes}, {"else_branch", no}});
    builder.output(builder.node("Relu", "after", {y}), "z");
    return infer_shapes(builder.finish());
  }
};

const ValueType& output_type(const Inferred& inferred, std::size_t i = 0) {
  return inferred.graph.value(inferred.graph.outputs()[i]).type;
}

TEST(If, KnownConditionIsReplacedByTheBranchTaken) {
  Choice choice;
  choice.condition = choice.builder.constant("c", truth(true));
  // The branch's own tensor is called "x", like the input outside: it gets another name.
  const Inferred inferred =
      choice.infer(branch(choice.x, "Flatten", "x"), branch(choice.x, "Sqrt", "x"));
  verify(inferred.graph);
  ASSERT_EQ(inferred.graph.node_count(), 2u);
  EXPECT_EQ(inferred.graph.node(NodeId{0}).op, "Flatten");
  EXPECT_EQ(inferred.known.size(), inferred.graph.value_count());
  EXPECT_EQ(output_type(inferred).to_string(), "float32[2x3]");
}

TEST(If, ABranchThatReturnsWhatItCapturesBecomesAnIdentity) {
  Choice choice;
  choice.condition = choice.builder.constant("c", truth(false));
  Graph passing;
  passing.opsets[""] = 17;
  const ValueId captured = passing.add_value("captured");
  passing.add_capture({choice.x, captured});
  passing.add_output(captured);
  const Inferred inferred =
      choice.infer(branch(choice.x, "Sqrt", "a"), std::make_shared<const Graph>(passing));
  verify(inferred.graph);
  EXPECT_EQ(inferred.graph.node(NodeId{0}).op, "Identity");
  EXPECT_EQ(output_type(inferred).to_string(), "float32[2x3]");
}

TEST(If, ABranchNeverTakenIsKeptAside) {
  Choice choice;
  choice.condition = choice.builder.constant("c", truth(true));
  const GraphPtr other = branch(choice.x, "Sqrt", "b");
  const Inferred inferred = choice.infer(branch(choice.x, "Flatten", "a"), other);
  ASSERT_EQ(inferred.not_run.size(), 1u);
  EXPECT_EQ(inferred.not_run[0], other);
}

TEST(If, TheOnlyBranchThatFitsTheShapesIsTaken) {
  Choice choice;
  choice.condition = choice.builder.input("c", DataType::Bool, Shape{});
  // A transposition of three axes cannot be what happens to a matrix.
  const Inferred inferred = choice.infer(
      branch(choice.x, "Transpose", "a", {{"perm", Ints{2, 1, 0}}}), branch(choice.x, "Sqrt", "b"));
  verify(inferred.graph);
  EXPECT_EQ(inferred.graph.node(NodeId{0}).op, "Sqrt");
  EXPECT_EQ(output_type(inferred).to_string(), "float32[2x3]");
  EXPECT_EQ(inferred.not_run.size(), 1u);
  ASSERT_EQ(inferred.warnings.size(), 1u);
  EXPECT_NE(inferred.warnings[0].find("then branch does not fit"), std::string::npos);
}

TEST(If, TwoBranchesThatDoNotFitAreAnError) {
  Choice choice;
  choice.condition = choice.builder.input("c", DataType::Bool, Shape{});
  const auto wrong = [&] { return branch(choice.x, "Transpose", "a", {{"perm", Ints{2, 1, 0}}}); };
  EXPECT_THROW(choice.infer(wrong(), wrong()), Error);
}

TEST(If, OpenConditionMergesWhatDiffersToUnknown) {
  Choice choice;
  choice.condition = choice.builder.input("c", DataType::Bool, Shape{});
  const auto flips = branch(choice.x, "Transpose", "a");
  const Inferred inferred = choice.infer(flips, branch(choice.x, "Sqrt", "a"));
  verify(inferred.graph);
  EXPECT_EQ(output_type(inferred).to_string(), "float32[?x?]");
  EXPECT_EQ(inferred.unresolved.size(), 2u);
  const auto* inner = inferred.graph.node(NodeId{0}).get<GraphPtr>("then_branch");
  EXPECT_EQ((*inner)->value((*inner)->outputs()[0]).type.to_string(), "float32[3x2]");
}

TEST(If, BranchesOfDifferentTypesAreRefusedByName) {
  Choice choice;
  choice.condition = choice.builder.input("c", DataType::Bool, Shape{});
  try {
    choice.infer(branch(choice.x, "Shape", "a"), branch(choice.x, "Sqrt", "a"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("If 'choose'"), std::string::npos);
  }
}

TEST(If, NestedIfsAreTakenToo) {
  Choice choice;
  choice.condition = choice.builder.constant("c", truth(true));
  Graph outer;
  outer.name = "outer";
  outer.opsets[""] = 17;
  const ValueId x = outer.add_value("captured_x");
  const ValueId c = outer.add_value("captured_c");
  outer.add_capture({choice.x, x});
  outer.add_capture({choice.condition, c});
  const ValueId y = outer.add_value("y_inner");
  outer.add_node(Node{.name = "nested",
                      .op = "If",
                      .domain = "",
                      .inputs = {c},
                      .outputs = {y},
                      .attributes = {{"then_branch", branch(x, "Transpose", "t")},
                                     {"else_branch", branch(x, "Sqrt", "t")}}});
  outer.add_output(y);
  const Inferred inferred =
      choice.infer(std::make_shared<const Graph>(outer), branch(choice.x, "Sqrt", "a"));
  verify(inferred.graph);
  EXPECT_EQ(inferred.graph.node(NodeId{0}).op, "Transpose");
  EXPECT_EQ(output_type(inferred).to_string(), "float32[3x2]");
}

// A body: (i, condition, carried) → (condition, op(carried, carried), carried).
GraphPtr loop_body(const char* op, std::vector<Attribute> attributes = {}) {
  Graph body;
  body.name = "body";
  body.opsets[""] = 17;
  const ValueId i = body.add_value("i"), condition = body.add_value("condition"),
                carried = body.add_value("carried");
  for (const ValueId id : {i, condition, carried}) body.add_input(id);
  const ValueId again = body.add_value("again"), next = body.add_value("next"),
                scanned = body.add_value("scanned");
  body.add_node(Node{
      .name = "again", .op = "Identity", .domain = "", .inputs = {condition}, .outputs = {again}});
  body.add_node(Node{.name = "step",
                     .op = op,
                     .domain = "",
                     .inputs = {carried, carried},
                     .outputs = {next},
                     .attributes = std::move(attributes)});
  body.add_node(Node{
      .name = "scan", .op = "Identity", .domain = "", .inputs = {carried}, .outputs = {scanned}});
  for (const ValueId id : {again, next, scanned}) body.add_output(id);
  return std::make_shared<const Graph>(std::move(body));
}

Inferred infer_loop_of(const char* op, std::optional<std::int64_t> trips,
                       std::vector<Attribute> attributes = {}) {
  GraphBuilder builder("loop");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId count = trips ? builder.constant("m", Tensor::of_int64({}, {*trips}))
                              : builder.input("m", DataType::Int64, Shape{});
  const ValueId condition = builder.constant("c", truth(true));
  const auto outputs = builder.node_with_outputs("Loop", "loop", {count, condition, x}, 2,
                                                 {{"body", loop_body(op, std::move(attributes))}});
  builder.output(outputs[0], "last");
  builder.output(outputs[1], "all");
  return infer_shapes(builder.finish());
}

TEST(Loop, KnownTripCountIsTheLengthOfWhatItCollects) {
  const Inferred inferred = infer_loop_of("Add", 5);
  EXPECT_EQ(output_type(inferred, 0).to_string(), "float32[2x3]");
  EXPECT_EQ(output_type(inferred, 1).to_string(), "float32[5x2x3]");
}

// As exporters write `while (counter < limit)`: the counter is carried, the limit is a shape's.
Inferred infer_while_loop(bool is_limit_known) {
  Graph body;
  const ValueId round = body.add_value("round"), given = body.add_value("given"),
                counter = body.add_value("counter"), limit = body.add_value("limit"),
                one = body.add_value("one"), next = body.add_value("next"),
                again = body.add_value("again"), scanned = body.add_value("scanned");
  for (const ValueId id : {round, given, counter}) body.add_input(id);
  body.add_initializer(one, Tensor::of_int64({}, {1}));
  body.add_node(
      Node{.name = "next", .op = "Add", .domain = "", .inputs = {counter, one}, .outputs = {next}});
  body.add_node(Node{
      .name = "again", .op = "Less", .domain = "", .inputs = {next, limit}, .outputs = {again}});
  body.add_node(Node{
      .name = "scan", .op = "Identity", .domain = "", .inputs = {counter}, .outputs = {scanned}});
  for (const ValueId id : {again, next, scanned}) body.add_output(id);
  GraphBuilder builder("while");
  const ValueId x = builder.input("x", DataType::Float32, Shape{7});
  const ValueId length = is_limit_known ? builder.node("Size", "length", {x})
                                        : builder.input("length", DataType::Int64, Shape{});
  body.add_capture({length, limit});
  const ValueId most = builder.constant("most", Tensor::of_int64({}, {INT32_MAX}));
  const ValueId start = builder.constant("start", Tensor::of_int64({}, {2}));
  const auto outputs =
      builder.node_with_outputs("Loop", "loop", {most, builder.constant("c", truth(true)), start},
                                2, {{"body", std::make_shared<const Graph>(std::move(body))}});
  builder.output(outputs[1], "all");
  return infer_shapes(builder.finish());
}

TEST(Loop, RunsUntilItsOwnCounterReachesAKnownLimit) {
  EXPECT_EQ(output_type(infer_while_loop(true), 0).to_string(), "int64[5]");  // 2, 3, 4, 5, 6
  EXPECT_EQ(output_type(infer_while_loop(false), 0).to_string(), "int64[?]");
}

TEST(Loop, OpenTripCountLeavesTheLengthOpen) {
  EXPECT_EQ(output_type(infer_loop_of("Add", std::nullopt), 1).to_string(), "float32[?x2x3]");
}

// A while-loop: the condition compares a counter with a limit, and both are known before it starts.
Inferred counting_loop(std::int64_t start, std::int64_t step, std::optional<std::int64_t> limit) {
  test::Body body;
  body.input(DataType::Int64, Shape{});
  body.input(DataType::Bool, Shape{});
  const ValueId counter = body.input(DataType::Int64, Shape{});
  const ValueId most = body.input(DataType::Int64, Shape{});
  const ValueId next = body.node("Add", {counter, body.constant(Tensor::of_int64({}, {step}))});
  body.output(body.node("Less", {next, most})).output(next).output(most).output(next);
  GraphBuilder builder("net", 0, 17);
  const ValueId known = limit ? builder.constant("limit", Tensor::of_int64({}, {*limit}))
                              : builder.input("limit", DataType::Int64, Shape{});
  const auto outputs =
      builder.node_with_outputs("Loop", "loop",
                                {ValueId{}, builder.constant("starts", test::truth(true)),
                                 builder.constant("start", Tensor::of_int64({}, {start})), known},
                                3, {{"body", body.finish()}});
  builder.output(outputs[2], "all");
  return infer_shapes(builder.finish());
}

std::string collected_by(const Inferred& model) {
  return model.graph.value(model.graph.outputs()[0]).type.to_string();
}

TEST(Loop, AConditionOfKnownNumbersTellsTheTripCount) {
  EXPECT_EQ(collected_by(counting_loop(0, 1, 7)), "int64[7]");
  EXPECT_EQ(collected_by(counting_loop(0, 3, 7)), "int64[3]");   // 3, 6, 9
  EXPECT_EQ(collected_by(counting_loop(9, 1, 7)), "int64[1]");   // looked at after the first round
  EXPECT_EQ(collected_by(counting_loop(0, 1, {})), "int64[?]");  // the limit is data
  EXPECT_EQ(collected_by(counting_loop(0, 0, 7)), "int64[?]");   // it would not end
}

TEST(Loop, ACarriedShapeThatGrowsIsUnknown) {
  const Inferred inferred = infer_loop_of("Concat", 5, {{"axis", std::int64_t{0}}});
  EXPECT_EQ(output_type(inferred, 0).to_string(), "float32[?x3]");
  EXPECT_EQ(output_type(inferred, 1).to_string(), "float32[5x?x3]");
}

// Three values handed on like buckets, the last of them growing: a ← b ← c ← c·c.
TEST(Loop, AChangeThatArrivesLateIsStillSeen) {
  constexpr std::size_t kBuckets = 8;
  Graph body;
  body.name = "body";
  body.opsets[""] = 17;
  const ValueId i = body.add_value("i"), condition = body.add_value("condition");
  body.add_input(i);
  body.add_input(condition);
  std::vector<ValueId> in, out;
  for (std::size_t k = 0; k < kBuckets; ++k) {
    in.push_back(body.add_value("in" + std::to_string(k)));
    out.push_back(body.add_value("out" + std::to_string(k)));
    body.add_input(in.back());
  }
  const ValueId again = body.add_value("again");
  body.add_node(Node{
      .name = "again", .op = "Identity", .domain = "", .inputs = {condition}, .outputs = {again}});
  body.add_output(again);
  for (std::size_t k = 0; k < kBuckets; ++k) {
    const bool is_last = k + 1 == kBuckets;
    Node step{.name = "step",
              .op = is_last ? "Concat" : "Identity",
              .domain = "",
              .inputs = {in[is_last ? k : k + 1]},
              .outputs = {out[k]}};
    if (is_last) step.inputs.push_back(in[k]);
    if (is_last) step.attributes = {{"axis", std::int64_t{0}}};
    body.add_node(std::move(step));
    body.add_output(out[k]);
  }
  GraphBuilder builder("loop");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  std::vector<ValueId> inputs = {builder.constant("m", Tensor::of_int64({}, {20})), ValueId{}};
  inputs.insert(inputs.end(), kBuckets, x);
  const auto outputs = builder.node_with_outputs("Loop", "loop", inputs, kBuckets,
                                                 {{"body", std::make_shared<const Graph>(body)}});
  builder.output(outputs[0], "first");
  EXPECT_FALSE(output_type(infer_shapes(builder.finish())).has_known_shape());
}

TEST(Loop, NestedHostilelyItEndsInTimeOrIsRefused) {
  // 40 loops within each other: passes must not multiply.
  Graph body;
  GraphPtr inner = loop_body("Concat", {{"axis", std::int64_t{0}}});
  for (int depth = 0; depth < 40; ++depth) {
    Graph outer;
    outer.name = "nest";
    outer.opsets[""] = 17;
    const ValueId i = outer.add_value("i"), condition = outer.add_value("condition"),
                  carried = outer.add_value("carried");
    for (const ValueId id : {i, condition, carried}) outer.add_input(id);
    const ValueId next = outer.add_value("next"), scanned = outer.add_value("scanned"),
                  again = outer.add_value("again");
    outer.add_node(Node{
        .name = "again", .op = "Not", .domain = "", .inputs = {condition}, .outputs = {again}});
    outer.add_node(Node{.name = "nested",
                        .op = "Loop",
                        .domain = "",
                        .inputs = {i, condition, carried},
                        .outputs = {next, scanned},
                        .attributes = {{"body", inner}}});
    for (const ValueId id : {again, next, scanned}) outer.add_output(id);
    inner = std::make_shared<const Graph>(std::move(outer));
  }
  GraphBuilder builder("loop");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2, 3});
  const ValueId m = builder.input("m", DataType::Int64, Shape{});
  builder.output(
      builder.node_with_outputs("Loop", "loop", {m, ValueId{}, x}, 2, {{"body", inner}})[0], "y");
  EXPECT_EQ(output_type(infer_shapes(builder.finish())).element, DataType::Float32);
}

TEST(Scan, LengthComesFromWhatIsScanned) {
  Graph body;
  body.name = "body";
  body.opsets[""] = 17;
  const ValueId sum = body.add_value("sum"), row = body.add_value("row"),
                next = body.add_value("next"), seen = body.add_value("seen");
  body.add_input(sum);
  body.add_input(row);
  body.add_node(
      Node{.name = "add", .op = "Add", .domain = "", .inputs = {sum, row}, .outputs = {next}});
  body.add_node(
      Node{.name = "see", .op = "Identity", .domain = "", .inputs = {next}, .outputs = {seen}});
  body.add_output(next);
  body.add_output(seen);
  GraphBuilder builder("scan");
  const ValueId start = builder.input("start", DataType::Float32, Shape{4});
  const ValueId rows = builder.input("rows", DataType::Float32, Shape{7, 4});
  const auto outputs = builder.node_with_outputs(
      "Scan", "scan", {start, rows}, 2,
      {{"body", std::make_shared<const Graph>(body)}, {"num_scan_inputs", std::int64_t{1}}});
  builder.output(outputs[0], "last");
  builder.output(outputs[1], "all");
  const Inferred inferred = infer_shapes(builder.finish());
  EXPECT_EQ(output_type(inferred, 0).to_string(), "float32[4]");
  EXPECT_EQ(output_type(inferred, 1).to_string(), "float32[7x4]");
}

}  // namespace
}  // namespace assay
