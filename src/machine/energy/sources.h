// The sources of meters: one function per source. Each adds to `found` the meters it finds, a note
// for those that cannot be used, or one sentence for what is absent.
#pragma once

#include <functional>
#include <memory>

#include "machine/gpu/nvml.h"
#include "machine/system_files.h"

namespace assay::machine {

// What `vcgencmd pmic_read_adc` printed; nothing if it could not be run.
using RunPmic = std::function<std::optional<std::string>()>;
// Opens a shared library; an empty function if that fails.
using LoadLibrary = std::function<FindSymbol(const char* name)>;

struct MeterSources {
  std::shared_ptr<const SystemFiles> files = {};
  RunPmic run_pmic = {};
  LoadLibrary load_library = {};
};

void find_rapl(const MeterSources& sources, EnergyMeters& found);
void find_hwmon(const MeterSources& sources, EnergyMeters& found);
void find_ina3221(const MeterSources& sources, EnergyMeters& found);
void find_pmic(const MeterSources& sources, EnergyMeters& found);
void find_nvml(const MeterSources& sources, EnergyMeters& found);
std::string nvml_channel(unsigned index);  // "GPU 0": the name of a meter's only channel

EnergyMeters find_energy_meters(const MeterSources& sources);

}  // namespace assay::machine
