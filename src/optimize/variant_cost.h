// What a version costs: counted, planned and measured on this machine, or predicted for a device.
#pragma once

#include "assay/optimize.h"

namespace assay::optimize {

VariantCost cost_of(const Graph& version, const OptimizeOptions& options, Progress* progress);

// `fit_model` knows half precision and int8 as properties of a float model, other versions as they
// are: `float_version` is the version before its precision changed.
DeviceFit fit_on(const TargetDevice& target, const Graph& version, const Graph& float_version,
                 VariantPrecision precision, const Bindings& bindings);

}  // namespace assay::optimize
