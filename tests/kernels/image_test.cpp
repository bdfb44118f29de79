// Resize, Upsample, GridSample, AffineGrid, DepthToSpace and SpaceToDepth.
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

const Tensor kLine = real_tensor({4}, {1, 2, 3, 4});

Case resized_to(std::int64_t size, std::vector<Attribute> attributes, Tensor roi = Tensor()) {
  return {"Resize", {kLine, roi, Tensor(), long_tensor({1}, {size})}, std::move(attributes), 19};
}

Attribute coordinates(const char* mode) {
  return text("coordinate_transformation_mode", mode);
}

TEST(Resize, NearestModesDecideHalves) {
  // Two of four: the places are (0 + ½) · 2 - ½ = 0.5 and 2.5.
  const auto nearest = [](const char* mode) {
    return result_of(resized_to(2, {text("nearest_mode", mode)})).to_double();
  };
  EXPECT_EQ(nearest("round_prefer_floor"), (Numbers{1, 3}));
  EXPECT_EQ(nearest("round_prefer_ceil"), (Numbers{2, 4}));
  EXPECT_EQ(nearest("floor"), (Numbers{1, 3}));
  EXPECT_EQ(nearest("ceil"), (Numbers{2, 4}));
  EXPECT_THROW(nearest("closest"), Error);
}

TEST(Resize, CoordinatesAreTransformed) {
  const auto linear = [](std::int64_t size, const char* mode) {
    return result_of(resized_to(size, {text("mode", "linear"), coordinates(mode)}));
  };
  expect_near(linear(2, "half_pixel"), {1.5, 3.5});
  expect_near(linear(2, "asymmetric"), {1, 3});
  expect_near(linear(7, "align_corners"), {1, 1.5, 2, 2.5, 3, 3.5, 4});
  expect_near(linear(1, "pytorch_half_pixel"), {1});
  expect_near(linear(1, "half_pixel"), {2.5});
  EXPECT_THROW(linear(2, "anything"), Error);
}

TEST(Resize, CropsAndExtrapolates) {
  // From 0 to 1.5 of the last place, 3: places 0, 2.25 and 4.5, which is outside.
  const Case test = resized_to(3,
                               {text("mode", "linear"), coordinates("tf_crop_and_resize"),
                                real_number("extrapolation_value", -7)},
                               real_tensor({2}, {0, 1.5f}));
  expect_near(result_of(test), {1, 3.25, -7});
  EXPECT_THROW(result_of(resized_to(3, {coordinates("tf_crop_and_resize")})), Error);
}

TEST(Resize, CubicUsesFourNeighbours) {
  // At 1.5 of 0 … 3 the weights of a = -½ are -1/16, 9/16, 9/16, -1/16; what is cut off repeats.
  const Tensor peak = real_tensor({4}, {0, 16, 0, 0});
  const Tensor sizes = long_tensor({1}, {1});
  const std::vector<Attribute> cubic = {text("mode", "cubic"), real_number("cubic_coeff_a", -0.5f)};
  expect_near(result_of({"Resize", {peak, Tensor(), Tensor(), sizes}, cubic, 13}), {9});
}

TEST(Resize, ExcludedNeighboursGiveTheirWeightToTheOthers) {
  const Tensor pair = real_tensor({2}, {0, 16});
  const Case test = {
      "Resize",
      {pair, Tensor(), Tensor(), long_tensor({1}, {1})},
      {text("mode", "cubic"), real_number("cubic_coeff_a", -0.5f), number("exclude_outside", 1)},
      13};
  // Of -1/16, 9/16, 9/16, -1/16 the outer two are gone.
  expect_near(result_of(test), {8});
}

TEST(Resize, AntialiasWidensTheFilter) {
  // One of four: the triangle around 1.5 reaches 4 to either side, and the ends repeat.
  const Case test = resized_to(1, {text("mode", "linear"), number("antialias", 1)});
  expect_near(result_of(test), {2.5});
  const Tensor peak = real_tensor({4}, {0, 1, 0, 0});
  const Case one = {"Resize",
                    {peak, Tensor(), Tensor(), long_tensor({1}, {2})},
                    {text("mode", "linear"), number("antialias", 1)},
                    18};
  // At 0.5 with half the steepness: weights 1/4, 3/4, 3/4, 1/4 of sum 2.
  expect_near(result_of(one), {3.0 / 8, 1.0 / 8});
}

TEST(Resize, KeepsTheAspectOfChosenAxes) {
  const Tensor image = real_tensor({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto dims = [&](const char* policy) {
    const Case test = {"Resize",
                       {image, Tensor(), Tensor(), long_tensor({2}, {4, 4})},
                       {list("axes", {0, 1}), text("keep_aspect_ratio_policy", policy)},
                       18};
    return result_of(test).dims();
  };
  EXPECT_EQ(dims("stretch"), (Sizes{4, 4}));
  EXPECT_EQ(dims("not_larger"), (Sizes{2, 4}));
  EXPECT_EQ(dims("not_smaller"), (Sizes{4, 8}));
  EXPECT_THROW(dims("roughly"), Error);
}

TEST(Resize, WholeNumbersAreNotChangedByPicking) {
  const Tensor large = long_tensor({1}, {INT64_MAX});
  const Tensor scales = real_tensor({1}, {2});
  EXPECT_EQ(result_of({"Resize", {large, Tensor(), scales}}).to_int64(),
            (Sizes{INT64_MAX, INT64_MAX}));
}

TEST(Resize, OldFormsTakeTheElementBefore) {
  const Tensor scales = real_tensor({1}, {1.5f});
  EXPECT_EQ(result_of({"Resize", {kLine, scales}, {}, 10}).to_double(),
            (Numbers{1, 1, 2, 3, 3, 4}));
  EXPECT_EQ(result_of({"Upsample", {kLine, scales}, {}, 9}).to_double(),
            (Numbers{1, 1, 2, 3, 3, 4}));
  const Attribute attribute = {"scales", std::vector<float>{2}};
  expect_near(result_of({"Upsample", {kLine}, {text("mode", "linear"), attribute}, 7}),
              {1, 1.5, 2, 2.5, 3, 3.5, 4, 4});
}

TEST(Resize, RefusesWhatDoesNotFit) {
  const auto scaled = [](float scale) {
    return result_of({"Resize", {kLine, Tensor(), real_tensor({1}, {scale})}});
  };
  EXPECT_THROW(scaled(0), Error);
  EXPECT_THROW(scaled(-1), Error);
  EXPECT_THROW(scaled(1e30f), Error);
  EXPECT_THROW(scaled(std::numeric_limits<float>::quiet_NaN()), Error);
  EXPECT_THROW(result_of({"Resize", {kLine}}), Error);
  EXPECT_THROW(result_of(resized_to(-1, {})), Error);
  EXPECT_THROW(result_of(resized_to(2, {list("axes", {0, 0})})), Error);
  EXPECT_THROW(result_of({"Resize", {kLine, Tensor(), real_tensor({2}, {1, 1})}}), Error);
}

const Tensor kSquare = real_tensor({1, 1, 2, 2}, {1, 2, 3, 4});

Numbers sampled(float x, float y, std::vector<Attribute> attributes) {
  const Tensor grid = real_tensor({1, 1, 1, 2}, {x, y});
  return result_of({"GridSample", {kSquare, grid}, std::move(attributes)}).to_double();
}

TEST(GridSample, ReadsBetweenPixels) {
  EXPECT_EQ(sampled(0, 0, {}), (Numbers{2.5}));
  EXPECT_EQ(sampled(1, -1, {number("align_corners", 1)}), (Numbers{2}));
  EXPECT_EQ(sampled(0.5f, 0.5f, {text("mode", "nearest")}), (Numbers{4}));
}

TEST(GridSample, PadsWhatLiesOutside) {
  // -1 is the outer edge of the first pixel: half of it is outside.
  EXPECT_EQ(sampled(-1, -1, {}), (Numbers{0.25}));
  EXPECT_EQ(sampled(-1, -1, {text("padding_mode", "border")}), (Numbers{1}));
  EXPECT_EQ(sampled(-1, -1, {text("padding_mode", "reflection")}), (Numbers{1}));
  EXPECT_EQ(sampled(-5, -5, {}), (Numbers{0}));
  // Mirrors stand at the outer edges: 1.5 beyond them comes back to the middle of the second.
  EXPECT_EQ(sampled(2.5f, 2.5f, {text("padding_mode", "reflection"), text("mode", "nearest")}),
            (Numbers{1}));
}

TEST(GridSample, PlacesThatAreNoNumbersAreOutside) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(sampled(nan, 0, {}), (Numbers{0}));
  EXPECT_EQ(sampled(1e30f, 0, {}), (Numbers{0}));
  EXPECT_THROW(sampled(0, 0, {text("mode", "round")}), Error);
}

TEST(AffineGrid, MovesARegularGrid) {
  const Tensor shift = real_tensor({1, 2, 3}, {1, 0, 10, 0, 1, 20});
  const Tensor size = long_tensor({4}, {1, 1, 1, 2});
  EXPECT_EQ(result_of({"AffineGrid", {shift, size}, {}, 20}).to_double(),
            (Numbers{10 - 0.5, 20, 10 + 0.5, 20}));
  EXPECT_EQ(result_of({"AffineGrid", {shift, size}, {number("align_corners", 1)}, 20}).to_double(),
            (Numbers{10 - 1, 20, 10 + 1, 20}));
  EXPECT_THROW(result_of({"AffineGrid", {shift, long_tensor({2}, {1, 1})}}), Error);
}

TEST(Blocks, ChannelsBecomePixelsAndBack) {
  const Tensor deep = real_tensor({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Attribute block = number("blocksize", 2);
  const Tensor wide = result_of({"DepthToSpace", {deep}, {block}});
  EXPECT_EQ(wide.dims(), (Sizes{1, 2, 2, 2}));
  EXPECT_EQ(wide.to_double(), (Numbers{0, 2, 4, 6, 1, 3, 5, 7}));
  EXPECT_EQ(result_of({"DepthToSpace", {deep}, {block, text("mode", "CRD")}}).to_double(),
            (Numbers{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(result_of({"SpaceToDepth", {wide}, {block}}), deep);
  EXPECT_THROW(result_of({"DepthToSpace", {deep}, {number("blocksize", 3)}}), Error);
  EXPECT_THROW(result_of({"DepthToSpace", {deep}, {number("blocksize", 0)}}), Error);
  EXPECT_THROW(result_of({"SpaceToDepth", {deep}, {number("blocksize", INT64_MAX)}}), Error);
}

}  // namespace
}  // namespace assay
