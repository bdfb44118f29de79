// The layer-wise view of a model: what each layer with weights or MACs holds and does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay {

struct LayerEstimate {
  std::string layer;
  std::int64_t output_elements = 0;
  std::int64_t parameter_bytes = 0;
  std::int64_t activation_bytes = 0;
  std::int64_t macs = 0;
};

// One entry for each node that has parameters or MACs, in execution order. `input_shape` is one
// sample's, without the batch, for the graph's first input. Activation bytes are output elements
// × `activation_bytes_per_value`, by default the width of the layer's own parameters. A layer that
// has none, or some of several widths, takes the width of its first output's data type. A model
// with neither parameters nor MACs is an Error that says so.
std::vector<LayerEstimate> estimate_layerwise_stats(
    const Graph& model, std::int64_t batch_size,
    const std::vector<std::int64_t>& input_shape = {1, 28, 28},
    std::optional<std::int64_t> activation_bytes_per_value = std::nullopt);

}  // namespace assay
