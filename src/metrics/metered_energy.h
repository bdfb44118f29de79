// The energy of one run, by the machine's meter.
#pragma once

#include "assay/energy.h"
#include "assay/graph.h"
#include "assay/model_inputs.h"
#include "assay/program.h"

namespace assay::metrics {

// Without a meter, a note that says why there is none.
EnergyEstimate metered_energy(const Graph& model, const ModelInputs& inputs,
                              const ProgramOptions& options);

}  // namespace assay::metrics
