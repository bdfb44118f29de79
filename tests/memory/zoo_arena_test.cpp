// The arena of every built-in network is close to what its busiest step needs.
#include <gtest/gtest.h>

#include "assay/bind.h"
#include "assay/memory.h"
#include "assay/zoo.h"

namespace assay {
namespace {

MemoryPlan planned(const std::string& spec, std::optional<std::int64_t> batch = {}) {
  return plan_memory(infer_shapes(bind_inputs(zoo_model(spec), {.batch = batch}).graph));
}

void expect_tight(const MemoryPlan& plan, const std::string& what) {
  EXPECT_TRUE(plan.unplanned.empty()) << what;
  EXPECT_GE(plan.arena_bytes, plan.lower_bound_bytes) << what;
  EXPECT_LE(plan.arena_bytes * 100, plan.lower_bound_bytes * 105) << what;
  for (std::size_t i = 0; i < plan.buffers.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Buffer& a = plan.buffers[i];
      const Buffer& b = plan.buffers[j];
      const bool apart = a.last_step < b.first_step || b.last_step < a.first_step ||
                         a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset;
      EXPECT_TRUE(apart) << what << ": buffers " << j << " and " << i;
    }
  }
}

TEST(ZooArena, EveryNetworkFitsNearlyItsBusiestStep) {
  for (const ZooEntry& entry : zoo_entries()) {
    expect_tight(planned(entry.name), entry.name);
    expect_tight(planned(entry.name, 8), entry.name + " at batch 8");
  }
}

TEST(ZooArena, ResNet18sPeakIsItsFirstConvolution) {
  // The image, 3·224², and the first convolution's output, 64·112², both in floats.
  const std::int64_t image = 3 * 224 * 224 * 4;
  const std::int64_t features = 64 * 112 * 112 * 4;
  const MemoryPlan plan = planned("resnet18");
  EXPECT_EQ(plan.live_bytes[0], image + features);
  // Batch norm and ReLU work in place; the pool reads 64·112² and writes 64·56².
  EXPECT_EQ(plan.live_bytes[3], features + features / 4);
  EXPECT_EQ(plan.lower_bound_bytes, features + features / 4);
}

TEST(ZooArena, VggsPeakIsTwoFullResolutionMaps) {
  EXPECT_EQ(planned("vgg16").arena_bytes, 2 * std::int64_t{64} * 224 * 224 * 4);
}

TEST(ZooArena, Gpt2sTransposedEmbeddingIsFoldedNotHeldInTheArena) {
  const MemoryPlan plan = planned("gpt2_small");
  const std::int64_t embedding = std::int64_t{50257} * 768 * 4;
  EXPECT_LT(plan.arena_bytes, embedding);
  EXPECT_GE(plan.folded_bytes, embedding);
}

TEST(ZooArena, HalfPrecisionHalvesTheArena) {
  const Inferred model = infer_shapes(zoo_model("vgg16"));
  EXPECT_EQ(plan_memory(model, {.stored_as = DataType::Float16}).arena_bytes * 2,
            plan_memory(model).arena_bytes);
}

}  // namespace
}  // namespace assay
