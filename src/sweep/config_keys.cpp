#include "sweep/config_keys.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace assay::sweep {

namespace {

constexpr std::int64_t kMany = 1'000'000'000;
constexpr double kHuge = 1e12;

std::optional<double> number_in(const std::string& text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole_text = error == std::errc{} && end == text.data() + text.size();
  if (!is_whole_text || !std::isfinite(number)) return std::nullopt;
  return number;
}

std::optional<bool> flag_in(const std::string& text) {
  constexpr std::array kTrue = {"true", "True", "TRUE", "yes", "on"};
  constexpr std::array kFalse = {"false", "False", "FALSE", "no", "off"};
  if (std::ranges::count(kTrue, text) > 0) return true;
  if (std::ranges::count(kFalse, text) > 0) return false;
  return std::nullopt;
}

// In YAML, such text would be read as something else.
std::string quoted(const std::string& text) {
  const bool is_plain =
      !text.empty() && text.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") ==
                           std::string::npos;
  const bool is_word = is_plain && !number_in(text) && !flag_in(text) && text != "null";
  if (is_word) return text;
  std::string escaped = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped + "\"";
}

std::string decimal_text(double number) {
  const std::string text = fmt::format("{}", number);
  const bool is_whole = text.find_first_not_of("-0123456789") == std::string::npos;
  return is_whole ? text + ".0" : text;
}

template <typename T, typename Print>
std::string list_text(const std::vector<T>& items, Print print) {
  std::vector<std::string> texts;
  for (const T& item : items) texts.push_back(print(item));
  return "[" + join(texts, ", ") + "]";
}

// One scalar, read by `take`, which gives nothing for what is not allowed.
template <typename Take, typename Store>
auto scalar(Take take, Store store) {
  return [take, store](const ConfigText& text, SweepConfig& config) {
    if (text.is_list || text.is_null || text.items.size() != 1) return false;
    const auto value = take(text.items.front());
    if (value) store(config, *value);
    return value.has_value();
  };
}

// A list with at least one item, or a single scalar in its place.
template <typename T, typename Take>
auto list_of(Take take, std::vector<T> SweepConfig::*member) {
  return [take, member](const ConfigText& text, SweepConfig& config) {
    std::vector<T> values;
    for (const std::string& item : text.items) {
      const auto value = take(item);
      if (!value || std::ranges::count(values, *value) > 0) return false;
      values.push_back(*value);
    }
    if (values.empty()) return false;
    config.*member = values;
    return true;
  };
}

auto whole_between(std::int64_t least, std::int64_t most) {
  return [=](const std::string& text) -> std::optional<std::int64_t> {
    const auto number = parse_integer(text);
    return number && *number >= least && *number <= most ? number : std::nullopt;
  };
}

std::optional<std::uint64_t> seed_in(const std::string& text) {
  const auto number = whole_between(0, std::numeric_limits<std::int64_t>::max())(text);
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

struct Bounds {
  double least = 0;
  double most = kHuge;
  bool with_least = true;
  bool with_most = true;
};

auto number_between(const Bounds& bounds) {
  return [=](const std::string& text) -> std::optional<double> {
    const auto number = number_in(text);
    if (!number) return std::nullopt;
    const bool is_above = bounds.with_least ? *number >= bounds.least : *number > bounds.least;
    const bool is_below = bounds.with_most ? *number <= bounds.most : *number < bounds.most;
    return is_above && is_below ? number : std::nullopt;
  };
}

std::string allowed_numbers(const Bounds& bounds) {
  std::string text = bounds.with_least && bounds.least == 0
                         ? "a number from 0"
                         : fmt::format("a number above {:g}", bounds.least);
  if (bounds.most < kHuge) {
    text += fmt::format("{} {:g}", bounds.with_most ? " to" : " to below", bounds.most);
  }
  return text;
}

ConfigKey whole(std::string name, std::string meaning, std::int64_t SweepConfig::*member,
                std::int64_t least, std::int64_t most = kMany) {
  return {std::move(name), std::move(meaning),
          fmt::format("a whole number from {} to {}", least, most),
          scalar(whole_between(least, most),
                 [member](SweepConfig& config, std::int64_t value) { config.*member = value; }),
          [member](const SweepConfig& config) { return fmt::format("{}", config.*member); }};
}

ConfigKey number(std::string name, std::string meaning, double SweepConfig::*member,
                 const Bounds& bounds) {
  return {std::move(name), std::move(meaning), allowed_numbers(bounds),
          scalar(number_between(bounds),
                 [member](SweepConfig& config, double value) { config.*member = value; }),
          [member](const SweepConfig& config) { return decimal_text(config.*member); }};
}

ConfigKey optional_number(std::string name, std::string meaning,
                          std::optional<double> SweepConfig::*member) {
  const Bounds bounds{.with_least = false};
  const auto read = scalar(number_between(bounds),
                           [member](SweepConfig& config, double value) { config.*member = value; });
  return {std::move(name), std::move(meaning), allowed_numbers(bounds) + ", or null",
          [member, read](const ConfigText& text, SweepConfig& config) {
            if (text.is_null) (config.*member).reset();
            return text.is_null || read(text, config);
          },
          [member](const SweepConfig& config) {
            return config.*member ? decimal_text(*(config.*member)) : std::string("null");
          }};
}

ConfigKey text(std::string name, std::string meaning, std::string allowed,
               std::string SweepConfig::*member, bool may_be_empty = false) {
  const auto take = [may_be_empty](const std::string& item) -> std::optional<std::string> {
    return item.empty() && !may_be_empty ? std::nullopt : std::optional(item);
  };
  return {std::move(name), std::move(meaning), std::move(allowed),
          scalar(take, [member](SweepConfig& config,
                                const std::string& value) { config.*member = value; }),
          [member](const SweepConfig& config) { return quoted(config.*member); }};
}

ConfigKey one_of(std::string name, std::string meaning, std::vector<std::string> words,
                 std::string SweepConfig::*member) {
  const std::string allowed = join(words, ", ");
  const auto take = [words](const std::string& item) -> std::optional<std::string> {
    return std::ranges::count(words, item) > 0 ? std::optional(item) : std::nullopt;
  };
  return {std::move(name), std::move(meaning), "one of " + allowed,
          scalar(take, [member](SweepConfig& config,
                                const std::string& value) { config.*member = value; }),
          [member](const SweepConfig& config) { return quoted(config.*member); }};
}

ConfigKey flag(std::string name, std::string meaning, bool SweepConfig::*member) {
  return {std::move(name), std::move(meaning), "true or false",
          scalar(flag_in, [member](SweepConfig& config, bool value) { config.*member = value; }),
          [member](const SweepConfig& config) { return config.*member ? "true" : "false"; }};
}

ConfigKey numbers(std::string name, std::string meaning, std::vector<double> SweepConfig::*member,
                  const Bounds& bounds) {
  return {std::move(name), std::move(meaning),
          "a list, each " + allowed_numbers(bounds) + ", none twice",
          list_of(number_between(bounds), member),
          [member](const SweepConfig& config) { return list_text(config.*member, decimal_text); }};
}

ConfigKey wholes(std::string name, std::string meaning,
                 std::vector<std::int64_t> SweepConfig::*member, std::int64_t most) {
  const auto read = list_of(whole_between(1, most), member);
  return {std::move(name), std::move(meaning),
          fmt::format("a list of whole numbers from 1 to {}, none twice; or null", most),
          [member, read](const ConfigText& text, SweepConfig& config) {
            if (text.is_null) (config.*member).clear();
            return text.is_null || read(text, config);
          },
          [member](const SweepConfig& config) {
            if ((config.*member).empty()) return std::string("null");
            return list_text(config.*member, [](std::int64_t n) { return fmt::format("{}", n); });
          }};
}

std::string seed_text(std::uint64_t seed) {
  return fmt::format("{}", seed);
}

const char* const kSeedAllowed = "a whole number from 0 to 9223372036854775807";

ConfigKey seed_key() {
  return {"seed", "of weights, of which samples are drawn, and of dropouts", kSeedAllowed,
          scalar(seed_in, [](SweepConfig& config, std::uint64_t value) { config.seed = value; }),
          [](const SweepConfig& config) { return seed_text(config.seed); }};
}

ConfigKey loader_seed_key() {
  const auto read = scalar(
      seed_in, [](SweepConfig& config, std::uint64_t value) { config.dataloader_seed = value; });
  return {"dataloader_seed", "of the order of samples; null: the seed",
          std::string(kSeedAllowed) + ", or null",
          [read](const ConfigText& text, SweepConfig& config) {
            if (text.is_null) config.dataloader_seed.reset();
            return text.is_null || read(text, config);
          },
          [](const SweepConfig& config) {
            return config.dataloader_seed ? seed_text(*config.dataloader_seed) : "null";
          }};
}

ConfigKey seeds_key() {
  const auto read = list_of(seed_in, &SweepConfig::seeds);
  return {"seeds", "a whole run for each; null: one run, with the key seed",
          "a list of whole numbers from 0, none twice; or null",
          [read](const ConfigText& text, SweepConfig& config) {
            if (text.is_null) config.seeds.clear();
            return text.is_null || read(text, config);
          },
          [](const SweepConfig& config) {
            return config.seeds.empty() ? "null" : list_text(config.seeds, seed_text);
          }};
}

ConfigKey precisions_key() {
  const auto take = [](const std::string& item) -> std::optional<std::string> {
    constexpr std::array kKnown = {"fp32", "fp16", "bf16", "int8"};
    return std::ranges::count(kKnown, item) > 0 ? std::optional(item) : std::nullopt;
  };
  return {"precisions", "of the versions", "a list of fp32, fp16, bf16, int8, none twice",
          list_of(take, &SweepConfig::precisions),
          [](const SweepConfig& config) { return list_text(config.precisions, quoted); }};
}

std::vector<ConfigKey> model_keys() {
  using C = SweepConfig;
  return {
      text("model", "SmallCNN, a network of 'assay zoo', or an .onnx file",
           "SmallCNN, a zoo name or a path to an .onnx file", &C::model),
      text("dataset", "to train on and to judge by",
           "fashion-mnist, mnist, synthetic, a folder with IDX files, a .npz file or x.npy,y.npy",
           &C::dataset),
      text("dataset_folder", "with the data set's files; empty: where Debian installs them",
           "a folder", &C::dataset_folder, true),
      seed_key(),
      loader_seed_key(),
      seeds_key(),
      whole("batch_size", "samples in a step of training, and in a run that is timed",
            &C::batch_size, 1, 1'000'000),
      whole("epochs", "of training; 0: take the model as it is", &C::epochs, 0, 1'000'000),
      number("learning_rate", "of training (Adam)", &C::learning_rate,
             {.most = 100, .with_least = false}),
      whole("train_subset", "samples to train on; 0: all", &C::train_subset, 0),
      whole("val_subset", "samples to measure accuracy on; 0: all", &C::val_subset, 0),
      whole("num_workers", "accepted for compatibility, not used", &C::num_workers, 0, 100'000),
  };
}

std::vector<ConfigKey> version_keys() {
  using C = SweepConfig;
  return {
      numbers("pruning_levels", "the share of channels to remove", &C::pruning_levels,
              {.most = 1, .with_most = false}),
      precisions_key(),
      whole("fine_tune_epochs", "of training after pruning", &C::fine_tune_epochs, 0, 1'000'000),
      whole("calibration_batches", "of training samples that int8 is calibrated with",
            &C::calibration_batches, 1, 1'000'000),
      text("quantization_backend", "accepted for compatibility and recorded, not used", "a name",
           &C::quantization_backend, true),
  };
}

std::vector<ConfigKey> measuring_keys() {
  using C = SweepConfig;
  return {
      one_of("device", "to measure on", {"cpu", "cuda"}, &C::device),
      wholes("batch_sizes", "to measure at; null: batch_size", &C::batch_sizes, 1'000'000),
      wholes("threads", "to measure with; null: all processors", &C::threads, 4096),
      whole("benchmark_repeats",
            "series of runs in a trial; latencies are statistics of their means",
            &C::benchmark_repeats, 1, 100'000),
      whole("benchmark_trials", "each compiles the version and the baseline anew",
            &C::benchmark_trials, 1, 10'000),
      whole("benchmark_warmup", "runs before each trial", &C::benchmark_warmup, 0, 100'000),
      number("power_watts", "energy_proxy_j is this power × latency", &C::power_watts,
             {.most = 1e6, .with_least = false}),
      number("cpu_frequency_scale", "simulates a slower processor: latencies are divided by it",
             &C::cpu_frequency_scale, {.most = 100, .with_least = false}),
      optional_number("memory_bandwidth_gbps",
                      "to judge the baseline by; null: as measured on this machine",
                      &C::memory_bandwidth_gbps),
      optional_number("peak_compute_gmacs",
                      "to judge the baseline by; null: as measured on this machine",
                      &C::peak_compute_gmacs),
  };
}

std::vector<ConfigKey> decision_keys() {
  using C = SweepConfig;
  return {
      numbers("memory_budgets_mb", "stored tensors are compared with each", &C::memory_budgets_mb,
              {.with_least = false}),
      number("active_memory_budget_mb", "versions that store more are not accepted",
             &C::active_memory_budget_mb, {.with_least = false}),
      optional_number("latency_budget_ms", "for the recommended version; null: none",
                      &C::latency_budget_ms),
      number("max_accuracy_loss",
             "percentage points that the recommended version may lose against the most accurate",
             &C::max_accuracy_loss, {.most = 100}),
      flag("pareto_use_ci", "judge by the lower end of the accuracy's interval", &C::pareto_use_ci),
      number("task_timeout_s", "a task that takes longer is stopped, and its row says so",
             &C::task_timeout_s, {.most = 1e7, .with_least = false}),
      optional_number("task_memory_mb", "most that a task may allocate; null: what is free",
                      &C::task_memory_mb),
      text("output_dir", "for results; made if it is not there", "a folder", &C::output_dir),
  };
}

std::vector<ConfigKey> all_keys() {
  std::vector<ConfigKey> keys;
  for (auto& part : {model_keys(), version_keys(), measuring_keys(), decision_keys()}) {
    keys.insert(keys.end(), part.begin(), part.end());
  }
  return keys;
}

}  // namespace

std::span<const ConfigKey> config_keys() {
  static const std::vector<ConfigKey> keys = all_keys();
  return keys;
}

}  // namespace assay::sweep
