// The steps of all epochs of a training, as a fraction of a longer task.
#pragma once

#include <string>
#include <utility>

#include "assay/train.h"

namespace assay::train {

class TrainingFraction : public TrainProgress {
 public:
  // `whole` may be null.
  TrainingFraction(Progress* whole, std::string what) : whole_(whole), what_(std::move(what)) {}
  bool cancelled() const override { return whole_ != nullptr && whole_->cancelled(); }
  void stepped(const TrainMoment& moment) override {
    const auto steps = static_cast<double>(moment.epochs * moment.steps);
    const auto done = static_cast<double>((moment.epoch - 1) * moment.steps + moment.step);
    if (whole_ != nullptr && steps > 0) whole_->report(done / steps, what_);
  }

 private:
  Progress* whole_ = nullptr;
  std::string what_;
};

}  // namespace assay::train
