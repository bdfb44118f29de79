// A sweep of 10,000 tasks over 500 workers, without training 10,000 models: a real plan, journals
// as workers leave them after failures at random moments, and a real merge. Prints sizes, times and
// the work that failures cost.
//   bench_sweep_scale FOLDER [KINDS]     KINDS: unlike machines among the workers, default 1
#include <fmt/core.h>
#include <sys/resource.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "assay/sweep.h"
#include "sweep/journal.h"
#include "sweep/row_json.h"

namespace {

using assay::SweepPlan;
using assay::SweepTask;
using assay::report::Json;

constexpr std::size_t kWorkers = 500;
constexpr double kTaskSeconds = 10;
constexpr double kFailuresPerTask = 0.1;
constexpr double kDoneTwice = 0.05;

// Runs the work and prints its time.
template <typename Work>
auto timed(const char* what, Work work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  fmt::print("{:<34} {:8.2f} s\n", what, seconds.count());
  return result;
}

template <typename Number>
std::vector<Number> counted_up_to(Number last) {
  std::vector<Number> numbers;
  for (Number i = 1; i <= last; ++i) numbers.push_back(i);
  return numbers;
}

// 10 seeds x 1,000 versions.
assay::SweepConfig large_config(const std::filesystem::path& folder) {
  assay::SweepConfig config;
  config.dataset = "synthetic";
  config.epochs = 0;
  config.train_subset = 256;
  config.val_subset = 128;
  config.pruning_levels = {0.0, 0.2, 0.4, 0.6, 0.8};
  config.precisions = {"fp32", "fp16"};
  config.batch_sizes = counted_up_to<std::int64_t>(25);
  config.threads = counted_up_to<std::int64_t>(4);
  config.seeds = counted_up_to<std::uint64_t>(10);
  config.memory_bandwidth_gbps = 10;
  config.peak_compute_gmacs = 100;
  config.output_dir = folder.string();
  return config;
}

// Made up, in the form of a worker's.
Json result_of(const SweepTask& task, std::mt19937_64& random) {
  if (task.kind == assay::SweepTaskKind::Deploy) {
    return assay::sweep::deployment_record({.batch = task.batch_size, .rounds = 1});
  }
  const double latency = std::uniform_real_distribution(1.0, 2.0)(random);
  assay::PerfMetrics metrics;
  metrics.accuracy = 50 + static_cast<double>(random() % 40);
  metrics.latency_ms = latency;
  metrics.memory_mb = 1 + task.pruning_level;
  return {{"metrics", assay::sweep::metrics_record(metrics)},
          {"correct", 64},
          {"total", 128},
          {"ratio", latency},
          {"ratio_ci95_low", latency - 0.01},
          {"ratio_ci95_high", latency + 0.01},
          {"threads", task.threads}};
}

Json record_by(std::size_t worker, std::size_t kinds, const SweepTask& task,
               std::mt19937_64& random) {
  const assay::SweepHost host{.host = fmt::format("node{}", worker),
                              .processor = "an example",
                              .processors = 4,
                              .fingerprint = fmt::format("machine-{}", worker % kinds)};
  return {{"task", task.id},
          {"what", describe(task)},
          {"error", ""},
          {"measured_at", "2026-01-01T00:00:00Z"},
          {"seconds", kTaskSeconds},
          {"host", assay::sweep::host_record(host)},
          {"result", result_of(task, random)}};
}

struct Damage {
  std::size_t failures = 0;
  std::size_t cut_lines = 0;
  std::size_t repeated = 0;
  double lost_seconds = 0;
};

// A failure comes at any moment of a task, which is then done again; now and then it cuts the line
// that was being written.
std::string line_after_failures(const std::string& line, std::mt19937_64& random, Damage& damage) {
  std::uniform_real_distribution<double> any(0, 1);
  std::string text;
  while (any(random) < kFailuresPerTask) {
    ++damage.failures;
    damage.lost_seconds += kTaskSeconds * any(random);
    if (any(random) > 0.2) continue;
    ++damage.cut_lines;
    text += line.substr(0, 1 + random() % (line.size() - 2)) + "\n";
  }
  text += line;
  if (any(random) < kDoneTwice) {
    ++damage.repeated;
    text += line;
  }
  return text;
}

Damage write_journals(const std::filesystem::path& folder, const SweepPlan& plan,
                      std::size_t kinds) {
  std::mt19937_64 random(1);
  std::vector<std::string> journals(kWorkers);
  Damage damage;
  std::size_t position = 0;
  for (const SweepTask& task : plan.tasks) {
    if (task.makes_model()) continue;
    const std::size_t worker = position++ % kWorkers;
    const std::string line = assay::sweep::journal_line(record_by(worker, kinds, task, random));
    journals[worker] += line_after_failures(line, random, damage);
  }
  std::filesystem::create_directories(folder / "journal");
  for (std::size_t i = 0; i < kWorkers; ++i) {
    std::ofstream(folder / "journal" / fmt::format("shard-{}-of-{}.jsonl", i, kWorkers))
        << journals[i];
  }
  return damage;
}

void check(bool is_so, const char* what) {
  fmt::print("{:<34} {}\n", what, is_so ? "yes" : "NO");
  if (!is_so) std::exit(1);
}

void check_merged(const assay::MergedSweep& merged, const Damage& damage, std::size_t tasks) {
  std::multiset<std::string> rows;
  for (const auto& run : merged.runs) {
    for (const auto& row : run.rows) rows.insert(row.task);
  }
  const std::set<std::string> distinct(rows.begin(), rows.end());
  check(merged.missing.empty() && rows.size() == distinct.size(), "every task once");
  check(merged.duplicates == damage.repeated && merged.damaged_lines == damage.cut_lines &&
            merged.records - merged.duplicates == tasks,
        "duplicates and cut lines counted");
}

void print_costs(const std::filesystem::path& folder, const Damage& damage, std::size_t tasks) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "journal")) {
    bytes += entry.file_size();
  }
  constexpr double kMegabyte = 1e6;
  fmt::print("{:<34} {:8.2f} MB\n", "plan.json",
             static_cast<double>(std::filesystem::file_size(folder / "plan.json")) / kMegabyte);
  fmt::print("{:<34} {:8.2f} MB\n", "journals", static_cast<double>(bytes) / kMegabyte);
  fmt::print("{:<34} {:8} ({} cut a line)\n", "failures", damage.failures, damage.cut_lines);
  fmt::print("{:<34} {:8.2f} s of a task's {:g} s, {:.1f} % of all work\n", "lost for each",
             damage.lost_seconds / static_cast<double>(damage.failures), kTaskSeconds,
             100 * damage.lost_seconds / (kTaskSeconds * static_cast<double>(tasks)));
  rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  fmt::print("{:<34} {:8.0f} MB\n", "memory of this process",
             static_cast<double>(usage.ru_maxrss) * 1024 / kMegabyte);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) {
    fmt::print(stderr, "usage: bench_sweep_scale FOLDER [KINDS]\n");
    return 2;
  }
  const std::filesystem::path folder = words[1];
  const std::size_t kinds = count > 2 ? std::strtoul(words[2], nullptr, 10) : 1;
  const auto config = large_config(folder);
  const SweepPlan plan = timed("make the plan", [&] { return assay::plan_sweep(config); });
  timed("write it", [&] { return assay::write_plan(folder, plan), 0; });
  const SweepPlan read = timed("read it", [&] { return assay::read_plan(folder); });
  timed("make 50 models", [&] { return assay::prepare_models(folder).done_now; });
  const Damage damage =
      timed("write 500 journals", [&] { return write_journals(folder, plan, kinds); });
  const auto merged = timed("merge", [&] { return assay::merge_sweep(folder); });
  timed("write all files", [&] { return assay::write_sweep_files(folder, merged), 0; });
  std::size_t tasks = 0;
  for (const SweepTask& task : read.tasks) tasks += task.makes_model() ? 0U : 1U;
  fmt::print("{:<34} {:8}\n", "tasks that give results", tasks);
  print_costs(folder, damage, tasks);
  check_merged(merged, damage, tasks);
}
