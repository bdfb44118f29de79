#include "cli/training_progress.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/text.h"
#include "cli/console.h"

namespace assay::cli {

namespace {

constexpr auto kBetweenDrawings = std::chrono::milliseconds(100);
constexpr int kCells = 10;
constexpr double kDay = 86'400;

// "0:45", "1:05:09"
std::string clock_text(double seconds) {
  if (!(seconds < 100 * kDay)) return "days";
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  const auto hours = whole / 3600;
  const auto minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

std::string moment_text(const TrainMoment& moment) {
  return fmt::format("epoch {}/{}, loss {:.3g}, {:.1f} %, {} samples/s, {} left", moment.epoch,
                     moment.epochs, moment.loss, 100 * moment.accuracy,
                     rate_text(moment.samples_per_second), clock_text(moment.seconds_left));
}

double share_done(const TrainMoment& moment) {
  const auto steps = static_cast<double>(moment.steps);
  const double epochs = static_cast<double>(moment.epoch - 1) +
                        static_cast<double>(moment.step) / std::max(1.0, steps);
  return epochs / static_cast<double>(moment.epochs);
}

std::string epoch_text(const EpochResult& epoch, std::int64_t epochs) {
  const auto& judged = epoch.validation_accuracy;
  const std::string validation =
      judged ? fmt::format(", validation {:.2f} % ({:.2f} to {:.2f})", 100 * judged->value,
                           100 * judged->ci95_low, 100 * judged->ci95_high)
             : "";
  return fmt::format("epoch {}/{}: loss {:.4g}, accuracy {:.2f} %{}, {} samples/s, {}\n",
                     epoch.epoch, epochs, epoch.loss, 100 * epoch.accuracy, validation,
                     rate_text(epoch.samples_per_second), duration_text(epoch.seconds * 1000));
}

}  // namespace

TrainingProgress::TrainingProgress(std::int64_t epochs, bool quiet)
    : epochs_(epochs), quiet_(quiet), draws_(draws_progress(quiet)) {}

TrainingProgress::~TrainingProgress() {
  clear();
}

void TrainingProgress::clear() {
  if (has_drawn_) clear_bar();
  has_drawn_ = false;
}

void TrainingProgress::stepped(const TrainMoment& moment) {
  const auto now = std::chrono::steady_clock::now();
  if (!draws_ || now - last_drawn_ < kBetweenDrawings) return;
  draw_bar(share_done(moment), kCells, moment_text(moment));
  last_drawn_ = now;
  has_drawn_ = true;
}

void TrainingProgress::finished(const EpochResult& epoch) {
  if (quiet_) return;
  clear();
  fmt::print(stderr, "{}", epoch_text(epoch, epochs_));
  std::fflush(stderr);
}

bool TrainingProgress::cancelled() const {
  return interrupted();
}

}  // namespace assay::cli
