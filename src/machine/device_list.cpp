#include "assay/device_list.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "base/fail.h"
#include "base/text.h"

namespace assay {

namespace {

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

std::vector<std::string> ids(std::span<const Device> devices) {
  std::vector<std::string> all;
  for (const Device& device : devices) all.push_back(device.id);
  return all;
}

// "raspberry-pi-4" is a prefix of several ids; only the user knows which is meant.
std::vector<std::string> beginning_with(const std::string& wanted,
                                        std::span<const Device> devices) {
  std::vector<std::string> found = ids(devices);
  std::erase_if(found, [&](const std::string& id) { return !id.starts_with(wanted); });
  return found;
}

// Every letter of the abbreviation begins a word of the id or follows the letter before.
bool abbreviates(std::string_view letters, std::string_view id, bool may_go_on = false) {
  if (letters.empty()) return true;
  for (std::size_t i = 0; i < id.size(); ++i) {
    const bool begins_word = (i == 0 && !may_go_on) || (i > 0 && id[i - 1] == '-');
    const bool goes_on = i == 0 && may_go_on;
    if ((begins_word || goes_on) && id[i] == letters[0] &&
        abbreviates(letters.substr(1), id.substr(i + 1), true)) {
      return true;
    }
  }
  return false;
}

// "rpi4" is "raspberry-pi-4-2gb", among others.
std::vector<std::string> abbreviated_by(std::string wanted, std::span<const Device> devices) {
  std::erase(wanted, '-');
  std::vector<std::string> found = ids(devices);
  std::erase_if(found, [&](const std::string& id) { return !abbreviates(wanted, id); });
  return found;
}

[[noreturn]] void fail_unknown(const std::string& wanted, std::string_view as_given,
                               std::span<const Device> devices) {
  const auto longer = beginning_with(wanted, devices);
  if (!wanted.empty() && !longer.empty()) {
    fail_bad_input("there is no device '{}'; there {} {}", as_given,
                   longer.size() == 1 ? "is" : "are", join(longer, ", "));
  }
  const auto meant = wanted.empty() ? std::vector<std::string>{} : abbreviated_by(wanted, devices);
  if (!meant.empty()) {
    fail_bad_input("there is no device '{}'; did you mean {}?", as_given, join(meant, ", "));
  }
  const auto near = nearest(wanted, ids(devices));
  fail_bad_input("there is no device '{}'; {}", as_given,
                 near ? "did you mean '" + *near + "'?" : "`built_in_devices` lists them");
}

// Unknown values come last.
auto size_of(const Device& device) {
  const auto value = [](const Figures& figures) {
    const auto figure = best(figures);
    return figure ? figure->value : std::numeric_limits<double>::infinity();
  };
  return std::tuple(device.kind, value(device.memory_bandwidth_gbps), value(device.memory_bytes));
}

}  // namespace

std::string device_id(std::string_view text) {
  std::string id;
  for (char c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (is_letter_or_digit(c)) {
      id += c;
    } else if (!id.empty() && id.back() != '-') {
      id += '-';
    }
  }
  if (!id.empty() && id.back() == '-') id.pop_back();
  return id;
}

const Device& find_device(std::span<const Device> devices, std::string_view id) {
  const std::string wanted = device_id(id);
  const auto found = std::ranges::find(devices, wanted, &Device::id);
  if (found == devices.end()) fail_unknown(wanted, id, devices);
  return *found;
}

void sort_devices(std::vector<Device>& devices) {
  std::ranges::stable_sort(devices, {}, size_of);
}

std::vector<std::string> merge_devices(std::vector<Device>& devices, std::vector<Device> more,
                                       const std::string& described_as) {
  std::vector<std::string> warnings;
  for (Device& device : more) {
    const auto known = std::ranges::find(devices, device.id, &Device::id);
    if (known == devices.end()) {
      devices.push_back(std::move(device));
      continue;
    }
    warnings.push_back(fmt::format("{}: its device '{}' is used instead of the one known before",
                                   described_as, device.id));
    *known = std::move(device);
  }
  return warnings;
}

}  // namespace assay
