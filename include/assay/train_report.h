// A training run as people and programs read it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/count.h"
#include "assay/layout.h"
#include "assay/train.h"

namespace assay {

struct TrainedOn {
  std::string name = {};
  std::string source = {};
  std::string sha256 = {};  // of the samples trained on and their labels
  std::int64_t train_size = 0;
  std::string val_source = {};
  std::string val_sha256 = {};
  std::int64_t val_size = 0;  // 0: none
};
TrainedOn trained_on(const Dataset& training, const Dataset* validation);

struct TrainReport {
  ModelSummary model = {};
  TrainedOn dataset = {};
  TrainOptions options = {};
  TrainResult result = {};  // its model may be left out; no epochs where a model was only judged
  std::optional<Evaluation> evaluation = {};  // of the model that came out, where it was asked for
  std::string file = {};                      // the model was written to; empty: to none
};

std::string train_table(const TrainReport& report, const Layout& layout = {});
std::string train_json(const TrainReport& report);
std::string train_csv(const TrainReport& report);  // a line for each epoch

}  // namespace assay
