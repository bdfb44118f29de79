#include "cli/compare_results.h"

#include <filesystem>

#include "assay/precision.h"
#include "assay/stored_profile.h"
#include "assay/stored_sweep.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/text.h"

namespace assay::cli {

namespace {

constexpr const char* kProfileOfFolder = "profile.json";  // as 'assay profile --out' names it

bool is_folder(const std::string& argument) {
  std::error_code ignored;
  return std::filesystem::is_directory(argument, ignored);
}

StoredProfile read_profile(const std::string& path) {
  constexpr std::size_t kLargest = std::size_t{1} << 30;
  const auto file = MappedFile::open(path);
  if (file->bytes().size() > kLargest) fail_bad_input("{}: too large to be a profile", path);
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  file->check_intact();
  return parse_profile_json(text, path);
}

std::string why_not_run_again(const StoredProfile& profile) {
  if (!profile.sha256) return "the profile does not have the hash of a model file";
  std::error_code failed;
  if (!std::filesystem::is_regular_file(profile.model, failed)) {
    return fmt::format("its model, {}, is not there", profile.model);
  }
  if (sha256_of_file(profile.model) != *profile.sha256) {
    return fmt::format("its model, {}, has changed since", profile.model);
  }
  return "";
}

// With the shapes that it had, unless the command line gives some.
void adopt_inputs(const StoredProfile& profile, ModelArguments& shapes) {
  if (!shapes.batch.empty() || !shapes.dims.empty() || !shapes.inputs.empty()) return;
  for (const StoredInput& input : profile.inputs) {
    const std::string dims = input.dims.empty() ? "scalar" : join_dims(input.dims);
    shapes.inputs.push_back(input.name + "=" + dims);
  }
}

// Profiles have the names of types, the command line those of precisions.
std::string precision_of(const StoredProfile& profile) {
  for (const char* precision : {"fp32", "fp16", "bf16", "int8"}) {
    if (profile.precision == name(float_precision(precision))) return precision;
  }
  return profile.precision == "tf32" ? profile.precision : "";
}

ComparedResult stored_result(const std::string& argument, const std::string& path,
                             ComparedModel fresh) {
  ComparedResult result{.argument = argument, .source = ResultSource::Profile};
  result.profile = read_profile(path);
  result.why_not_fresh = why_not_run_again(*result.profile);
  result.fresh = std::move(fresh);
  result.fresh.model = result.profile->model;
  adopt_inputs(*result.profile, result.fresh.shapes);
  adopt_setting(*result.profile, result.fresh);
  return result;
}

}  // namespace

void adopt_setting(const StoredProfile& profile, ComparedModel& model) {
  EngineArguments& engine = model.engine;
  const auto adopt = [](std::string& asked_for, const std::string& recorded) {
    if (asked_for.empty()) asked_for = recorded;
  };
  adopt(engine.threads, profile.threads > 0 ? std::to_string(profile.threads) : "");
  adopt(engine.engine, profile.engine);
  adopt(engine.optimize_for, profile.optimize_for);
  adopt(engine.precision, precision_of(profile));
  if (!profile.pinned) engine.no_pin = true;
  const bool has_shapes =
      !model.shapes.batch.empty() || !model.shapes.dims.empty() || !model.shapes.inputs.empty();
  if (!has_shapes && profile.batch > 1) model.shapes.batch = std::to_string(profile.batch);
}

bool was_measured_again(const ComparedResult& stored, const StoredProfile& now) {
  if (!stored.profile) return false;
  const StoredProfile& then = *stored.profile;
  const bool is_same_work = then.macs == now.macs && then.stored_bytes == now.stored_bytes;
  if (!is_same_work) {
    fail_bad_input(
        "{}: measured again, its model has {} MACs and {} bytes, not {} and {}; give the options "
        "that it was profiled with, or --stored",
        stored.argument, now.macs, now.stored_bytes, then.macs, then.stored_bytes);
  }
  return true;
}

bool are_of_one_model(const ComparedResult& a, const ComparedResult& b) {
  return a.profile && b.profile && a.profile->sha256 && a.profile->sha256 == b.profile->sha256;
}

ComparedResult find_result(const std::string& argument, const ModelArguments& shapes,
                           const EngineArguments& engine) {
  ComparedModel fresh{argument, shapes, engine};
  if (argument.ends_with(".json")) return stored_result(argument, argument, std::move(fresh));
  if (!is_folder(argument)) return {.argument = argument, .fresh = std::move(fresh)};
  const std::filesystem::path folder(argument);
  if (is_sweep_folder(folder)) {
    return {.argument = argument, .source = ResultSource::Sweep, .fresh = std::move(fresh)};
  }
  if (std::filesystem::exists(folder / kProfileOfFolder)) {
    return stored_result(argument, (folder / kProfileOfFolder).string(), std::move(fresh));
  }
  fail_bad_input(
      "{}: a folder with neither profile.json nor sweep_results.csv and summary.json; give a "
      "model, a stored profile or the folder of a sweep",
      argument);
}

}  // namespace assay::cli
