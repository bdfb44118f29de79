// What more threads give, and where that ends.
#include <algorithm>

#include "assay/study.h"
#include "base/fail.h"
#include "base/text.h"
#include "profile/studies/rounds.h"

namespace assay {

using namespace assay::profile;

namespace {

// A speed-up below this is none.
constexpr double kWorthwhile = 1.05;

// 1, 2, 4, … and all.
std::vector<int> all_thread_counts() {
  const int most = std::max(1, static_cast<int>(read_topology().usable.size()));
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

void check_thread_counts(const std::vector<int>& threads) {
  const bool ascends = std::ranges::is_sorted(threads, std::ranges::less_equal{});
  if (threads.front() < 1 || !ascends) {
    fail_usage("`threads` must ascend from 1 or more: each number is compared with the first");
  }
}

std::vector<StudySetting> threaded_models(const Graph& model, const std::string& name,
                                          const std::vector<int>& threads,
                                          const StudyOptions& options, const RunOptions& run) {
  std::vector<StudySetting> settings;
  for (const int count : threads) {
    RunOptions one = study_run(run, options);
    one.program.cpu.threads = count;
    settings.push_back(
        {count == 1 ? "1 thread" : fmt::format("{} threads", count), name, model, std::move(one)});
  }
  return settings;
}

ThreadRow thread_row(const Profile& profile, const Profile& first) {
  ThreadRow row;
  row.threads = profile.program.cpu.threads;
  row.latency_ms = profile.run_ms();
  row.samples_per_second = profile.throughput_sps;
  row.speedup = row.latency_ms > 0 ? first.run_ms() / row.latency_ms : 0;
  row.efficiency = row.speedup * first.program.cpu.threads / row.threads;
  return row;
}

// S = 1 / (s + (1 - s) / n), solved for s.
std::optional<double> amdahl_share(const ThreadRow& row) {
  if (row.threads < 2 || !(row.speedup > 0)) return {};
  const double n = row.threads;
  return std::clamp((1 / row.speedup - 1 / n) / (1 - 1 / n), 0.0, 1.0);
}

const ThreadRow& thread_row_at_end(const ThreadScaling& study) {
  return *std::ranges::find(study.rows, study.ends_at, &ThreadRow::threads);
}

}  // namespace

int scaling_ends_at(std::span<const ThreadRow> rows) {
  std::size_t end = 0;
  while (end + 1 < rows.size() && rows[end + 1].latency_ms * kWorthwhile <= rows[end].latency_ms) {
    ++end;
  }
  return rows[end].threads;
}

std::vector<std::string> threads_verdict(const ThreadScaling& study) {
  if (study.rows.size() < 2) {
    return {fmt::format("One thread takes {}; there is nothing to compare it with.",
                        duration_text(study.rows.front().latency_ms))};
  }
  std::vector<std::string> sentences;
  const ThreadRow& end = thread_row_at_end(study);
  const ThreadRow& first = study.rows.front();
  if (end.threads == first.threads) {
    const ThreadRow& next = study.rows[1];
    return {
        fmt::format("More threads do not make it faster: use {}. {} threads take {}, {} takes "
                    "{}.",
                    first.threads, next.threads, duration_text(next.latency_ms), first.threads,
                    duration_text(first.latency_ms))};
  }
  sentences.push_back(
      fmt::format("{} threads are {:.2f} times as fast as {}: {:.0f} % efficiency per thread.",
                  end.threads, end.speedup, first.threads, 100 * end.efficiency));
  if (end.threads < study.rows.back().threads) {
    sentences.push_back(fmt::format(
        "Beyond {} the speed-up ends: each further step adds less than 5 %.", end.threads));
  } else {
    sentences.push_back("The speed-up does not end within the threads of this machine.");
  }
  if (study.serial_share) {
    sentences.push_back(fmt::format(
        "By Amdahl's law {:.0f} % of one thread's time does not run in parallel, which limits the "
        "speed-up to {}.",
        100 * *study.serial_share,
        *study.serial_share < 0.005 ? "the number of threads"
                                    : fmt::format("{:.3g}", 1 / *study.serial_share)));
  }
  return sentences;
}

ThreadScaling analyze_thread_scaling(const Graph& model, const std::string& name,
                                     std::vector<int> threads, const StudyOptions& options,
                                     const RunOptions& run, Progress* progress) {
  if (threads.empty()) threads = all_thread_counts();
  check_thread_counts(threads);
  StudiedProfiles studied =
      profile_in_rounds(threaded_models(model, name, threads, options, run), options, progress);
  ThreadScaling study;
  set_facts(studied.profiles.back(), study);
  study.warnings = std::move(studied.warnings);
  study.batch = studied.profiles.front().batch;
  for (const Profile& profile : studied.profiles) {
    study.rows.push_back(thread_row(profile, studied.profiles.front()));
  }
  study.ends_at = scaling_ends_at(study.rows);
  if (study.rows.front().threads == 1) study.serial_share = amdahl_share(study.rows.back());
  study.verdict = threads_verdict(study);
  return study;
}

}  // namespace assay
