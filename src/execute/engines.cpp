#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "execute/engine.h"

// One line an engine, the default one first.
#define ASSAY_ENGINES(ENGINE) \
  ENGINE(cpu)                 \
  ENGINE(cuda)                \
  ENGINE(reference)

#define DECLARE(folder)     \
  namespace assay::folder { \
  execute::Engine engine(); \
  }
ASSAY_ENGINES(DECLARE)
#undef DECLARE

namespace assay {

namespace execute {

namespace {

const std::vector<Engine>& registered() {
#define ENTRY(folder) folder::engine(),
  static const std::vector<Engine> all = {ASSAY_ENGINES(ENTRY)};
#undef ENTRY
  return all;
}

std::string missing_for(const Engine& engine) {
  return engine.what_is_missing == nullptr ? "" : engine.what_is_missing();
}

bool is_called(const Engine& engine, std::string_view name) {
  return engine.info.name == name ||
         std::ranges::find(engine.info.aliases, name) != engine.info.aliases.end();
}

EngineInfo info_of(const Engine& engine) {
  EngineInfo info = engine.info;
  info.why_not = missing_for(engine);
  info.available = info.why_not.empty();
  return info;
}

// "cpu; cuda (not available: there is no libcuda.so.1); reference"
std::string list_of(std::span<const Engine> all) {
  std::vector<std::string> words;
  for (const Engine& engine : all) {
    const std::string missing = missing_for(engine);
    words.push_back(missing.empty()
                        ? engine.info.name
                        : fmt::format("{} (not available: {})", engine.info.name, missing));
  }
  return join(words, "; ");
}

}  // namespace

const Engine& usable_engine(std::span<const Engine> all, std::string_view name) {
  const auto found =
      std::ranges::find_if(all, [&](const Engine& engine) { return is_called(engine, name); });
  if (found == all.end()) {
    fail_usage("there is no engine '{}'; the engines are: {}", name, list_of(all));
  }
  if (!missing_for(*found).empty()) {
    fail_bad_input("engine '{}' cannot run here; the engines are: {}", name, list_of(all));
  }
  return *found;
}

const Engine& usable_engine(std::string_view name) {
  return usable_engine(registered(), name);
}

}  // namespace execute

std::vector<EngineInfo> engines() {
  std::vector<EngineInfo> infos;
  for (const execute::Engine& engine : execute::registered()) {
    infos.push_back(execute::info_of(engine));
  }
  return infos;
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names;
  for (const execute::Engine& engine : execute::registered()) names.push_back(engine.info.name);
  return names;
}

const std::string& default_engine() {
  return execute::registered().front().info.name;
}

EngineInfo find_engine(std::string_view name) {
  return execute::usable_engine(name).info;
}

}  // namespace assay
