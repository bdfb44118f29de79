// Exporters may leave a model in training mode: batch norms use the statistics of their batch,
// dropouts drop.
#pragma once

#include "assay/graph.h"

namespace assay::transform {

// The same model in inference mode: batch norms use their running statistics, dropouts do nothing.
// A batch norm whose statistics are read stays as it is, and so do bodies of If, Loop and Scan.
// Values keep their ids.
Graph in_inference_mode(const Graph& graph);

}  // namespace assay::transform
