#include "assay/device_file.h"

#include "assay/device_list.h"
#include "assay/stored_machine.h"
#include "base/mapped_file.h"
#include "store/device_catalogue_text.h"
#include "store/strict_json.h"

namespace assay {

using namespace assay::store;

namespace {

std::string text_in(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  // One byte more than the limit, so that a file that is too large is detected.
  const auto bytes = file->bytes().first(std::min(file->bytes().size(), kLargestStrictJson + 1));
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  file->check_intact();
  return text;
}

bool is_machine(const report::Json& root) {
  constexpr std::string_view kMachines = "assay.machine/";
  const bool has_schema =
      root.is_object() && root.contains("schema") && root.at("schema").is_string();
  return has_schema && root.at("schema").get<std::string>().starts_with(kMachines);
}

}  // namespace

std::vector<Device> read_device_file(const std::filesystem::path& path,
                                     std::span<const Device> known) {
  const std::string text = text_in(path);
  if (!is_machine(strict_json(text, path.string()))) {
    return parse_devices_json(text, path.string(), known);
  }
  const Machine machine = parse_machine_json(text, path.string());
  const std::string id = path.stem().string();
  std::vector<Device> devices = {device_from_machine(machine, id)};
  if (machine.gpu) devices.push_back(device_from_gpu(*machine.gpu, id + "-gpu"));
  return devices;
}

std::vector<Device> built_in_devices() {
  return parse_devices_json(device_catalogue_text(), "data/devices.json");
}

}  // namespace assay
