#include <fmt/core.h>

#include <chrono>
#include <map>

#include "assay/sweep.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "base/utc_time.h"
#include "sweep/isolated.h"
#include "sweep/journal.h"
#include "sweep/limits.h"
#include "sweep/model_store.h"
#include "sweep/records.h"
#include "sweep/row_json.h"
#include "sweep/tasks.h"
#include "sweep/this_host.h"
#include "sweep/worker.h"

namespace assay {

namespace sweep {

namespace {

using SteadyClock = std::chrono::steady_clock;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

// Tasks done and left, and the time that those left will take if they are like those done.
class TaskProgress : public Progress {
 public:
  TaskProgress(Progress* whole, std::size_t tasks) : whole_(whole), tasks_(tasks) {}

  void begin(const std::string& what) { what_ = what; }
  void finish() { ++done_; }
  void report(double fraction, std::string_view) override {
    if (whole_ == nullptr || tasks_ == 0) return;
    const double all = (static_cast<double>(done_) + fraction) / static_cast<double>(tasks_);
    whole_->report(all, what_ + time_left(all));
  }
  bool cancelled() const override { return whole_ != nullptr && whole_->cancelled(); }

 private:
  std::string time_left(double fraction) const {
    constexpr double kEnoughToTell = 0.05;
    if (fraction < kEnoughToTell) return "";
    const double left = seconds_since(start_) * (1 - fraction) / fraction;
    return fmt::format(", {} left", duration_text(1000 * left));
  }

  Progress* whole_ = nullptr;
  std::size_t tasks_ = 0;
  std::size_t done_ = 0;
  std::string what_;
  SteadyClock::time_point start_ = SteadyClock::now();
};

}  // namespace

Worker::Worker(std::filesystem::path folder, const SweepPlan& plan, Materials& materials,
               const SweepOptions& options)
    : folder_(std::move(folder)),
      plan_(plan),
      materials_(materials),
      options_(options),
      models_(folder_, materials) {
  if (options.retries_errors) models_.retry_errors();
  for (const SweepTask& task : plan.tasks) tasks_.emplace(task.id, &task);
  for (const auto& [task, record] : read_records(folder_, plan).by_task) {
    if (options.retries_errors && is_error(record)) continue;
    done_.insert(task);
    note_accuracy(*tasks_.at(task), record);
  }
}

std::vector<const SweepTask*> Worker::own_tasks() const {
  std::vector<const SweepTask*> own;
  std::size_t position = 0;
  for (const SweepTask& task : plan_.tasks) {
    if (task.makes_model()) continue;
    if (position++ % options_.shards == options_.shard) own.push_back(&task);
  }
  return own;
}

SweepOutcome Worker::work(Progress* progress) {
  const auto own = own_tasks();
  SweepOutcome outcome{.tasks = own.size()};
  std::vector<const SweepTask*> left;
  for (const SweepTask* task : own) {
    if (!done_.contains(task->id)) left.push_back(task);
  }
  outcome.done_before = own.size() - left.size();
  if (left.empty()) return outcome;
  make_folder(journal_folder(folder_));
  Journal journal(journal_folder(folder_) / journal_name());
  host_ = this_host();
  TaskProgress all(progress, left.size());
  for (const SweepTask* task : left) {
    if (all.cancelled()) break;
    all.begin(describe(*task));
    const std::optional<report::Json> record = record_of(*task, all);
    if (!record) break;
    journal.append(*record);
    note_accuracy(*task, *record);
    ++outcome.done_now;
    outcome.failed += is_error(*record) ? 1 : 0;
    all.finish();
  }
  outcome.interrupted = all.cancelled();
  return outcome;
}

// A worker that runs again goes on in its own journal.
std::string Worker::journal_name() const {
  if (options_.shards == 1) return "results.jsonl";
  return fmt::format("shard-{}-of-{}.jsonl", options_.shard, options_.shards);
}

// Why the model could not be made; empty if it is there; nothing if cancelled.
std::optional<std::string> Worker::ensure_model(const std::string& id, Progress& progress) {
  const SweepTask& maker = *tasks_.at(id);
  if (!maker.input.empty()) {
    auto error = ensure_model(maker.input, progress);
    if (!error || !error->empty()) return error;
  }
  const auto record = models_.ensure(maker, &progress);
  if (!record) return std::nullopt;
  return record->error.empty() ? "" : describe(maker) + ": " + record->error;
}

std::optional<std::string> Worker::ensure_models(const SweepTask& task, Progress& progress) {
  auto error = ensure_model(task.baseline, progress);
  if (!error || !error->empty()) return error;
  return ensure_model(task.input, progress);
}

// Measured at one batch size or number of threads, it holds for all.
void Worker::note_accuracy(const SweepTask& task, const report::Json& record) {
  if (task.kind != SweepTaskKind::Measure || is_error(record)) return;
  const report::Json& result = record["result"];
  accuracies_.emplace(std::pair(task.input, task.precision),
                      accuracy_of(result.at("correct").get<std::int64_t>(),
                                  result.at("total").get<std::int64_t>()));
}

std::optional<Accuracy> Worker::known_accuracy(const SweepTask& task) const {
  const auto known = accuracies_.find({task.input, task.precision});
  return known == accuracies_.end() ? std::nullopt : std::optional(known->second);
}

IsolatedEnd Worker::run(const SweepTask& task, Progress& progress) {
  materials_.data(task.seed);
  const auto accuracy = known_accuracy(task);
  return run_isolated(
      [&](Progress& inner) {
        return task.kind == SweepTaskKind::Deploy
                   ? simulate_deployment_of(task, folder_, materials_, inner)
                   : measure_version(task, folder_, materials_, accuracy, inner);
      },
      limits_of(plan_.config), &progress, false);
}

std::optional<report::Json> Worker::record_of(const SweepTask& task, Progress& progress) {
  const auto missing_model = ensure_models(task, progress);
  if (!missing_model) return std::nullopt;
  const auto start = SteadyClock::now();
  IsolatedEnd end{IsolatedEnd::Kind::Failed, *missing_model};
  if (missing_model->empty()) end = run(task, progress);
  if (end.kind == IsolatedEnd::Kind::Stopped) return std::nullopt;
  const bool is_done = end.kind == IsolatedEnd::Kind::Finished;
  return report::Json{{"task", task.id},
                      {"what", describe(task)},
                      {"error", is_done ? "" : end.text},
                      {"measured_at", utc_now()},
                      {"seconds", seconds_since(start)},
                      {"host", host_record(host_)},
                      {"result", is_done ? report::Json::parse(end.text) : report::Json()}};
}

SweepOutcome Worker::prepare(Progress* progress) {
  SweepOutcome outcome;
  std::vector<const SweepTask*> makers;
  for (const SweepTask& task : plan_.tasks) {
    if (task.makes_model()) makers.push_back(&task);
  }
  outcome.tasks = makers.size();
  TaskProgress all(progress, makers.size());
  for (const SweepTask* task : makers) {
    all.begin(describe(*task));
    const bool was_there = models_.find(task->id).has_value();
    const auto error = ensure_model(task->id, all);
    if (!error) break;
    (was_there ? outcome.done_before : outcome.done_now) += 1;
    outcome.failed += error->empty() ? 0 : 1;
    all.finish();
  }
  outcome.interrupted = all.cancelled();
  return outcome;
}

namespace {

void check_same_materials(const SweepPlan& plan, const SweepPlan& now) {
  if (plan.model_sha256 != now.model_sha256) {
    fail_bad_input("model {}: not the one the plan was made for; make the plan again",
                   plan.config.model);
  }
  if (plan.data_sha256 != now.data_sha256) {
    fail_bad_input(
        "data set {}: not what the plan was made for; copy the same files to this "
        "machine, or make the plan again",
        plan.config.dataset);
  }
}

}  // namespace

}  // namespace sweep

SweepOutcome work_on_sweep(const std::filesystem::path& folder, const SweepOptions& options,
                           Progress* progress) {
  if (options.shard >= options.shards) {
    fail_usage("shard {} of {}: shards count from 0", options.shard, options.shards);
  }
  const SweepPlan plan = read_plan(folder);
  const bool is_alone = options.shards == 1;
  const sweep::FolderLock lock(
      folder, is_alone ? sweep::FolderLock::Mode::Exclusive : sweep::FolderLock::Mode::Shared);
  sweep::Materials materials(plan.config);
  sweep::check_same_materials(plan, sweep::plan_with(materials));
  std::vector<std::string> warnings;
  sweep::measure_ceilings_if_needed(plan.config, progress, warnings);
  SweepOutcome outcome = sweep::Worker(folder, plan, materials, options).work(progress);
  outcome.warnings = warnings;
  return outcome;
}

SweepOutcome prepare_models(const std::filesystem::path& folder, Progress* progress) {
  const SweepPlan plan = read_plan(folder);
  const sweep::FolderLock lock(folder, sweep::FolderLock::Mode::Shared);
  sweep::Materials materials(plan.config);
  sweep::check_same_materials(plan, sweep::plan_with(materials));
  return sweep::Worker(folder, plan, materials, {}).prepare(progress);
}

SweepResult run_sweep(const SweepConfig& config, const SweepOptions& options, Progress* progress) {
  const std::filesystem::path folder = config.output_dir;
  sweep::Materials materials(config);
  const SweepPlan plan = sweep::plan_with(materials);
  make_folder(folder);
  const sweep::FolderLock lock(folder, sweep::FolderLock::Mode::Exclusive);
  write_plan(folder, plan);
  SweepResult result;
  std::vector<std::string> warnings;
  sweep::measure_ceilings_if_needed(config, progress, warnings);
  result.outcome = sweep::Worker(folder, plan, materials, options).work(progress);
  result.outcome.warnings = warnings;
  result.merged = merge_sweep(folder, options.command);
  write_sweep_files(folder, result.merged);
  return result;
}

}  // namespace assay
