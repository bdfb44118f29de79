// Exporters may leave a model as it was trained: batch norms go by the statistics of their batch,
// dropouts drop.
#pragma once

#include "assay/graph.h"

namespace assay::transform {

// The same model as it is to be run: batch norms by their running statistics, dropouts idle. A
// batch norm whose statistics somebody reads stays as it is, and so do bodies of If, Loop and Scan.
// Values keep their ids.
Graph in_inference_mode(const Graph& graph);

}  // namespace assay::transform
