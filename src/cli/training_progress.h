// Progress of training on stderr: a bar on a terminal, and a line for every epoch.
#pragma once

#include <chrono>

#include "assay/train.h"

namespace assay::cli {

class TrainingProgress : public TrainProgress {
 public:
  TrainingProgress(std::int64_t epochs, bool quiet);
  ~TrainingProgress() override;
  void stepped(const TrainMoment& moment) override;
  void finished(const EpochResult& epoch) override;
  bool cancelled() const override;

 private:
  void clear();

  std::int64_t epochs_ = 0;
  bool quiet_ = false;
  bool draws_ = false;
  bool has_drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_ = {};
};

}  // namespace assay::cli
