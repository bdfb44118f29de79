#include <fmt/core.h>

#include "assay/sweep.h"
#include "assay/sweep_config_file.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "sweep/row_json.h"

namespace assay {

namespace {

using sweep::Json;

constexpr const char* kPlanSchema = "assay.sweep-plan/1";

SweepPlan plan_of(const Json& json, const std::string& file) {
  if (json.value("schema", "") != kPlanSchema) {
    fail_bad_input("{}: not a plan of a sweep", file);
  }
  SweepPlan plan{.config = parse_sweep_config(json.at("config").get<std::string>(), file),
                 .model_sha256 = json.at("model").get<std::string>()};
  for (const Json& data : json.at("data")) {
    plan.data_sha256.emplace_back(data.at("seed").get<std::uint64_t>(),
                                  data.at("sha256").get<std::string>());
  }
  for (const Json& task : json.at("tasks")) plan.tasks.push_back(sweep::task_of(task));
  return plan;
}

}  // namespace

void write_plan(const std::filesystem::path& folder, const SweepPlan& plan) {
  report::JsonWriter writer;
  writer.field("schema", kPlanSchema);
  writer.field("config", sweep_config_yaml(plan.config));
  writer.field("model", plan.model_sha256);
  Json data = Json::array();
  for (const auto& [seed, sha256] : plan.data_sha256) {
    data.push_back({{"seed", seed}, {"sha256", sha256}});
  }
  writer.field("data", data);
  writer.begin_list("tasks");
  for (const SweepTask& task : plan.tasks) writer.item(sweep::task_record(task));
  writer.end_list();
  make_folder(folder);
  write_file(folder / "plan.json", writer.finish());
}

SweepPlan read_plan(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "plan.json";
  if (!std::filesystem::exists(path)) {
    fail_bad_input("{}: there is no plan; make one with 'assay sweep plan CONFIG'", path.string());
  }
  const auto mapped = MappedFile::open(path);
  const auto bytes = mapped->bytes();
  try {
    const auto* text = reinterpret_cast<const char*>(bytes.data());
    return plan_of(Json::parse(text, text + bytes.size()), path.string());
  } catch (const nlohmann::json::exception& error) {
    fail_bad_input("{}: damaged: {}", path.string(), error.what());
  }
}

}  // namespace assay
