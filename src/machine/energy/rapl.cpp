// Intel's and AMD's running average power limit, through Linux's powercap.
//
// "intel-rapl:0" is a package (or psys, the whole platform), "intel-rapl:0:1" a part of one.
// Packages count. Parts are shown beside them: cores lie within the package, while memory ("dram")
// is beside it on servers and within it on some others. psys is shown and never counted, since it
// is missing on most machines, and figures of two machines would not compare.
#include <fmt/core.h>

#include <algorithm>

#include "machine/energy/channel_meter.h"
#include "machine/energy/sources.h"

namespace assay::machine {

namespace {

constexpr const char* kPowercapFolder = "/sys/class/powercap";
constexpr std::string_view kPrefix = "intel-rapl:";  // not intel-rapl-mmio: the same packages again

std::string zone_name(const SystemFiles& files, const std::string& zone) {
  return first_line(files, fmt::format("{}/{}/name", kPowercapFolder, zone)).value_or(zone);
}

bool is_part(const std::string& zone) {
  return std::ranges::count(zone, ':') > 1;
}

MeterChannel channel_of(const SystemFiles& files, const std::string& zone) {
  const std::string own = zone_name(files, zone);
  const std::string whole = zone.substr(0, zone.rfind(':'));
  return {
      .name = is_part(zone) ? zone_name(files, whole) + " " + own : own,
      .is_counted = !is_part(zone) && own.starts_with("package"),
      .range =
          read_count(files, fmt::format("{}/{}/max_energy_range_uj", kPowercapFolder, zone)).value};
}

}  // namespace

void find_rapl(const MeterSources& sources, EnergyMeters& found) {
  const auto files = sources.files;
  ChannelList list({.source = "RAPL", .kind = MeterKind::Energy, .update_ms = 1}, found);
  bool is_there = false;
  for (const std::string& zone : files->names(kPowercapFolder)) {
    if (!zone.starts_with(kPrefix)) continue;
    is_there = true;
    const std::string path = fmt::format("{}/{}/energy_uj", kPowercapFolder, zone);
    list.add(channel_of(*files, zone), [files, path] {
      return read_count(*files, path, fmt::format("{}/{}*/energy_uj", kPowercapFolder, kPrefix));
    });
  }
  if (!is_there) found.absent.emplace_back("no RAPL");
  list.finish();
}

}  // namespace assay::machine
