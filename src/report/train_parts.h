// What several reports of a training share.
#pragma once

#include <array>
#include <optional>
#include <utility>

#include "assay/train_report.h"

namespace assay::report {

// Of the model that came out, on the validation data; nothing where it was not judged.
struct Judgement {
  std::optional<Accuracy> accuracy = {};
  std::optional<double> loss = {};
};
Judgement final_judgement(const TrainReport& report);

// Every figure of an epoch under its key.
std::array<std::pair<const char*, std::optional<double>>, 9> epoch_figures(
    const EpochResult& epoch);

}  // namespace assay::report
