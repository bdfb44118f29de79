// Shared by several reports of a training run.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "assay/train_report.h"

namespace assay::report {

// Of the final model, on the validation data; nothing if it was not evaluated.
struct Judgement {
  std::optional<Accuracy> accuracy = {};
  std::optional<double> loss = {};
};
Judgement final_judgement(const TrainReport& report);

// Every figure of an epoch under its key.
std::array<std::pair<const char*, std::optional<double>>, 9> epoch_figures(
    const EpochResult& epoch);

}  // namespace assay::report
