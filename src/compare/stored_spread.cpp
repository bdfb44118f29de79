#include "compare/stored_spread.h"

#include <algorithm>

#include "assay/compare_models.h"
#include "assay/machine.h"
#include "assay/stored_machine.h"

namespace assay {

namespace {

// Reports nothing for each of the processes.
class Silently : public Progress {
 public:
  explicit Silently(const Progress& whole) : whole_(whole) {}
  bool cancelled() const override { return whole_.cancelled(); }

 private:
  const Progress& whole_;
};

constexpr int kProcesses = 12;
// Short runs differ most between processes.
constexpr const char* kSmallModel = "zoo:lenet5";
// Of profiles made at different times, however alike processes are that follow each other.
constexpr double kLeastDeviation = 0.03;
// Likewise in a virtual machine, whose neighbours come and go: medians of one model were seen to
// differ by half.
constexpr double kLeastDeviationOfGuests = 0.15;

double least_deviation() {
  return read_surroundings().hypervisor ? kLeastDeviationOfGuests : kLeastDeviation;
}

}  // namespace

std::optional<ProcessSpread> measured_process_spread(const std::filesystem::path& program,
                                                     Progress& progress) {
  constexpr double kSecondsEach = 0.3;
  const ComparedProcess process{.model = kSmallModel, .flags = {"--threads", "1"}};
  Silently silent(progress);
  std::vector<double> medians;
  for (int i = 0; i < kProcesses; ++i) {
    progress.report(static_cast<double>(i) / kProcesses, "comparing processes");
    medians.push_back(
        profile_alone(process, program, {.max_seconds = kSecondsEach}, silent).median_ms);
  }
  return process_spread(medians);
}

namespace compare {

StoredSpread spread_of_stored(const StoredProfile& a, const StoredProfile& b) {
  const auto machine = cached_machine(read_topology());
  const auto is_from_here = [&](const StoredProfile& profile) {
    return profile.processor == machine->topology.processor;
  };
  const double least = least_deviation();
  const double assumed = std::max(kAssumedStoredDeviation, least);
  if (!machine || !machine->process_spread) {
    return {assumed, "assumed; 'assay machine' measures it"};
  }
  if (!is_from_here(a) || !is_from_here(b)) {
    return {assumed, "assumed: not all were measured on this machine"};
  }
  const double measured = machine->process_spread->deviation;
  if (measured >= least) return {measured, "measured on this machine"};
  return {least, least == kLeastDeviationOfGuests ? "no less, in a virtual machine"
                                                  : "no less, at different times"};
}

}  // namespace compare

}  // namespace assay
