// Random graphs, run on a toy arena: every write leaves a mark, every read checks it. So a plan is
// judged by what would happen, not by the reasoning that made it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "assay/builder.h"
#include "assay/memory.h"

namespace assay {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed), builder_("random") {}

  Inferred make(std::size_t nodes) {
    for (int i = 0; i < 3; ++i) add_input();
    constant_ = builder_.weight("constant", {16}, 1.0);
    sizes_[constant_.number] = 16;
    for (std::size_t i = 0; i < nodes; ++i) add_node();
    builder_.output(values_.back(), "last");
    for (int i = 0; i < 3; ++i) add_extra_output();
    Inferred model;
    model.graph = builder_.finish();
    for (const auto& [number, floats] : sizes_) {
      model.graph.value(ValueId{number}).type = tensor_type(DataType::Float32, Shape{floats});
    }
    model.known.resize(model.graph.value_count());
    return model;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  // Mostly a recent value, so that lifetimes vary.
  ValueId any() {
    if (below(12) == 0) return constant_;
    const std::size_t recent = std::min<std::size_t>(values_.size(), below(4) == 0 ? 1000 : 4);
    return values_[values_.size() - 1 - below(recent)];
  }

  void add_input() {
    const std::int64_t floats = 16 * static_cast<std::int64_t>(1 + below(4));
    keep(builder_.input("input", DataType::Float32, Shape{floats}), floats);
  }

  void keep(ValueId id, std::int64_t floats) {
    sizes_[id.number] = floats;
    values_.push_back(id);
  }

  void add_node() {
    const ValueId a = any();
    const ValueId b = any();
    const std::int64_t size = sizes_[a.number];
    const std::int64_t either = std::max(size, sizes_[b.number]);
    const std::int64_t other = 16 * static_cast<std::int64_t>(1 + below(4));
    switch (below(8)) {
      case 0:
        return keep(builder_.node("Relu", "relu", {a}), size);
      case 1:
        return keep(builder_.node("Add", "add", {a, b}), either);
      case 2:
        return keep(builder_.node("Sum", "sum", {a, b, a}), either);
      case 3:
        return keep(builder_.node("Reshape", "reshape", {a}), size);
      case 4:
        return keep(builder_.node("Identity", "identity", {a}), size);
      case 5:
        return keep(builder_.node("MatMul", "matmul", {a, b}), other);
      case 6:
        return keep(builder_.node("Where", "where", {a, b, a}), either);
      default:
        break;
    }
    const auto halves = builder_.node_with_outputs("Split", "split", {a}, 2);
    keep(halves[0], 16);
    keep(halves[1], other);
  }

  void add_extra_output() {
    const ValueId id = any();
    const bool is_fresh =
        id != constant_ && id != values_.back() && outputs_.insert(id.number).second;
    if (is_fresh) builder_.output(id, "extra");
  }

  std::mt19937_64 random_;
  GraphBuilder builder_;
  ValueId constant_;
  std::vector<ValueId> values_;
  std::map<std::uint32_t, std::int64_t> sizes_;
  std::set<std::uint32_t> outputs_;
};

class ToyArena {
 public:
  ToyArena(const Inferred& model, const MemoryPlan& plan)
      : graph_(model.graph),
        plan_(plan),
        marks_(static_cast<std::size_t>(plan.arena_bytes / 64), 0),
        expected_(model.graph.value_count(), 0) {}

  // The first read that finds other bytes than were written, or nothing.
  std::string run() {
    for (const ValueId input : graph_.inputs()) write(input);
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      const std::string damage = run_node(graph_.node(NodeId{i}));
      if (!damage.empty()) return damage;
    }
    for (const ValueId output : graph_.outputs()) {
      if (!is_intact(output)) return "output " + graph_.value(output).name;
    }
    return "";
  }

 private:
  std::string run_node(const Node& node) {
    for (const ValueId input : node.inputs) {
      if (!is_intact(input)) return node.name + " reads " + graph_.value(input).name;
    }
    const bool is_view = node.op == "Reshape" || node.op == "Identity";
    if (is_view && has_bytes(node.inputs[0])) {
      expected_[node.outputs[0].number] = expected_[node.inputs[0].number];
      return is_intact(node.outputs[0]) ? "" : node.name + " shows other bytes";
    }
    for (const ValueId output : node.outputs) write(output);
    return "";
  }

  bool has_bytes(ValueId id) const { return plan_.buffer_of[id.number] != MemoryPlan::kNoBuffer; }

  std::span<int> place(ValueId id) {
    if (!has_bytes(id)) return {};
    const Buffer& buffer = plan_.buffers[plan_.buffer_of[id.number]];
    return std::span(marks_).subspan(static_cast<std::size_t>(buffer.offset / 64),
                                     static_cast<std::size_t>(buffer.bytes / 64));
  }

  void write(ValueId id) {
    expected_[id.number] = ++mark_;
    std::ranges::fill(place(id), mark_);
  }

  bool is_intact(ValueId id) {
    return std::ranges::all_of(place(id), [&](int mark) { return mark == expected_[id.number]; });
  }

  const Graph& graph_;
  const MemoryPlan& plan_;
  std::vector<int> marks_;  // one for every 64 bytes
  std::vector<int> expected_;
  int mark_ = 0;
};

TEST(Memory, RandomGraphsReadWhatWasWritten) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Inferred model = RandomGraph(seed).make(1 + seed % 80);
    const MemoryPlan plan = plan_memory(model);
    ASSERT_EQ(ToyArena(model, plan).run(), "") << "seed " << seed;
    ASSERT_GE(plan.arena_bytes, plan.lower_bound_bytes) << "seed " << seed;
  }
}

TEST(Memory, LiveBytesAreTheBuffersAliveAtEachStep) {
  const Inferred model = RandomGraph(7).make(60);
  const MemoryPlan plan = plan_memory(model);
  for (std::size_t step = 0; step < plan.live_bytes.size(); ++step) {
    std::int64_t alive = 0;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.first_step <= step && step <= buffer.last_step) alive += buffer.bytes;
    }
    EXPECT_EQ(plan.live_bytes[step], alive) << "step " << step;
  }
}

}  // namespace
}  // namespace assay
