// The published figures of well-known networks, exactly.
#include <gtest/gtest.h>

#include "assay/bind.h"
#include "assay/cost.h"
#include "assay/zoo.h"

namespace assay {
namespace {

struct Published {
  const char* network = "";
  std::int64_t parameters = 0;
  std::int64_t macs = 0;
};

void PrintTo(const Published& published, std::ostream* out) {
  *out << published.network;
}

class ZooCost : public testing::TestWithParam<Published> {};

TEST_P(ZooCost, HasThePublishedParametersAndMacs) {
  const CostSheet sheet = count_costs(infer_shapes(zoo_model(GetParam().network)));
  EXPECT_EQ(sheet.totals.parameters, GetParam().parameters);
  EXPECT_EQ(sheet.totals.macs, GetParam().macs);
  EXPECT_TRUE(sheet.uncounted.empty());
}

TEST_P(ZooCost, ScalesWithTheBatch) {
  Bindings bindings;
  bindings.batch = 3;
  const auto bound = bind_inputs(zoo_model(GetParam().network), bindings);
  const CostSheet sheet = count_costs(infer_shapes(bound.graph));
  EXPECT_EQ(sheet.totals.parameters, GetParam().parameters);
  EXPECT_EQ(sheet.totals.macs, 3 * GetParam().macs);
}

INSTANTIATE_TEST_SUITE_P(
    , ZooCost,
    testing::Values(
        Published{"resnet18", 11'689'512, 1'814'073'344},
        Published{"resnet50", 25'557'032, 4'089'184'256},
        Published{"vgg16", 138'357'544, 15'470'264'320},
        Published{"mobilenet_v2", 3'504'872, 300'774'272},
        Published{"vit_b16", 86'567'656, 17'563'828'224},
        Published{"gpt2_small", 124'439'808, 16'114'089'984},
        Published{"small_cnn", 20'490, 28 * 28 * 16 * 9 + 14 * 14 * 32 * 16 * 9 + 1568 * 10},
        Published{"small_cnn_gap", 5'130, 28 * 28 * 16 * 9 + 14 * 14 * 32 * 16 * 9 + 32 * 10},
        Published{"lenet5", 61'706,
                  28 * 28 * 6 * 25 + 10 * 10 * 16 * 6 * 25 + 400 * 120 + 120 * 84 + 84 * 10}),
    [](const auto& published) { return std::string(published.param.network); });

TEST(ZooTotals, LayersSumToTheTotalsInEveryNetwork) {
  for (const auto& entry : zoo_entries()) {
    const CostSheet sheet = count_costs(infer_shapes(zoo_model(entry.name)));
    std::int64_t flops = 0;
    std::int64_t parameters = 0;
    for (const auto& layer : sheet.layers) {
      EXPECT_EQ(layer.flops, 2 * layer.macs + layer.bias_flops + layer.other_flops) << layer.name;
      EXPECT_LE(layer.effective_macs, layer.macs) << layer.name;
      flops += layer.flops;
      parameters += layer.parameters;
    }
    EXPECT_EQ(flops, sheet.totals.flops) << entry.name;
    EXPECT_EQ(parameters, sheet.totals.parameters) << entry.name;
    EXPECT_GT(flops, 0) << entry.name;
  }
}

}  // namespace
}  // namespace assay
