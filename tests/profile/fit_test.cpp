#include "assay/fit.h"

#include <gtest/gtest.h>

#include "assay/error.h"
#include "assay/layers.h"
#include "assay/zoo.h"
#include "profile/fit/efficiency.h"

namespace assay {

using namespace assay::profile;

namespace {

std::vector<ClassifiedOperator> operators_of_model(const std::string& name) {
  return classified_operators(infer_shapes(zoo_model(name)));
}

TEST(ClassifiedOperators, JoinALayerAndTheActivationThatFollowsIt) {
  const auto operators = operators_of_model("small_cnn");
  std::vector<std::string> classes;
  for (const ClassifiedOperator& fused : operators) classes.push_back(fused.op_class);
  // conv1+relu1, pool1, conv2+relu2, pool2, (flatten costs nothing), classifier
  EXPECT_EQ(classes,
            (std::vector<std::string>{"conv 3x3", "pooling", "conv 3x3", "pooling", "product"}));
  EXPECT_EQ(operators[0].nodes.size(), 2u);
}

TEST(ClassifiedOperators, CoverTheWorkOfTheWholeModel) {
  const auto operators = operators_of_model("resnet18");
  double weights = 0;
  for (const ClassifiedOperator& fused : operators) weights += fused.work.weight_bytes;
  // Batch norms are folded: of 11,689,512 parameters, the 2 · 4,800 of norms became 4,800 biases.
  EXPECT_DOUBLE_EQ(weights, 4.0 * (11'689'512 - 4'800));
}

TEST(ClassifiedOperators, CountTheFewestMultiplicationsOfAWinogradTile) {
  const auto operators = operators_of_model("small_cnn");
  const ClassifiedOperator& conv = operators[2];
  // F(4x4, 3x3): 36 products where 144 would be. Padded positions do not count.
  const double macs = 32.0 * 16 * (14 * 3 - 2) * (14 * 3 - 2);
  EXPECT_DOUBLE_EQ(conv.fewest_flops, 2 * macs / 4);
}

TEST(ClassifiedOperators, OfLowerPrecisionMoveFewerBytes) {
  const auto whole = classified_operators(infer_shapes(zoo_model("mlp")));
  const auto quarter = classified_operators(infer_shapes(zoo_model("mlp")), {.width_factor = 0.25});
  ASSERT_EQ(whole.size(), quarter.size());
  EXPECT_DOUBLE_EQ(quarter[0].work.weight_bytes, whole[0].work.weight_bytes / 4);
  EXPECT_DOUBLE_EQ(quarter[0].work.flops, whole[0].work.flops);
}

EfficiencySample sample(const std::string& family, const std::string& op_class, double flops,
                        double efficiency) {
  return {.family = family,
          .op_class = op_class,
          .flops = flops,
          .weight_bytes = 1000,
          .activation_bytes = 1000,
          .roof_ms = efficiency,
          .time_ms = 1};
}

ClassifiedOperator operator_like(const EfficiencySample& one) {
  ClassifiedOperator fused{.name = "operator", .op_class = one.op_class};
  fused.work = {.flops = one.flops, .weight_bytes = 1000, .read_bytes = 1000};
  return fused;
}

TEST(Efficiency, IsThatOfTheSamplesMostAlike) {
  std::vector<EfficiencySample> samples;
  for (int i = 0; i < 10; ++i) {
    samples.push_back(sample("a", "conv 3x3", 1e6, 0.8));
    samples.push_back(sample("a", "softmax", 1e6, 0.1));
  }
  const Efficiency efficiency(samples);
  EXPECT_NEAR(efficiency.of(operator_like(samples[0])), 0.8, 1e-9);
  EXPECT_NEAR(efficiency.of(operator_like(samples[1])), 0.1, 1e-9);
}

TEST(Efficiency, LeavesOutTheFamilyThatIsPredicted) {
  const std::vector<EfficiencySample> samples = {sample("a", "conv", 1e6, 0.8),
                                                 sample("b", "conv", 1e6, 0.4)};
  EXPECT_NEAR(Efficiency(samples, "a").of(operator_like(samples[0])), 0.4, 1e-9);
}

TEST(Efficiency, EstimatesLeastTimeOverEfficiencyAndTheCostOfStarting) {
  const Roofline roofline{
      .peak_gflops = 1, .levels = {{"DRAM", 0, 1e9, 1e9, 1e9}}, .step_overhead_ms = 0.5};
  const std::vector<EfficiencySample> samples = {sample("a", "conv", 3e6, 0.5)};
  const auto fused = operator_like(samples[0]);  // 3 MFLOP at 1 GFLOP/s: 3 ms at best
  EXPECT_NEAR(estimated_ms({fused, fused}, roofline, Efficiency(samples)), 2 * (3 / 0.5 + 0.5),
              1e-9);
}

Figures figure(double value, FigureProvenance provenance = FigureProvenance::Measured) {
  return {{.value = value, .source = "test", .provenance = provenance}};
}

Device device(double memory_bytes, double gflops = 10, double gbps = 1) {
  Device made{.id = "made-up", .name = "Made up", .kind = DeviceKind::SingleBoard};
  made.cores = figure(1);
  made.memory_bytes = figure(memory_bytes);
  made.memory_bandwidth_gbps = figure(gbps);
  made.peaks["fp32"] = figure(gflops);
  made.power_watts = figure(5);
  return made;
}

Calibration calibration(double efficiency) {
  Calibration made{.threads = 1, .step_overhead_ms = 0};
  made.samples = {sample("a", "product", 1e6, efficiency)};
  made.held_out = {{"a", 10, 11, 1}, {"b", 10, 8, 1}, {"c", 10, 10, 1}};
  return made;
}

Graph linear() {
  return Sequential({Linear(1000, 1000, {.bias = false})});
}

FitReport fitted(const Device& on, FitLimits limits = {}, const std::string& precision = "fp32") {
  FitOptions options{.precision = precision, .limits = limits};
  options.count.bindings.input_shapes["input"] = Shape{1, 1000};
  return fit_model(linear(), "linear", {on}, calibration(0.5), options);
}

TEST(Calibration, ReportsItsOwnErrors) {
  EXPECT_NEAR(calibration(1).median_error(), 0.1, 1e-9);  // of 0.1, 0.2 and 0
  EXPECT_NEAR(calibration(1).wide_error(), 0.1 + 0.8 * 0.1, 1e-9);
}

TEST(Fit, PredictsTimeAndEnergyFromTheDevicesRoofline) {
  const DeviceFit fit = fitted(device(1e9)).devices[0];
  // 4 MB of weights at 1 GB/s, of which 4,000 bytes more are operands: 4 ms at least, 8 at half.
  EXPECT_NEAR(*fit.bound_ms, 4.0, 0.01);
  EXPECT_NEAR(*fit.estimate_ms, 8.0, 0.05);
  EXPECT_LT(*fit.estimate_low_ms, *fit.estimate_ms);
  EXPECT_GT(*fit.estimate_high_ms, *fit.estimate_ms);
  EXPECT_NEAR(*fit.energy_proxy_j, 5 * 8.0 / 1000, 1e-3);
  EXPECT_EQ(fit.verdict, FitVerdict::Fits);
}

TEST(Fit, WritingTakesTimeOnAMeasuredDeviceToo) {
  Device on = device(1e9);
  FitOptions options;
  GraphBuilder builder("wide");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 1'000'000});
  builder.output(builder.node("Concat", "twice", {x, x}, {{"axis", std::int64_t{1}}}), "y");
  Calibration perfect = calibration(1);
  perfect.samples[0].op_class = "Concat";
  const FitReport report = fit_model(builder.finish(), "wide", {on}, perfect, options);
  // 4 MB read and 8 MB written, at 1 GB/s.
  EXPECT_NEAR(*report.devices[0].estimate_ms, 12.0, 0.01);
}

TEST(Fit, ADatasheetsBandwidthCountsForLess) {
  Device on = device(1e9);
  on.memory_bandwidth_gbps = figure(1, FigureProvenance::Theoretical);
  const DeviceFit fit = fitted(on).devices[0];
  EXPECT_NEAR(*fit.bound_ms, 4.0, 0.01);
  EXPECT_NEAR(*fit.estimate_ms, 8.0 / 0.61, 0.1);
}

TEST(Fit, NamesTheLimit) {
  EXPECT_EQ(fitted(device(3e6)).devices[0].verdict, FitVerdict::DoesNotFit);
  EXPECT_EQ(fitted(device(5e6)).devices[0].verdict, FitVerdict::Tight);
  const auto verdict = [](FitLimits limits) { return fitted(device(1e9), limits).devices[0]; };
  EXPECT_EQ(verdict({.max_ms = 20}).verdict, FitVerdict::Fits);
  EXPECT_EQ(verdict({.max_ms = 8.5}).verdict, FitVerdict::Tight);
  EXPECT_EQ(verdict({.max_ms = 5}).verdict, FitVerdict::DoesNotFit);
  EXPECT_NE(verdict({.max_ms = 3}).reason.find("no engine"), std::string::npos);
  EXPECT_EQ(verdict({.max_mb = 3}).verdict, FitVerdict::DoesNotFit);
  EXPECT_EQ(verdict({.max_watts = 4}).verdict, FitVerdict::DoesNotFit);
  EXPECT_EQ(verdict({.max_watts = 5}).verdict, FitVerdict::Fits);
}

TEST(Fit, OfLowerPrecisionNeedsLessMemory) {
  EXPECT_EQ(fitted(device(3e6), {}, "int8").devices[0].verdict, FitVerdict::Fits);
  EXPECT_NEAR(*fitted(device(1e9), {}, "int8").devices[0].bound_ms, 1.0, 0.01);
  EXPECT_THROW(fitted(device(1e9), {}, "int7"), Error);
}

TEST(Fit, WeightsOfAMicrocontrollerLieInItsFlash) {
  Device on = device(100'000);
  on.flash_bytes = figure(16e6);
  EXPECT_EQ(fitted(on).devices[0].verdict, FitVerdict::Fits);
  on.flash_bytes = figure(2e6);
  EXPECT_EQ(fitted(on).devices[0].verdict, FitVerdict::DoesNotFit);
  EXPECT_NE(fitted(on).devices[0].reason.find("flash"), std::string::npos);
}

TEST(Fit, UnknownFiguresAreNotGuessed) {
  Device on = device(1e9);
  on.memory_bandwidth_gbps.clear();
  const DeviceFit fit = fitted(on, {.max_ms = 10}).devices[0];
  EXPECT_FALSE(fit.estimate_ms);
  EXPECT_EQ(fit.verdict, FitVerdict::Unknown);
}

TEST(Fit, RefusesAnInvalidLimit) {
  EXPECT_THROW(fitted(device(1e9), {.max_ms = 0}), Error);
  EXPECT_THROW(fitted(device(1e9), {.max_mb = -1}), Error);
}

}  // namespace
}  // namespace assay
