#include "assay/sweep_config_file.h"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "sweep/config_keys.h"

namespace assay {

namespace {

constexpr std::size_t kLargestConfig = std::size_t{1} << 20;

class ConfigReader {
 public:
  explicit ConfigReader(std::string file) : file_(std::move(file)) {}

  SweepConfig read(std::string_view yaml) {
    for (const auto& entry : entries(std::string(yaml))) take(entry.first, entry.second);
    check_together();
    if (!problems_.empty()) throw SweepConfigError(problems_);
    return config_;
  }

 private:
  YAML::Node entries(const std::string& yaml) {
    try {
      YAML::Node root = YAML::Load(yaml);
      if (root.IsMap()) return root;
      if (!root.IsNull()) problem(1, "expected lines of the form 'key: value'");
    } catch (const YAML::Exception& error) {
      problem(error.mark.is_null() ? 1 : error.mark.line + 1, "not YAML: " + error.msg);
    }
    throw_if_any();
    return YAML::Node(YAML::NodeType::Map);
  }

  void throw_if_any() const {
    if (!problems_.empty()) throw SweepConfigError(problems_);
  }

  void take(const YAML::Node& key, const YAML::Node& value) {
    const int line = key.Mark().line + 1;
    if (!key.IsScalar()) return problem(line, "a key must be a word");
    const std::string name = key.Scalar();
    const auto known = std::ranges::find(sweep::config_keys(), name, &sweep::ConfigKey::name);
    if (known == sweep::config_keys().end()) return problem(line, unknown(name));
    if (const auto [first, is_new] = lines_.try_emplace(name, line); !is_new) {
      return problem(line, fmt::format("{}: given twice, first in line {}", name, first->second));
    }
    const std::optional<sweep::ConfigText> text = text_of(value);
    if (text && known->read(*text, config_)) return;
    problem(line, fmt::format("{}: {}: expected {}", name, shown(value), known->allowed));
  }

  static std::optional<sweep::ConfigText> text_of(const YAML::Node& value) {
    if (value.IsNull()) return sweep::ConfigText{.is_null = true};
    if (value.IsScalar()) return sweep::ConfigText{.items = {value.Scalar()}};
    if (!value.IsSequence()) return std::nullopt;
    sweep::ConfigText text{.is_list = true};
    for (const auto& item : value) {
      if (!item.IsScalar()) return std::nullopt;
      text.items.push_back(item.Scalar());
    }
    return text;
  }

  static std::string shown(const YAML::Node& value) {
    constexpr std::size_t kLongest = 60;
    if (value.IsNull()) return "no value";
    YAML::Emitter emitter;
    emitter << YAML::Flow << value;
    const std::string text = emitter.c_str();
    return text.size() > kLongest ? text.substr(0, kLongest) + "…" : text;
  }

  static std::string unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const sweep::ConfigKey& key : sweep::config_keys()) names.push_back(key.name);
    const auto near = nearest(name, names);
    return fmt::format(
        "there is no key '{}'{}", name,
        near ? "; did you mean '" + *near + "'?" : "; 'assay sweep init' lists all keys");
  }

  void check_together() {
    if (config_.val_subset == 0) return;
    for (const std::int64_t batch : config_.measured_batches()) {
      if (batch <= config_.val_subset) continue;
      const char* key = config_.batch_sizes.empty() ? "batch_size" : "batch_sizes";
      problem(line_of(key),
              fmt::format("{}: {}: larger than val_subset, {}", key, batch, config_.val_subset));
    }
  }

  int line_of(const std::string& key) const {
    const auto found = lines_.find(key);
    return found == lines_.end() ? 1 : found->second;
  }

  void problem(int line, const std::string& what) {
    problems_.push_back(fmt::format("{}, line {}: {}", file_, line, what));
  }

  std::string file_;
  SweepConfig config_;
  std::map<std::string, int> lines_;
  std::vector<std::string> problems_;
};

}  // namespace

SweepConfigError::SweepConfigError(std::vector<std::string> problems)
    : Error(ErrorKind::BadInput, join(problems, "; ")), problems_(std::move(problems)) {}

SweepConfig parse_sweep_config(std::string_view yaml, const std::string& described_as) {
  if (yaml.size() > kLargestConfig) {
    fail_bad_input("{}: {} bytes is too large for a configuration", described_as, yaml.size());
  }
  return ConfigReader(described_as).read(yaml);
}

SweepConfig read_sweep_config(const std::filesystem::path& file) {
  const auto mapped = MappedFile::open(file);
  const auto bytes = mapped->bytes();
  return parse_sweep_config({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            file.string());
}

std::string sweep_config_yaml(const SweepConfig& config) {
  std::string yaml;
  for (const sweep::ConfigKey& key : sweep::config_keys()) {
    yaml += fmt::format("{}: {}\n", key.name, key.print(config));
  }
  return yaml;
}

std::string sweep_config_template() {
  std::string yaml =
      "# A sweep: every combination of pruning_levels and precisions is made, measured and "
      "judged.\n"
      "# Run it with: assay sweep FILE. Keys that are left out have the values shown here.\n";
  const SweepConfig standard;
  for (const sweep::ConfigKey& key : sweep::config_keys()) {
    yaml += fmt::format("\n# {}\n# {}\n{}: {}\n", key.meaning, key.allowed, key.name,
                        key.print(standard));
  }
  return yaml;
}

}  // namespace assay
