// The sources of meters: one function per source. Each adds to `found` the meters it finds, a note
// for those that cannot be used, or one sentence for what is absent.
#pragma once

#include <functional>
#include <memory>

#include "machine/system_files.h"

namespace assay::machine {

// What `vcgencmd pmic_read_adc` printed; nothing if it could not be run.
using RunPmic = std::function<std::optional<std::string>()>;
// The address of a function in a shared library, null if there is none of that name.
using FindSymbol = std::function<void*(const char* name)>;
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

EnergyMeters find_energy_meters(const MeterSources& sources);

}  // namespace assay::machine
