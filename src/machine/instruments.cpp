#include "assay/counters.h"
#include "assay/machine.h"
#include "base/text.h"

namespace assay {

Instruments find_instruments(const std::string& root) {
  Instruments instruments;
  const EnergyMeters found = find_energy_meters(root);
  for (const auto& meter : found.meters) instruments.meters.push_back(meter->info());
  instruments.meter_notes = found.notes;
  const bool is_unexplained = found.meters.empty() && found.notes.empty();
  if (is_unexplained) instruments.meter_notes = {why_no_meter(found)};
  const Counters counters;
  for (const CounterEvent event : counters.available()) {
    instruments.counters.emplace_back(name(event));
  }
  instruments.has_hardware_counters = counters.has_hardware();
  if (!counters.why_not().empty()) instruments.why_not_counters = join(counters.why_not(), "; ");
  return instruments;
}

}  // namespace assay
