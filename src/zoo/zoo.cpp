#include "assay/zoo.h"

#include <algorithm>
#include <optional>

#include "base/fail.h"
#include "base/text.h"
#include "zoo/family.h"

namespace assay {

using namespace assay::zoo;

namespace {

std::vector<ZooFamily> all_families() {
  std::vector<ZooFamily> all;
  for (const auto family : {mlp_family, dense_family, small_cnn_family, lenet_family, resnet_family,
                            vgg_family, mobilenet_family, vit_family, gpt2_family, encoder_family,
                            lstm_family, stream_mlp_family}) {
    for (ZooFamily& member : family()) all.push_back(std::move(member));
  }
  return all;
}

const std::vector<ZooFamily>& families() {
  static const std::vector<ZooFamily> known = all_families();
  return known;
}

// "; did you mean 'layers'?" or, with nothing near, all there is to choose from.
std::string suggestion(std::string_view wanted, const std::vector<std::string>& known) {
  if (const auto near = nearest(wanted, known)) return fmt::format("did you mean '{}'?", *near);
  return fmt::format("there are {}", join(known, ", "));
}

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& all, auto name_of) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(name_of(one));
  return names;
}

const ZooFamily& find_family(std::string_view name) {
  const auto name_of = [](const ZooFamily& family) { return family.entry.name; };
  const auto found = std::ranges::find(families(), name, name_of);
  if (found != families().end()) return *found;
  fail_bad_input("the zoo has no model '{}'; {}", without_control_characters(name),
                 suggestion(name, names_of(families(), name_of)));
}

const ZooParameter& find_parameter(const ZooEntry& entry, std::string_view name) {
  const auto found = std::ranges::find(entry.parameters, name, &ZooParameter::name);
  if (found != entry.parameters.end()) return *found;
  const auto known = names_of(entry.parameters, [](const ZooParameter& p) { return p.name; });
  fail_bad_input("zoo model '{}' has no parameter '{}'; {}", entry.name,
                 without_control_characters(name), suggestion(name, known));
}

std::int64_t checked_setting(const ZooEntry& entry, const ZooParameter& parameter,
                             std::string_view text) {
  const auto number = parse_integer(text);
  if (number && *number >= parameter.smallest && *number <= parameter.largest) return *number;
  fail_bad_input("zoo model '{}': {}={} should be an integer from {} to {} ({})", entry.name,
                 parameter.name, without_control_characters(text), parameter.smallest,
                 parameter.largest, parameter.meaning);
}

// `assignments` is "layers=4,width=256"; what it leaves out keeps its standard value.
ZooSettings parse_settings(const ZooEntry& entry, std::string_view assignments) {
  ZooSettings given;
  for (const std::string& assignment : split(assignments, ',')) {
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      fail_bad_input("zoo model '{}': '{}' should read NAME=NUMBER, as in '{}:batch=8'", entry.name,
                     without_control_characters(assignment), entry.name);
    }
    const ZooParameter& parameter = find_parameter(entry, assignment.substr(0, equals));
    const std::int64_t number = checked_setting(entry, parameter, assignment.substr(equals + 1));
    if (!given.emplace(parameter.name, number).second) {
      fail_bad_input("zoo model '{}': parameter '{}' is given twice", entry.name, parameter.name);
    }
  }
  return given;
}

}  // namespace

ZooParameter zoo::size_parameter(std::string name, std::int64_t standard, std::int64_t largest,
                                 std::string meaning) {
  return {.name = std::move(name),
          .standard = standard,
          .smallest = 1,
          .largest = largest,
          .meaning = std::move(meaning)};
}

ZooParameter zoo::batch_parameter(std::int64_t largest) {
  return size_parameter("batch", 1, largest, "samples computed together");
}

std::span<const ZooEntry> zoo_entries() {
  static const std::vector<ZooEntry> entries = [] {
    std::vector<ZooEntry> all;
    for (const ZooFamily& family : families()) all.push_back(family.entry);
    return all;
  }();
  return entries;
}

Graph zoo_model(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const ZooFamily& family = find_family(spec.substr(0, colon));
  ZooSettings settings;
  if (colon != std::string_view::npos) {
    settings = parse_settings(family.entry, spec.substr(colon + 1));
  }
  for (const ZooParameter& parameter : family.entry.parameters) {
    settings.emplace(parameter.name, parameter.standard);  // keeps what was given
  }
  return family.build(settings);
}

}  // namespace assay
