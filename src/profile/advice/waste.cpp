// Arithmetic that no result needs: tiles that overhang the image, padding that is multiplied, lanes
// of vectors that stay empty.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/lanes.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

// A group of steps with the share of each one's time that is wasted.
struct Wasteful {
  StepGroup steps = {};
  double wasted_ms = 0;
};

template <typename ShareWasted>
Wasteful wasteful(const RunFacts& facts, const ShareWasted& share_wasted, double least_share) {
  Wasteful found;
  found.steps = facts.where([&](const StepFacts& step) {
    if (!step.is_bound_by(Bound::Compute) || step.is_reorder() || step.fell_back()) return false;
    return share_wasted(step) > least_share;
  });
  for (const StepFacts& step : found.steps) found.wasted_ms += step.time_ms() * share_wasted(step);
  return found;
}

// --- tiles and padding

std::int64_t rounded_up(std::int64_t number, std::int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

struct TileSize {
  std::int64_t height = 1;
  std::int64_t width = 1;
};

// "winograd 4x4"
std::optional<TileSize> tile_of(const std::string& algorithm) {
  constexpr std::string_view kPrefix = "winograd ";
  if (!algorithm.starts_with(kPrefix)) return {};
  const auto sizes = split(std::string_view(algorithm).substr(kPrefix.size()), 'x');
  if (sizes.size() != 2) return {};
  const auto height = parse_integer(sizes[0]);
  const auto width = parse_integer(sizes[1]);
  if (!height || !width || *height < 1 || *width < 1) return {};
  return TileSize{*height, *width};
}

struct Pixels {
  std::int64_t height = 0;
  std::int64_t width = 0;

  double count() const { return static_cast<double>(height) * static_cast<double>(width); }
  std::string text() const { return fmt::format("{}x{}", height, width); }
};

std::optional<Pixels> image_of(const LayerCost& cost) {
  if (!cost.output_shape || cost.output_shape->rank() != 4) return {};
  const Pixels image{(*cost.output_shape)[2].value(), (*cost.output_shape)[3].value()};
  return image.height > 0 && image.width > 0 ? std::optional(image) : std::nullopt;
}

Pixels covered_by(const TileSize& tile, const Pixels& image) {
  return {rounded_up(image.height, tile.height), rounded_up(image.width, tile.width)};
}

// The share of the pixels covered by tiles that lie beyond the image.
double share_overhanging(const LayerCost& cost, const TileSize& tile) {
  const auto image = image_of(cost);
  return image ? 1 - image->count() / covered_by(tile, *image).count() : 0.0;
}

double share_of_padding(const LayerCost& cost) {
  if (cost.macs <= 0 || cost.effective_macs <= 0 || !image_of(cost)) return 0;
  return 1 - static_cast<double>(cost.effective_macs) / static_cast<double>(cost.macs);
}

// Tiles compute what lies beyond the image; im2col multiplies padding like anything else. Direct
// convolutions do neither.
double share_without_use(const StepFacts& step) {
  const std::string& algorithm = step.step->info.algorithm;
  if (const auto tile = tile_of(algorithm)) return share_overhanging(step.layer->cost, *tile);
  return algorithm.starts_with("im2col") ? share_of_padding(step.layer->cost) : 0.0;
}

// Only for wasteful steps, which all have images.
std::string waste_text(const StepFacts& step) {
  const std::string& algorithm = step.step->info.algorithm;
  const Pixels image = *image_of(step.layer->cost);
  const double percent = 100 * share_without_use(step);
  if (const auto tile = tile_of(algorithm)) {
    return fmt::format("{} covers {} pixels with tiles for {}, {:.0f} % of them beyond the image",
                       algorithm, image.text(), covered_by(*tile, image).text(), percent);
  }
  return fmt::format("{} on {} pixels spends {:.0f} % of its multiplications on padding", algorithm,
                     image.text(), percent);
}

std::string fitting_text(const StepFacts& step) {
  const Pixels image = *image_of(step.layer->cost);
  const auto tile = tile_of(step.step->info.algorithm);
  if (!tile) return "let images shrink later, so that fewer pixels lie at the border";
  return fmt::format(
      "choose the input's size, or where images shrink, so that tiles fit: {} pixels cost no more "
      "here than {}",
      covered_by(*tile, image).text(), image.text());
}

// --- channels

bool counts_in_lanes(const LayerCost& cost) {
  return cost.op == "Conv" || cost.op == "Gemm" || cost.op == "MatMul";
}

std::optional<std::int64_t> output_channels(const LayerCost& cost) {
  if (!counts_in_lanes(cost) || cost.form.starts_with("grouped")) return {};
  if (!cost.output_shape || cost.output_shape->rank() < 2) return {};
  const std::size_t axis = cost.op == "Conv" ? 1 : cost.output_shape->rank() - 1;
  const std::int64_t channels = (*cost.output_shape)[axis].value();
  return channels > 0 ? std::optional(channels) : std::nullopt;
}

// Fewer channels than one vector have another layout, without known waste. A layer that comes
// nearer its ceiling than empty lanes allow has none.
double share_of_empty_lanes(const StepFacts& step, std::int64_t lanes) {
  const auto channels = output_channels(step.layer->cost);
  if (!channels || *channels <= lanes) return 0;
  const double empty =
      1 - static_cast<double>(*channels) / static_cast<double>(rounded_up(*channels, lanes));
  const double unreached = 1 - step.step->rates.percent_of_ceiling.value_or(0) / 100;
  return unreached < empty ? 0.0 : empty;
}

}  // namespace

std::optional<Advice> padding_waste(const RunFacts& facts) {
  constexpr double kLeastWaste = 0.15;
  const Wasteful found = wasteful(facts, share_without_use, kLeastWaste);
  if (found.steps.empty()) return {};
  const double time_ms = total_ms(found.steps);
  Advice advice{.layers = layer_names(found.steps)};
  advice.reason = fmt::format("{}, {:.0f} % of it wasted: {}", facts.time_text(time_ms),
                              100 * found.wasted_ms / time_ms, waste_text(found.steps.front()));
  advice.action =
      fmt::format("{}; without the waste {} would be left", fitting_text(found.steps.front()),
                  duration_text(time_ms - found.wasted_ms));
  advice.saving_ms = found.wasted_ms;
  return advice;
}

std::optional<Advice> odd_channels(const RunFacts& facts) {
  constexpr double kLeastWaste = 0.1;
  constexpr double kLeastShare = 0.02;
  const auto lanes = vector_lanes(facts.roofline().instruction_set);
  if (!lanes) return {};
  const auto share_wasted = [&](const StepFacts& step) {
    return facts.share(step.time_ms()) > kLeastShare ? share_of_empty_lanes(step, *lanes) : 0.0;
  };
  const Wasteful found = wasteful(facts, share_wasted, kLeastWaste);
  if (found.steps.empty()) return {};
  const StepFacts& slowest = found.steps.front();
  const std::int64_t channels = output_channels(slowest.layer->cost).value_or(0);
  const std::int64_t above = rounded_up(channels, *lanes);
  Advice advice{.layers = layer_names(found.steps)};
  advice.reason =
      fmt::format("{}: {} output channels in the slowest fill {} vectors of {} ({}) to {:.0f} %",
                  facts.time_text(total_ms(found.steps)), channels, above / *lanes, *lanes,
                  facts.roofline().instruction_set, 100 * (1 - share_wasted(slowest)));
  advice.action = fmt::format(
      "{} channels take {:.0f} % less time, {} take no more than {} do now; full vectors save "
      "{}",
      above - *lanes, 100.0 * static_cast<double>(*lanes) / static_cast<double>(above), above,
      channels, duration_text(found.wasted_ms));
  advice.saving_ms = found.wasted_ms;
  return advice;
}

}  // namespace assay::profile
