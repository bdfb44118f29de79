#include "base/checked.h"
#include "report/json_parts.h"
#include "report/train_parts.h"

namespace assay {

using namespace assay::report;

namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json dataset_json(const TrainedOn& data) {
  return {{"name", data.name},
          {"source", data.source},
          {"sha256", data.sha256},
          {"train_size", data.train_size},
          {"val_source", text_or_null(data.val_source)},
          {"val_sha256", text_or_null(data.val_sha256)},
          {"val_size", data.val_size}};
}

Json train_options_json(const TrainReport& report) {
  const TrainOptions& options = report.options;
  return {{"epochs", options.epochs},
          {"batch_size", options.batch_size},
          {"learning_rate", options.learning_rate},
          {"schedule", name(options.schedule)},
          {"optimizer", name(options.optimizer.kind)},
          {"momentum", options.optimizer.momentum},
          {"weight_decay", options.optimizer.weight_decay},
          {"loss", name(options.loss)},
          {"seed", options.seed},
          {"shuffle", options.shuffle},
          {"early_stop", options.patience},
          {"engine", options.program.engine},
          {"optimize_for", name(options.program.optimize_for)},
          {"threads", report.result.threads}};
}

Json epoch_json(const EpochResult& epoch) {
  Json json = {{"epoch", epoch.epoch}};
  for (const auto& [key, value] : epoch_figures(epoch)) json[key] = optional_json(value);
  return json;
}

// A step keeps the weights with everything that changes; they are those of the model.
std::int64_t weight_bytes(const Graph& model) {
  std::int64_t bytes = 0;
  for (const auto& [value, tensor] : model.initializers()) {
    bytes = saturating_add(bytes, static_cast<std::int64_t>(tensor.bytes().size()));
  }
  return bytes;
}

Json memory_json(const ProgramMemory& memory, const Graph& model) {
  return {{"weight_bytes", weight_bytes(model)},
          {"activation_bytes", memory.arena_bytes},
          {"planned_activation_bytes", memory.planned_arena_bytes}};
}

void add_judgement(const Judgement& judgement, JsonWriter& json) {
  const auto& accuracy = judgement.accuracy;
  json.field("accuracy", accuracy ? Json(accuracy->value) : Json(nullptr));
  json.field("accuracy_ci95_low", accuracy ? Json(accuracy->ci95_low) : Json(nullptr));
  json.field("accuracy_ci95_high", accuracy ? Json(accuracy->ci95_high) : Json(nullptr));
  json.field("val_loss", optional_json(judgement.loss));
}

// Keys that only training has are null if the model was only evaluated.
void add_course(const TrainResult& result, JsonWriter& json) {
  const bool was_trained = !result.epochs.empty();
  const auto or_null = [&](const Json& value) { return was_trained ? value : Json(nullptr); };
  json.begin_list("epochs");
  for (const EpochResult& epoch : result.epochs) json.item(epoch_json(epoch));
  json.end_list();
  json.field("resumed_after", or_null(result.resumed_after));
  json.field("stopped_early", or_null(result.stopped_early));
  json.field("best_epoch", or_null(result.best_epoch));
  json.field("model_epoch", or_null(result.model_epoch));
  json.field("memory", or_null(memory_json(result.memory, result.model)));
  json.field("seconds", or_null(result.seconds));
}

}  // namespace

std::string train_json(const TrainReport& report) {
  JsonWriter json;
  json.field("schema", "assay.train/1");
  json.field("provenance", "measured");
  json.field("model", model_json(report.model));
  json.field("dataset", dataset_json(report.dataset));
  json.field("options", train_options_json(report));
  add_course(report.result, json);
  add_judgement(final_judgement(report), json);
  if (report.evaluation && !report.evaluation->confusion.empty()) {
    json.field("confusion_matrix", report.evaluation->confusion);
  }
  json.field("file", text_or_null(report.file));
  json.field("warnings", report.result.warnings);
  return json.finish();
}

}  // namespace assay
