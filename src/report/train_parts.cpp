#include "report/train_parts.h"

namespace assay {

using namespace assay::report;

namespace {

std::optional<double> figure(const std::optional<Accuracy>& accuracy, double Accuracy::*member) {
  return accuracy ? std::optional((*accuracy).*member) : std::nullopt;
}

}  // namespace

TrainedOn trained_on(const Dataset& training, const Dataset* validation) {
  TrainedOn data = {.name = training.name,
                    .source = training.source,
                    .sha256 = fingerprint(training),
                    .train_size = training.size()};
  if (validation == nullptr) return data;
  data.val_source = validation->source;
  data.val_sha256 = fingerprint(*validation);
  data.val_size = validation->size();
  return data;
}

Judgement report::final_judgement(const TrainReport& report) {
  if (report.evaluation) return {report.evaluation->accuracy, report.evaluation->loss};
  for (const EpochResult& epoch : report.result.epochs) {
    const bool is_models = epoch.epoch == report.result.model_epoch;
    if (is_models) return {epoch.validation_accuracy, epoch.validation_loss};
  }
  return {};
}

std::array<std::pair<const char*, std::optional<double>>, 9> report::epoch_figures(
    const EpochResult& epoch) {
  const auto& judged = epoch.validation_accuracy;
  return {{{"loss", epoch.loss},
           {"accuracy", epoch.accuracy},
           {"val_loss", epoch.validation_loss},
           {"val_accuracy", figure(judged, &Accuracy::value)},
           {"val_accuracy_ci95_low", figure(judged, &Accuracy::ci95_low)},
           {"val_accuracy_ci95_high", figure(judged, &Accuracy::ci95_high)},
           {"learning_rate", epoch.learning_rate},
           {"samples_per_second", epoch.samples_per_second},
           {"seconds", epoch.seconds}}};
}

}  // namespace assay
