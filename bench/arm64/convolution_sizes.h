// Equal convolutions in a row, as bench/arm64/instructions.py names them:
// KIND:CHANNELS:SIZE:KERNEL:GROUPS:LAYERS with square images and filters.
#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

namespace assay::bench {

struct ConvolutionSizes {
  std::string kind;  // "conv", "half" or "int8"
  std::int64_t channels = 0, size = 0, kernel = 0, groups = 0, layers = 0;

  std::int64_t weights() const { return channels * (channels / groups) * kernel * kernel; }
};

// Nothing for other names.
inline std::optional<ConvolutionSizes> sizes_of(const std::string& name) {
  ConvolutionSizes sizes;
  sizes.kind = name.substr(0, name.find(':'));
  if (sizes.kind != "conv" && sizes.kind != "half" && sizes.kind != "int8") return {};
  std::istringstream words(name.substr(sizes.kind.size()));
  char colon = 0;
  words >> colon >> sizes.channels >> colon >> sizes.size >> colon >> sizes.kernel >> colon >>
      sizes.groups >> colon >> sizes.layers;
  return words && sizes.groups > 0 ? std::optional(sizes) : std::nullopt;
}

}  // namespace assay::bench
