// Texas Instruments' INA3221 on Jetson boards: three rails per chip, volts and amperes separate in
// hwmon (in1_input mV, curr1_input mA), or watts in the older iio driver (in_power0_input mW).
//
// Where a rail feeds the whole module (VDD_IN) it alone counts, the others being parts of it.
// Otherwise all count but those fed by another one that is metered.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>

#include "machine/energy/channel_meter.h"
#include "machine/energy/sources.h"

namespace assay::machine {

namespace {

constexpr const char* kHwmon = "/sys/class/hwmon";
constexpr const char* kIio = "/sys/bus/iio/devices";
constexpr double kInaUpdateMs = 100;            // if the driver does not report it
constexpr std::int64_t kMostMilli = 1'000'000;  // implausible volts or amperes are damage

struct Rail {
  std::string name;
  ReadChannel read;
};

bool feeds_everything(const Rail& rail) {
  return rail.name == "VDD_IN" || rail.name == "POM_5V_IN" || rail.name == "VDD_SYS_IN";
}

bool is_fed_by_another(const Rail& rail) {
  return rail.name == "VDDQ_VDD2_1V8AO";
}

// mV times mA is µW. A rail without load may report a few mA below 0.
MeterValue power_of(const SystemFiles& files, const std::string& volts, const std::string& amps) {
  MeterValue voltage = read_count(files, volts);
  if (!voltage.value) return voltage;
  MeterValue current = read_whole(files, amps);
  if (!current.value) return current;
  if (*voltage.value > kMostMilli || std::abs(*current.value) > kMostMilli) {
    return {.why_not = fmt::format("'{}' and '{}' hold more than a board can take", volts, amps)};
  }
  return {.value = *voltage.value * *current.value};
}

// in4 to in7 are shunt voltages, not rails.
void add_hwmon_rails(const std::shared_ptr<const SystemFiles>& files, const std::string& folder,
                     std::vector<Rail>& rails) {
  for (int number = 1; number <= 3; ++number) {
    const std::string volts = fmt::format("{}/in{}_input", folder, number);
    const std::string amps = fmt::format("{}/curr{}_input", folder, number);
    const auto label = first_line(*files, fmt::format("{}/in{}_label", folder, number));
    const bool is_wired = label != "NC" && files->read(volts).text;
    if (!is_wired) continue;
    rails.push_back({label.value_or(fmt::format("rail {}", number)),
                     [files, volts, amps] { return power_of(*files, volts, amps); }});
  }
}

void add_iio_rails(const std::shared_ptr<const SystemFiles>& files, const std::string& folder,
                   std::vector<Rail>& rails) {
  for (int number = 0; number <= 2; ++number) {
    const auto label = first_line(*files, fmt::format("{}/rail_name_{}", folder, number));
    if (!label || *label == "NC") continue;
    const std::string path = fmt::format("{}/in_power{}_input", folder, number);
    rails.push_back({*label, [files, path] {
                       MeterValue milliwatts = read_count(*files, path);
                       if (milliwatts.value) *milliwatts.value *= 1000;
                       return milliwatts;
                     }});
  }
}

void add_meter(const std::vector<Rail>& rails, double update_ms, EnergyMeters& found) {
  const bool has_whole = std::ranges::any_of(rails, feeds_everything);
  ChannelList list({.source = "INA3221",
                    .kind = MeterKind::Power,
                    .scope = MeterScope::Board,
                    .update_ms = update_ms},
                   found);
  for (const Rail& rail : rails) {
    const bool is_counted = has_whole ? feeds_everything(rail) : !is_fed_by_another(rail);
    list.add({.name = rail.name, .is_counted = is_counted}, rail.read);
  }
  list.finish();
}

}  // namespace

void find_ina3221(const MeterSources& sources, EnergyMeters& found) {
  const auto files = sources.files;
  std::vector<Rail> rails;
  double update_ms = kInaUpdateMs;
  for (const std::string& chip : files->names(kHwmon)) {
    const std::string folder = fmt::format("{}/{}", kHwmon, chip);
    if (first_line(*files, folder + "/name") != "ina3221") continue;
    add_hwmon_rails(files, folder, rails);
    const auto update = read_count(*files, folder + "/update_interval").value;
    if (update) update_ms = std::max(update_ms, static_cast<double>(*update));
  }
  if (rails.empty()) {
    for (const std::string& device : files->names(kIio)) {
      add_iio_rails(files, fmt::format("{}/{}", kIio, device), rails);
    }
  }
  if (rails.empty()) found.absent.emplace_back("no INA3221");
  add_meter(rails, update_ms, found);
}

}  // namespace assay::machine
