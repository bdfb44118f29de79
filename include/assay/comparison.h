// Is B faster than A? A verdict from several pairs of fresh processes that take turns measuring.
//
// Each process has a bias of its own (its memory layout, the core it runs on), which no number of
// samples within it can reveal. So each pair of processes counts as one observation: the median
// over its turns of the ratio between a turn of one and the neighbouring turn of the other, which
// ran under the same conditions. The interval comes from the spread over pairs, which includes the
// noise within processes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/compared_metric.h"

namespace assay {

enum class ComparisonVerdict { Faster, Slower, Same, Undecided };
std::string_view name(ComparisonVerdict verdict);  // "FASTER", "SLOWER", "SAME", "UNDECIDED"

struct ProcessSamples {
  std::vector<double> values;
  std::vector<std::size_t> turn_ends = {};  // samples taken when each turn was over; none: no turns
};

struct ComparisonOptions {
  double threshold = 0.01;  // a smaller change is noise
  // With fewer than 6 pairs the bias of processes cannot be seen; it is then taken to have at least
  // this standard deviation, relative to the median.
  double assumed_process_deviation = 0.008;
  std::size_t min_pairs = 6;
  std::size_t max_pairs = 40;
  double max_seconds = 60;
};

struct Comparison {
  double ratio = 1;  // B's time over A's: 1.03 says that B takes 3 % longer
  double ci95_low = 0;
  double ci95_high = 0;
  // FASTER, SLOWER: the whole interval lies beyond the threshold.
  // SAME: it lies within the threshold, or it contains 1 and stays within twice the threshold.
  // UNDECIDED: anything else; more pairs may decide.
  ComparisonVerdict verdict = ComparisonVerdict::Undecided;
  std::size_t pairs = 0;
  double median_a = 0;  // of the processes' medians, in the samples' unit
  double median_b = 0;
  ValueRange median_b_ci95 = {};  // includes the bias of processes
  std::string explanation;        // one sentence with the figures
};

// The processes at the same position ran next to each other, turn by turn, so there must be as many
// of A as of B. Without turns, all the samples of a process form one turn.
Comparison compare_samples(std::span<const ProcessSamples> a_processes,
                           std::span<const ProcessSamples> b_processes,
                           const ComparisonOptions& options = {});

// What is taken for the deviation of processes where it was not measured on the machine.
inline constexpr double kAssumedStoredDeviation = 0.05;

// Fewer samples may all have met the same stall: their comparison is UNDECIDED.
inline constexpr std::size_t kFewestStoredSamples = 6;

// One process of each, which measured at different times: the ratio of their medians. Nothing in
// the samples tells how much processes differ, so `options.assumed_process_deviation` must: the
// machine's ProcessSpread, or kAssumedStoredDeviation. Nor do they tell what slowed most runs of
// one: the interval allows for a median that was as fast as the fastest run.
Comparison compare_stored(const std::vector<double>& a, const std::vector<double>& b,
                          const ComparisonOptions& options);

// B / A of a value of each process, such as its 95th percentile, in pairs. Nothing for fewer than 6
// pairs or values that are not above 0.
std::optional<RatioEstimate> paired_ratio(std::span<const double> a, std::span<const double> b);

struct PairTimes {
  double elapsed_seconds = 0;
  double last_pair_seconds = 0;  // the very first may take longer: it tunes
};

// Whether to run another pair of processes: there are too few, or the verdict is still UNDECIDED,
// and there is time for a pair as long as the last.
bool needs_another_pair(const Comparison& so_far, const PairTimes& times,
                        const ComparisonOptions& options = {});
// The same for a caller that decides otherwise, such as by gates.
bool needs_another_pair(std::size_t pairs, bool is_decided, const PairTimes& times,
                        const ComparisonOptions& options);

}  // namespace assay
