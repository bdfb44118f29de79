// Reads devices from JSON. The text is untrusted: every field is checked, and unknown keys are
// errors.
#include <algorithm>

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "base/fail.h"
#include "base/text.h"
#include "store/stored_figures.h"
#include "store/strict_json.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr std::size_t kMostCaches = 100;
constexpr std::size_t kMostDevices = 1000;

void read_peaks(const report::Json& json, const std::string& where, Device& device) {
  const auto known = device_precisions();
  check_object(json, where, {known.begin(), known.end()});
  for (const auto& item : json.items()) {
    Figures figures = figures_of(item.value(), report::FigureUnit::Rate, where + "/" + item.key());
    device.peaks.erase(item.key());
    if (!figures.empty()) device.peaks[item.key()] = std::move(figures);
  }
}

DeviceCache cache_of(const report::Json& json, const std::string& where) {
  check_object(json, where, {"level", "shared_by", "bytes", "bandwidth_gbps"});
  const JsonReader reader(json, where);
  DeviceCache cache{.level = reader.small_count("level")};
  if (cache.level < 1 || cache.level > 9) fail_bad_input("{}: 'level' is not 1 to 9", where);
  if (json.contains("shared_by")) {
    cache.shared_by = reader.small_count("shared_by");
    if (*cache.shared_by < 1) fail_bad_input("{}: 'shared_by' is not 1 or more", where);
  }
  cache.bytes = figures_of(reader.at("bytes"), report::FigureUnit::Bytes, where + "/bytes");
  if (json.contains("bandwidth_gbps")) {
    cache.bandwidth_gbps = figures_of(json.at("bandwidth_gbps"), report::FigureUnit::Bandwidth,
                                      where + "/bandwidth_gbps");
  }
  return cache;
}

std::vector<DeviceCache> caches_of(const report::Json& json, const std::string& where) {
  if (!json.is_array()) fail_bad_input("{}: is not a list", where);
  if (json.size() > kMostCaches) fail_bad_input("{}: has too many levels", where);
  std::vector<DeviceCache> caches;
  for (const report::Json& item : json) {
    caches.push_back(cache_of(item, fmt::format("{}[{}]", where, caches.size())));
  }
  std::ranges::stable_sort(caches, {}, &DeviceCache::level);
  return caches;
}

DeviceKind kind_of(const JsonReader& reader, const std::string& where) {
  const std::string word = reader.text("kind");
  if (const auto kind = device_kind(word)) return *kind;
  const auto known = device_kind_names();
  const auto near = nearest(word, known);
  fail_bad_input("{}: 'kind' is '{}'; {}", where, word,
                 near ? "did you mean '" + *near + "'?" : "there are " + join(known, ", "));
}

std::vector<std::string> device_keys() {
  std::vector<std::string> keys = {"id", "name", "kind", "description", "like", "peaks", "caches"};
  for (const report::DeviceField& field : report::device_fields()) keys.push_back(field.key);
  return keys;
}

std::string id_of(const report::Json& json, const std::string& where) {
  const JsonReader reader(json, where);
  std::string id = text_of_field(reader, "id", where);
  const std::string proper = device_id(id);
  if (id == proper) return id;
  fail_bad_input("{}: 'id' is '{}'; ids are lower case with '-' between words{}", where, id,
                 proper.empty() ? "" : ": '" + proper + "'");
}

// The initial content of an entry: nothing, or a copy of another device.
Device foundation(const report::Json& json, const std::string& where,
                  std::span<const Device> earlier, std::span<const Device> known) {
  if (!json.contains("like")) return {};
  const std::string id = JsonReader(json, where).text("like");
  const auto found = std::ranges::find(earlier, id, &Device::id);
  if (found != earlier.end()) return *found;
  std::vector<Device> candidates(earlier.begin(), earlier.end());
  candidates.insert(candidates.end(), known.begin(), known.end());
  try {
    return find_device(candidates, id);
  } catch (const Error& error) {
    fail_bad_input("{}: 'like': {}", where, error.what());
  }
}

void read_figures(const report::Json& json, const std::string& where, Device& device) {
  for (const report::DeviceField& field : report::device_fields()) {
    if (!json.contains(field.key)) continue;
    device.*field.figures = figures_of(json.at(field.key), field.unit, where + ": " + field.key);
  }
  if (json.contains("peaks")) read_peaks(json.at("peaks"), where + ": peaks", device);
  if (json.contains("caches")) device.caches = caches_of(json.at("caches"), where + ": caches");
}

Device device_of(const report::Json& json, const std::string& where, Device device) {
  const JsonReader reader(json, where);
  const bool is_new = device.id.empty();
  device.id = id_of(json, where);
  if (is_new || json.contains("name")) device.name = text_of_field(reader, "name", where);
  if (is_new || json.contains("kind")) device.kind = kind_of(reader, where);
  if (json.contains("description")) {
    device.description = text_of_field(reader, "description", where);
  }
  read_figures(json, where, device);
  return device;
}

std::string place_of(const report::Json& json, const std::string& file, std::size_t index) {
  const bool has_id = json.is_object() && json.contains("id") && json.at("id").is_string();
  if (!has_id) return fmt::format("{}: devices[{}]", file, index);
  return fmt::format("{}: device '{}'", file, json.at("id").get<std::string>().substr(0, 100));
}

const report::Json& list_of(const report::Json& root, const std::string& file) {
  check_object(root, file, {"schema", "devices", "warnings"});
  const JsonReader reader(root, file);
  reader.check_schema(report::kDevicesSchema, "list of devices", "assay devices --json");
  const report::Json& list = reader.at("devices");
  if (!list.is_array()) fail_bad_input("{}: 'devices' is not a list", file);
  if (list.empty()) fail_bad_input("{}: 'devices' is empty", file);
  if (list.size() > kMostDevices) {
    fail_bad_input("{}: has {} devices, more than the {} that are read", file, list.size(),
                   kMostDevices);
  }
  return list;
}

}  // namespace

std::vector<Device> parse_devices_json(std::string_view text, const std::string& described_as,
                                       std::span<const Device> known) {
  const report::Json root = strict_json(text, described_as);
  std::vector<Device> devices;
  for (const report::Json& json : list_of(root, described_as)) {
    const std::string where = place_of(json, described_as, devices.size());
    check_object(json, where, device_keys());
    Device device = device_of(json, where, foundation(json, where, devices, known));
    if (std::ranges::count(devices, device.id, &Device::id) > 0) {
      fail_bad_input("{}: there are two of this id", where);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

}  // namespace assay
