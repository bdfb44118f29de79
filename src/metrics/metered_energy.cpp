#include "metrics/metered_energy.h"

#include "profile/compiled_model.h"
#include "profile/own_ceilings.h"

namespace assay::metrics {

EnergyEstimate metered_energy(const Graph& model, const ModelInputs& inputs,
                              const ProgramOptions& options) {
  const EnergyMeters found = find_energy_meters();
  EnergyMeter* meter = profile::runs_on_gpu(options) ? gpu_meter(found) : primary_meter(found);
  if (meter == nullptr) return {.note = why_no_meter(found)};
  const auto program = profile::compiled_for(model, inputs, options);
  return energy_per_run(measure_energy(*meter, [&] { program->run(); }));
}

}  // namespace assay::metrics
