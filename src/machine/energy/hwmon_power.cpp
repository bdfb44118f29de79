// Power sensors of Linux's hwmon: power1_input (now) or power1_average, in microwatts. Each chip is
// a separate meter, because only its name tells what it covers. Where a sensor is labelled as the
// total, the others of the chip are parts of it.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "machine/energy/channel_meter.h"
#include "machine/energy/sources.h"

namespace assay::machine {

namespace {

constexpr const char* kHwmonFolder = "/sys/class/hwmon";
constexpr double kHwmonUpdateMs = 100;  // if the driver does not report it

MeterScope scope_of(std::string_view chip) {
  constexpr std::array<std::string_view, 4> kAccelerators = {"amdgpu", "i915", "xe", "nouveau"};
  constexpr std::array<std::string_view, 2> kBoards = {"power_meter", "macsmc_hwmon"};
  if (std::ranges::find(kAccelerators, chip) != kAccelerators.end()) return MeterScope::Accelerator;
  if (std::ranges::find(kBoards, chip) != kBoards.end()) return MeterScope::Board;
  return MeterScope::Other;
}

// "power1_input", and "power2_average" where 2 has no input.
std::vector<std::string> sensors(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    const std::string base = name.substr(0, name.find('_'));
    if (!base.starts_with("power")) continue;
    const bool has_input = std::ranges::find(names, base + "_input") != names.end();
    if (name == base + (has_input ? "_input" : "_average")) found.push_back(name);
  }
  return found;
}

struct Sensor {
  std::string file;
  std::string label;
};

bool is_total(const Sensor& sensor) {
  return sensor.label.find("total") != std::string::npos;
}

std::vector<Sensor> labelled_sensors(const SystemFiles& files, const std::string& folder) {
  std::vector<Sensor> found;
  for (const std::string& file : sensors(files.names(folder))) {
    const std::string base = file.substr(0, file.find('_'));
    const auto label = first_line(files, fmt::format("{}/{}_label", folder, base));
    found.push_back({file, label.value_or(base)});
  }
  return found;
}

void find_chip(const MeterSources& sources, const std::string& folder, EnergyMeters& found) {
  const auto files = sources.files;
  const std::string chip = first_line(*files, folder + "/name").value_or("unnamed");
  const std::vector<Sensor> powers = labelled_sensors(*files, folder);
  if (powers.empty() || chip == "ina3221") return;  // which has its own source
  const auto update = read_count(*files, folder + "/update_interval").value;
  ChannelList list(
      {.source = "hwmon",
       .kind = MeterKind::Power,
       .scope = scope_of(chip),
       .update_ms = update && *update > 0 ? static_cast<double>(*update) : kHwmonUpdateMs},
      found);
  const bool has_total = std::ranges::any_of(powers, is_total);
  for (const Sensor& power : powers) {
    list.add({.name = fmt::format("{} {}", chip, power.label),
              .is_counted = !has_total || is_total(power)},
             [files, path = folder + "/" + power.file] { return read_count(*files, path); });
  }
  list.finish();
}

}  // namespace

void find_hwmon(const MeterSources& sources, EnergyMeters& found) {
  const std::size_t before = found.meters.size() + found.notes.size();
  for (const std::string& chip : sources.files->names(kHwmonFolder)) {
    find_chip(sources, fmt::format("{}/{}", kHwmonFolder, chip), found);
  }
  if (found.meters.size() + found.notes.size() == before) {
    found.absent.emplace_back("no hwmon power sensor");
  }
}

}  // namespace assay::machine
