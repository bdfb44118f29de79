// The progress of one part of a longer task.
#pragma once

#include <string>
#include <string_view>

#include "assay/progress.h"

namespace assay {

// A fraction of the part becomes one of the whole, between `from` and `to`, with a text of its own.
class PartOfProgress : public Progress {
 public:
  PartOfProgress(Progress* whole, double from, double to, std::string what)
      : whole_(whole), from_(from), to_(to), what_(std::move(what)) {}
  void report(double fraction, std::string_view) override {
    if (whole_ != nullptr) whole_->report(from_ + (to_ - from_) * fraction, what_);
  }
  bool cancelled() const override { return whole_ != nullptr && whole_->cancelled(); }

 private:
  Progress* whole_ = nullptr;
  double from_ = 0;
  double to_ = 1;
  std::string what_;
};

}  // namespace assay
