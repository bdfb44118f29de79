#include "assay/train.h"

#include <algorithm>
#include <cmath>

#include "assay/cost.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "train/bound_model.h"
#include "train/checkpoint.h"
#include "train/divergence.h"
#include "train/schedule.h"
#include "train/scores.h"
#include "train/weights.h"
#include "transform/inference_mode.h"

namespace assay {

using namespace assay::train;

namespace {

// The state is saved every few steps: the search for the step that diverged starts there.
constexpr std::int64_t kStepsBetweenLooks = 32;

double seconds_since(std::int64_t start) {
  return static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
}

std::vector<std::string> names_of(const std::vector<StateSlot>& state) {
  std::vector<std::string> names;
  for (const StateSlot& slot : state) names.push_back(slot.name);
  return names;
}

bool have_same_types(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& one, const Tensor& other) {
    return one.type() == other.type() && one.dims() == other.dims();
  });
}

// Position of the smallest validation loss; without validation, of the last.
std::size_t best_of(const std::vector<EpochResult>& epochs) {
  const auto loss = [](const EpochResult& epoch) { return *epoch.validation_loss; };
  if (!epochs.back().validation_loss) return epochs.size() - 1;
  return static_cast<std::size_t>(std::ranges::min_element(epochs, {}, loss) - epochs.begin());
}

struct StepResult {
  double loss = 0;
  Tensor scores = {};
};

// Running totals of an epoch.
struct Tally {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  std::int64_t correct = 0;
  double sum_of_losses = 0;

  void add(const StepResult& result, const Tensor& labels) {
    ++steps;
    samples += labels.elements();
    sum_of_losses += result.loss;
    correct += count_correct(result.scores, labels.to_vector<std::int64_t>());
  }
  double loss() const { return sum_of_losses / static_cast<double>(steps); }
  double accuracy() const { return static_cast<double>(correct) / static_cast<double>(samples); }
};

class Trainer {
 public:
  Trainer(const Graph& graph, const Dataset& training, const Dataset* validation,
          const TrainOptions& options, TrainProgress& progress)
      : graph_(transform::in_inference_mode(graph)),
        options_(options),
        progress_(progress),
        loader_(training, {.batch_size = options.batch_size,
                           .seed = options.seed,
                           .shuffle = options.shuffle,
                           .drop_last = true}),
        bound_(bind_to_data(graph_, training, options.batch_size / options.accumulate)) {
    if (validation != nullptr) {
      const std::int64_t batch_size = std::min(options.batch_size, validation->size());
      validation_.emplace(*validation, LoaderOptions{.batch_size = batch_size, .shuffle = false});
      bind_to_data(graph_, *validation, batch_size);
    }
    if (!options.checkpoint.empty()) {
      done_.setup = setup_of(graph_, training, validation, options);
    }
  }

  TrainResult run() {
    start_ = steady_clock().nanoseconds();
    prepare();
    begin_or_resume();
    start_program();
    while (!is_finished()) {
      done_.epochs.push_back(run_epoch());
      keep_epoch();
      progress_.finished(done_.epochs.back());
    }
    TrainResult result = result_so_far();
    result.seconds = seconds_since(start_);
    return result;
  }

 private:
  void prepare() {
    const TrainingStepOptions step = {.loss = options_.loss,
                                      .optimizer = options_.optimizer,
                                      .seed = options_.seed,
                                      .accumulate = options_.accumulate,
                                      .pieces = options_.pieces};
    step_ = training_step(bound_.model, trainable_parameters(bound_.model), step);
    check_weights_can_return(graph_, step_);
    done_.state_names = names_of(step_.state);
    done_.state = initial_state(step_);
    if (const auto bad = first_not_finite(done_.state)) {
      fail_bad_input("stored tensor '{}' holds NaN or an infinity, training cannot begin with it",
                     step_.state[*bad].name);
    }
  }

  void start_program() {
    program_ = compile(infer_shapes(step_.graph), options_.program, &progress_);
    program_->set_state(done_.state);
  }

  void begin_or_resume() {
    std::error_code ignored;
    const bool is_there =
        !options_.checkpoint.empty() && std::filesystem::exists(options_.checkpoint, ignored);
    if (is_there && !options_.resume) {
      fail_usage("{}: already exists; resume from it, remove it or name another file",
                 options_.checkpoint.string());
    }
    if (options_.resume && !is_there) {
      warnings_.push_back(
          fmt::format("{}: there is no checkpoint yet, training starts from the beginning",
                      options_.checkpoint.string()));
    }
    if (is_there) take_up(read_checkpoint(options_.checkpoint, done_.setup));
    resumed_after_ = static_cast<std::int64_t>(done_.epochs.size());
  }

  // Damaged files were refused before; this check is for forged ones.
  void take_up(Checkpoint checkpoint) {
    const auto weights = model_weights(step_, done_.state);
    const bool has_best = options_.patience > 0;
    const auto is_judged = [&](const EpochResult& epoch) {
      return epoch.validation_loss.has_value() == validation_.has_value();
    };
    const bool fits = std::ranges::all_of(checkpoint.epochs, is_judged) &&
                      have_same_types(checkpoint.state, done_.state) &&
                      have_same_types(checkpoint.best, has_best ? weights : std::vector<Tensor>{});
    if (!fits || first_not_finite(checkpoint.state)) {
      fail_bad_input("{}: its content does not fit this training, remove it or name another",
                     options_.checkpoint.string());
    }
    done_ = std::move(checkpoint);
  }

  bool is_finished() const {
    return static_cast<std::int64_t>(done_.epochs.size()) >= options_.epochs || has_lost_patience();
  }

  bool has_lost_patience() const {
    if (options_.patience == 0 || done_.epochs.empty()) return false;
    const std::size_t since = done_.epochs.size() - 1 - best_of(done_.epochs);
    return static_cast<std::int64_t>(since) >= options_.patience;
  }

  std::int64_t epoch() const { return static_cast<std::int64_t>(done_.epochs.size()); }

  double rate_of(std::int64_t step) const {
    const std::int64_t steps = loader_.batches();
    return learning_rate_at(options_, epoch() * steps + step, options_.epochs * steps);
  }

  std::vector<Tensor> inputs_of(const Batch& batch, std::int64_t step) const {
    const std::int64_t number = epoch() * loader_.batches() + step + 1;
    return {fitted_samples(batch.samples, bound_),
            target_of(options_.loss, batch.labels, bound_.outputs),
            Tensor::of_float({}, {static_cast<float>(rate_of(step))}),
            Tensor::of_int64({}, {number})};
  }

  StepResult run_step(const Batch& batch, std::int64_t step) {
    program_->set_inputs(inputs_of(batch, step));
    program_->run();
    const auto results = program_->results();
    return {.loss = results[0].to_double().front(), .scores = results[1]};
  }

  EpochResult run_epoch() {
    const std::int64_t start = steady_clock().nanoseconds();
    loader_.start_epoch(epoch());
    Tally tally;
    good_state_ = done_.state;
    good_step_ = 0;
    for (std::int64_t step = 0; step < loader_.batches(); ++step) {
      if (step > 0 && step % kStepsBetweenLooks == 0) look_at_state(step);
      const Batch batch = loader_.batch(step);
      const StepResult result = run_step(batch, step);
      if (!std::isfinite(result.loss)) {
        fail_diverged(step, std::isnan(result.loss) ? "the loss is NaN" : "the loss is infinite");
      }
      tally.add(result, batch.labels);
      tell(tally, seconds_since(start));
      if (progress_.cancelled()) {
        stop(fmt::format("after step {} of {}", step + 1, loader_.batches()));
      }
    }
    look_at_state(loader_.batches());
    return finished_epoch(tally, start);
  }

  // An activation may hide an infinity: check the state too, not only the loss.
  void look_at_state(std::int64_t step) {
    std::vector<Tensor> state = program_->state_values();
    if (const auto bad = first_not_finite(state)) {
      fail_diverged(step - 1, fmt::format("'{}' is not finite", step_.state[*bad].name));
    }
    good_state_ = std::move(state);
    good_step_ = step;
  }

  EpochResult finished_epoch(const Tally& tally, std::int64_t start) {
    EpochResult result = {.epoch = epoch() + 1,
                          .loss = tally.loss(),
                          .accuracy = tally.accuracy(),
                          .learning_rate = rate_of(tally.steps - 1)};
    result.samples_per_second = static_cast<double>(tally.samples) / seconds_since(start);
    done_.state = std::move(good_state_);
    if (validation_) {
      const Evaluation seen = validated();
      result.validation_loss = seen.loss;
      result.validation_accuracy = seen.accuracy;
    }
    result.seconds = seconds_since(start);
    return result;
  }

  // The model in inference mode, with the current weights.
  Evaluation validated() {
    const Graph model = model_with(model_weights(step_, done_.state));
    const EvaluateOptions options = {.loss = options_.loss, .program = options_.program};
    try {
      Evaluation seen = evaluate(model, *validation_, options, &progress_);
      if (std::isfinite(seen.loss)) return seen;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::Cancelled) stop("while it was validated");
      throw;
    }
    fail_running(
        "training diverged in epoch {}: the loss on the validation data is not finite; lower the "
        "learning rate, which is {:g}",
        epoch() + 1, options_.learning_rate);
  }

  Graph model_with(std::span<const Tensor> weights) const {
    return with_weights(graph_, step_, weights);
  }

  void keep_epoch() {
    const bool is_best = best_of(done_.epochs) + 1 == done_.epochs.size();
    if (options_.patience > 0 && is_best) done_.best = model_weights(step_, done_.state);
    if (!options_.checkpoint.empty()) write_checkpoint(done_, options_.checkpoint);
  }

  // Repeats steps from the last good state until one diverges.
  [[noreturn]] void fail_diverged(std::int64_t last_step, const std::string& what) {
    std::vector<Tensor> before = good_state_;
    program_->set_state(before);
    std::int64_t step = good_step_;
    for (; step < last_step; ++step) {
      run_step(loader_.batch(step), step);
      std::vector<Tensor> after = program_->state_values();
      if (first_not_finite(after)) break;
      before = std::move(after);
    }
    const std::string where = first_not_finite_in(
        bound_.model.graph, step_, before, inputs_of(loader_.batch(step), step), options_.program);
    fail_running(
        "training diverged in epoch {}, step {}: {}; the first number that was not finite is in "
        "{} at step {}; lower the learning rate, which is {:g}",
        epoch() + 1, last_step + 1, what, where, step + 1, options_.learning_rate);
  }

  void tell(const Tally& tally, double seconds) {
    const std::int64_t steps = loader_.batches();
    const auto made = static_cast<double>((epoch() - resumed_after_) * steps + tally.steps);
    const auto all = static_cast<double>((options_.epochs - resumed_after_) * steps);
    progress_.report(made / all, "training");
    progress_.stepped({.epoch = epoch() + 1,
                       .epochs = options_.epochs,
                       .step = tally.steps,
                       .steps = steps,
                       .loss = tally.loss(),
                       .accuracy = tally.accuracy(),
                       .samples_per_second = static_cast<double>(tally.samples) / seconds,
                       .seconds_left = seconds_since(start_) * (all - made) / made});
  }

  [[noreturn]] void stop(const std::string& where) const {
    const bool is_kept = !options_.checkpoint.empty() && !done_.epochs.empty();
    const std::string kept = is_kept
                                 ? fmt::format("{} has everything up to epoch {}, resume from it",
                                               options_.checkpoint.string(), epoch())
                                 : "nothing was saved";
    throw Error(ErrorKind::Cancelled,
                fmt::format("stopped in epoch {} {}; {}", epoch() + 1, where, kept));
  }

  TrainResult result_so_far() {
    const auto best = static_cast<std::int64_t>(best_of(done_.epochs)) + 1;
    const bool takes_best = options_.patience > 0;
    return {.model = model_with(takes_best ? done_.best : model_weights(step_, done_.state)),
            .epochs = done_.epochs,
            .resumed_after = resumed_after_,
            .best_epoch = best,
            .model_epoch = takes_best ? best : epoch(),
            .stopped_early = has_lost_patience(),
            .threads = program_->threads(),
            .memory = program_->memory(),
            .warnings = warnings_};
  }

  Graph graph_;
  const TrainOptions& options_;
  TrainProgress& progress_;
  Loader loader_;
  std::optional<Loader> validation_;
  BoundModel bound_;
  TrainingStep step_;
  std::unique_ptr<Program> program_;
  Checkpoint done_;
  std::vector<Tensor> good_state_;  // before `good_step_` of this epoch
  std::int64_t good_step_ = 0;
  std::int64_t resumed_after_ = 0;
  std::int64_t start_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace

TrainResult train_model(const Graph& graph, const Dataset& training, const Dataset* validation,
                        const TrainOptions& options, TrainProgress* progress) {
  check_train_options(options, validation != nullptr);
  TrainProgress silent;
  return Trainer(graph, training, validation, options, progress != nullptr ? *progress : silent)
      .run();
}

}  // namespace assay
