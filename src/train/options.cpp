#include "train/schedule.h"

#include <cmath>
#include <numbers>

#include "base/fail.h"

namespace assay {

using namespace assay::train;

namespace {

void check_at_least(const char* what, std::int64_t value, std::int64_t smallest) {
  if (value >= smallest) return;
  fail_usage("{} is {}: expected an integer of at least {}", what, value, smallest);
}

// From 0 to below 1.
void check_share(const char* what, double value) {
  if (value >= 0 && value < 1) return;
  fail_usage("{} is {}: expected a number from 0 to below 1", what, value);
}

void check_optimizer(const Optimizer& optimizer) {
  check_share("the momentum", optimizer.momentum);
  check_share("beta1", optimizer.beta1);
  check_share("beta2", optimizer.beta2);
  if (!(optimizer.epsilon > 0) || !std::isfinite(optimizer.epsilon)) {
    fail_usage("epsilon is {}: expected a finite number above 0", optimizer.epsilon);
  }
  if (!(optimizer.weight_decay >= 0) || !std::isfinite(optimizer.weight_decay)) {
    fail_usage("the weight decay is {}: expected a finite number from 0 on",
               optimizer.weight_decay);
  }
}

}  // namespace

std::string_view name(Schedule schedule) {
  return schedule == Schedule::Constant ? "constant" : "cosine";
}

Schedule schedule_named(std::string_view wanted) {
  for (const Schedule schedule : {Schedule::Constant, Schedule::Cosine}) {
    if (wanted == name(schedule)) return schedule;
  }
  fail_usage("there is no schedule '{}': choose from constant, cosine", wanted);
}

void check_train_options(const TrainOptions& options, bool has_validation) {
  check_at_least("the number of epochs", options.epochs, 1);
  check_at_least("the batch size", options.batch_size, 1);
  check_at_least("the number of parts of a batch", options.accumulate, 1);
  if (options.batch_size % options.accumulate != 0) {
    fail_usage("a batch of {} cannot be divided into {} equal parts", options.batch_size,
               options.accumulate);
  }
  check_at_least("the patience", options.patience, 0);
  if (!(options.learning_rate > 0) || !std::isfinite(options.learning_rate)) {
    fail_usage("the learning rate is {}: expected a finite number above 0", options.learning_rate);
  }
  check_optimizer(options.optimizer);
  if (options.loss == Loss::SumOfSquares) {
    fail_usage("the loss {} learns nothing from labels: choose {} or {}", name(options.loss),
               name(Loss::CrossEntropy), name(Loss::MeanSquaredError));
  }
  if (options.patience > 0 && !has_validation) {
    fail_usage("stopping early needs validation data, and there is none");
  }
  if (options.resume && options.checkpoint.empty()) {
    fail_usage("resuming needs the checkpoint file to resume from");
  }
}

double train::learning_rate_at(const TrainOptions& options, std::int64_t step, std::int64_t steps) {
  if (options.schedule == Schedule::Constant) return options.learning_rate;
  const double done = static_cast<double>(step) / static_cast<double>(steps);
  return options.learning_rate * 0.5 * (1 + std::cos(std::numbers::pi * done));
}

}  // namespace assay
