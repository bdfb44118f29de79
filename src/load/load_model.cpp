#include "assay/load_model.h"

#include <filesystem>
#include <string_view>

#include "assay/onnx.h"
#include "assay/zoo.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay {

namespace {

constexpr std::string_view kZooPrefix = "zoo:";

// "resnet18" is no file, but nearly the name of a built-in network.
void suggest_zoo_model(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return;
  std::vector<std::string> known;
  for (const ZooEntry& entry : zoo_entries()) known.push_back(entry.name);
  const std::string network = name.substr(0, name.find(':'));
  const bool is_file_name = network.find_first_of("./") != std::string::npos;
  const auto near = is_file_name ? std::nullopt : nearest(network, known);
  if (!near) return;
  fail_bad_input("{}: there is no such file; did you mean '{}{}'?", name, kZooPrefix,
                 *near == network ? name : *near);
}

}  // namespace

bool is_zoo_name(const std::string& name) {
  return name.starts_with(kZooPrefix);
}

Graph load_model(const std::string& name) {
  if (is_zoo_name(name)) return zoo_model(std::string_view(name).substr(kZooPrefix.size()));
  suggest_zoo_model(name);
  return read_onnx(name);
}

}  // namespace assay
