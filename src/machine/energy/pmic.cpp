// The Raspberry Pi 5's power chip. `vcgencmd pmic_read_adc` prints, one rail after the other,
//     VDD_CORE_A current(7)=1.24300000A
//     VDD_CORE_V volt(15)=0.84110890V
// and each rail's power is their product. USB devices are not among the rails.
#include "machine/energy/pmic.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <map>

#include "base/text.h"
#include "machine/energy/sources.h"

namespace assay::machine {

namespace {

constexpr const char* kModel = "/proc/device-tree/model";
constexpr double kPmicUpdateMs = 200;  // starting a process for every reading takes some of it
constexpr double kMost = 1000;         // implausible volts or amperes are damage
constexpr const char* kWhatToTry =
    "install vcgencmd (raspi-utils) and add the user to the group video";

struct Measured {
  std::optional<double> amperes = {};
  std::optional<double> volts = {};
};

std::optional<double> number_before(std::string_view text, char unit) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || !text.ends_with(unit)) return {};
  const std::string_view digits = text.substr(equals + 1, text.size() - equals - 2);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool is_whole = error == std::errc() && end == digits.data() + digits.size();
  if (!is_whole || !(number >= 0 && number <= kMost)) return {};
  return number;
}

void take_line(std::string_view line, std::map<std::string, Measured>& rails) {
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::string_view label = line.substr(0, line.find(' '));
  if (label.size() < 3) return;
  const std::string rail(label.substr(0, label.size() - 2));
  if (label.ends_with("_A")) rails[rail].amperes = number_before(line, 'A');
  if (label.ends_with("_V")) rails[rail].volts = number_before(line, 'V');
}

class PmicMeter : public EnergyMeter {
 public:
  PmicMeter(MeterInfo info, RunPmic run) : EnergyMeter(std::move(info)), run_(std::move(run)) {}

  std::vector<MeterValue> read() override {
    const auto text = run_();
    const auto powers = text ? parse_pmic(*text).microwatts : std::map<std::string, std::int64_t>{};
    std::vector<MeterValue> values;
    for (const MeterChannel& channel : info().channels) {
      const auto power = powers.find(channel.name);
      values.push_back(power == powers.end()
                           ? MeterValue{.why_not = "vcgencmd pmic_read_adc does not report it"}
                           : MeterValue{.value = power->second});
    }
    return values;
  }

 private:
  RunPmic run_;
};

MeterInfo info_of(const PmicPowers& powers) {
  MeterInfo info = {.source = "PMIC",
                    .kind = MeterKind::Power,
                    .scope = MeterScope::Board,
                    .update_ms = kPmicUpdateMs};
  for (const auto& [rail, power] : powers.microwatts) info.channels.push_back({.name = rail});
  return info;
}

void note_incomplete(const PmicPowers& powers, const std::string& model, EnergyMeters& found) {
  for (const std::string& rail : powers.incomplete) {
    found.notes.push_back(fmt::format("PMIC, {}: its volts or amperes are missing", rail));
  }
  if (powers.microwatts.empty()) {
    found.notes.push_back(
        fmt::format("PMIC: '{}' reports no rails; a Raspberry Pi 5 and later ones do", model));
  }
}

}  // namespace

PmicPowers parse_pmic(std::string_view text) {
  std::map<std::string, Measured> rails;
  for (const std::string& line : split(text, '\n')) take_line(line, rails);
  PmicPowers powers;
  for (const auto& [rail, measured] : rails) {
    if (measured.amperes && measured.volts) {
      powers.microwatts[rail] = std::llround(*measured.amperes * *measured.volts * 1e6);
    } else if (rail != "EXT5V" && rail != "BATT") {  // these never have a current
      powers.incomplete.push_back(rail);
    }
  }
  return powers;
}

void find_pmic(const MeterSources& sources, EnergyMeters& found) {
  const std::string model = first_line(*sources.files, kModel).value_or("");
  if (!model.starts_with("Raspberry Pi") || !sources.run_pmic) {
    found.absent.emplace_back("no Raspberry Pi");
    return;
  }
  const auto text = sources.run_pmic();
  if (!text) {
    found.notes.push_back(
        fmt::format("PMIC: 'vcgencmd pmic_read_adc' cannot be run: {}", kWhatToTry));
    return;
  }
  const PmicPowers powers = parse_pmic(*text);
  note_incomplete(powers, model, found);
  if (powers.microwatts.empty()) return;
  found.meters.push_back(std::make_unique<PmicMeter>(info_of(powers), sources.run_pmic));
}

}  // namespace assay::machine
