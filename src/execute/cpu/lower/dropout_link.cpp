#include "execute/cpu/lower/dropout_link.h"

#include <bit>
#include <cstring>

#include "base/checked.h"
#include "kernels/dropout.h"

namespace assay::cpu {

using kernels::DropoutMask;

namespace {

bool is_one_int64(const Lowering& lowering, ValueId value) {
  if (!lowering.is_available(value) || lowering.is_dynamic(value)) return false;
  const Tensor* constant = lowering.constant(value);
  const DataType type =
      constant != nullptr ? constant->type() : lowering.graph().value(value).type.element;
  const Dims dims = lowering.dims(value);
  return type == DataType::Int64 && checked_product(dims) == 1;
}

// The ratio of a standard Dropout, if it trains by a seed.
std::optional<double> trained_ratio(const Lowering& lowering, const Node& node) {
  const bool trains = node.has_input(2) && lowering.number(node.inputs[2]).value_or(0) != 0;
  if (!trains || node.find("seed") == nullptr) return {};
  return node.has_input(1) ? lowering.number(node.inputs[1]) : 0.5;
}

// `step` may be null.
DropoutDraw draw_of(const DropoutSettings& settings, const std::byte* step) {
  std::uint64_t number = 0;
  if (step != nullptr) std::memcpy(&number, step, sizeof(number));
  const DropoutMask mask(settings.ratio, settings.seed, number);
  return {mask.stream(), mask.least(), mask.scale()};
}

}  // namespace

std::optional<DropoutSettings> dropout_settings(const Lowering& lowering, const Node& node) {
  if (node.op != "Dropout" || (node.has_output(1) && lowering.is_read(node.outputs[1]))) return {};
  DropoutSettings settings{.seed = std::bit_cast<std::uint64_t>(node.int_or("seed", 0))};
  if (node.domain == kOwnDomain) {
    if (!is_one_int64(lowering, node.inputs[1])) return {};
    settings.ratio = static_cast<double>(node.float_or("ratio", 0.5f));
    settings.step = node.inputs[1];
  } else if (node.is_standard()) {
    const auto ratio = trained_ratio(lowering, node);
    if (!ratio) return {};
    settings.ratio = *ratio;
  } else {
    return {};
  }
  if (!(settings.ratio >= 0 && settings.ratio < 1)) return {};
  return settings;
}

std::vector<PlacedDropout> placed_dropouts(Lowering& lowering,
                                           const std::map<std::size_t, DropoutSettings>& by_link) {
  std::vector<PlacedDropout> placed;
  for (const auto& [link, settings] : by_link) {
    placed.push_back({link, settings, {}});
    if (settings.step.is_valid()) placed.back().step = lowering.row_major(settings.step);
  }
  return placed;
}

RunLinks::RunLinks(std::vector<Link> links, std::vector<PlacedDropout> dropouts,
                   const Addresses& at)
    : links_(std::move(links)), dropouts_(std::move(dropouts)) {
  for (const PlacedDropout& one : dropouts_) {
    steps_.push_back(one.step ? at.bytes(*one.step) : nullptr);
  }
}

std::span<const Link> RunLinks::of_this_run() {
  for (std::size_t i = 0; i < dropouts_.size(); ++i) {
    links_[dropouts_[i].link].draw = draw_of(dropouts_[i].settings, steps_[i]);
  }
  return links_;
}

}  // namespace assay::cpu
