#include "assay/device.h"

#include <algorithm>
#include <array>

namespace assay {

namespace {

const std::array<std::string, 9> kKindNames = {"microcontroller", "single-board", "accelerator",
                                               "phone",           "laptop",       "desktop",
                                               "server",          "gpu",          "machine"};
const std::array<std::string, 4> kPrecisions = {"fp32", "fp16", "bf16", "int8"};

}  // namespace

double Derivation::value() const {
  constexpr double kBitsInAByte = 8;
  const double product = units * ghz * per_cycle;
  return kind == Kind::Bus ? product / kBitsInAByte : product;
}

Figures ranked(Figures figures) {
  std::ranges::stable_partition(figures, [](const Figure& figure) {
    return figure.provenance == FigureProvenance::Measured;
  });
  return figures;
}

std::optional<Figure> best(const Figures& figures) {
  const Figures order = ranked(figures);
  return order.empty() ? std::nullopt : std::optional(order.front());
}

std::span<const std::string> device_precisions() {
  return kPrecisions;
}

std::vector<std::string> precisions_to_try(std::string_view precision) {
  std::vector<std::string> order = {std::string(precision)};
  // Every processor that computes at all converts narrow numbers to fp32 and back.
  if (precision != "fp32") order.push_back("fp32");
  return order;
}

std::optional<PrecisionPeak> peak_for(const Device& device, std::string_view precision) {
  for (const std::string& candidate : precisions_to_try(precision)) {
    const auto known = device.peaks.find(candidate);
    if (known == device.peaks.end()) continue;
    if (auto figure = best(known->second)) return PrecisionPeak{candidate, std::move(*figure)};
  }
  return std::nullopt;
}

std::string_view name(DeviceKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

std::optional<DeviceKind> device_kind(std::string_view name) {
  const auto known = std::ranges::find(kKindNames, name);
  if (known == kKindNames.end()) return std::nullopt;
  return static_cast<DeviceKind>(known - kKindNames.begin());
}

std::span<const std::string> device_kind_names() {
  return kKindNames;
}

std::string_view name(FigureProvenance provenance) {
  return provenance == FigureProvenance::Measured ? "measured" : "theoretical";
}

}  // namespace assay
