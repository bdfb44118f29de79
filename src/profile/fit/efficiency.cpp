#include "profile/fit/efficiency.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::profile {

namespace {

constexpr std::size_t kNearest = 10;

double logarithm(double amount) {
  return std::log2(std::max(1.0, amount));
}

double activation_bytes(const StepWork& work) {
  return work.read_bytes + work.written_bytes;
}

// In doublings: how far an operator is from a sample in arithmetic, weights and activations.
double distance(const ClassifiedOperator& fused, const EfficiencySample& sample) {
  const double flops = logarithm(fused.work.flops) - logarithm(sample.flops);
  const double weights = logarithm(fused.work.weight_bytes) - logarithm(sample.weight_bytes);
  const double activations =
      logarithm(activation_bytes(fused.work)) - logarithm(sample.activation_bytes);
  constexpr double kUnlike = 6;  // another kind of op
  const double kind = fused.op_class == sample.op_class ? 0 : kUnlike;
  return std::sqrt(flops * flops + weights * weights + activations * activations) + kind;
}

}  // namespace

Efficiency::Efficiency(const std::vector<EfficiencySample>& samples, const std::string& without) {
  for (const EfficiencySample& sample : samples) {
    if (sample.roof_ms > 0 && sample.family != without) samples_.push_back(sample);
  }
}

double Efficiency::of(const ClassifiedOperator& fused) const {
  if (samples_.empty()) return 1;
  std::vector<std::pair<double, const EfficiencySample*>> near;
  for (const EfficiencySample& sample : samples_) {
    near.emplace_back(distance(fused, sample), &sample);
  }
  const std::size_t count = std::min(kNearest, near.size());
  std::ranges::partial_sort(near, near.begin() + static_cast<std::ptrdiff_t>(count));
  double sum = 0;
  double timed = 0;
  double weights = 0;
  for (std::size_t i = 0; i < count; ++i) {
    // Within a doubling samples weigh about the same: their own times are not sure either.
    const double weight = 1 / (1 + near[i].first * near[i].first);
    const EfficiencySample& sample = *near[i].second;
    weights += weight;
    if (sample.time_ms <= 0) continue;  // the engine did without it
    sum += weight * std::log(sample.roof_ms / sample.time_ms);
    timed += weight;
  }
  if (timed <= 0) return std::numeric_limits<double>::infinity();
  return std::exp(sum / timed) * weights / timed;
}

EfficiencySample sample_of(const std::string& family, const ClassifiedOperator& fused,
                           const Roofline& roofline, double time_ms) {
  return {.family = family,
          .op_class = fused.op_class,
          .flops = fused.work.flops,
          .weight_bytes = fused.work.weight_bytes,
          .activation_bytes = activation_bytes(fused.work),
          .roof_ms = least_time(fused.work, roofline).limit_ms(),
          .time_ms = std::max(time_ms / 10, time_ms - roofline.step_overhead_ms)};
}

Roofline with_one_bandwidth(Roofline roofline) {
  for (MemoryRoof& roof : roofline.levels) {
    roof.write_gbps = roof.combined_gbps = roof.read_gbps;
  }
  return roofline;
}

std::optional<double> estimated_ms(const ClassifiedOperator& fused, const Roofline& roofline,
                                   const Efficiency& efficiency) {
  if (!fused.is_known) return {};
  const double reached = efficiency.of(fused);
  if (!std::isfinite(reached)) return {};
  return least_time(fused.work, roofline).limit_ms() / reached;
}

double estimated_ms(const std::vector<ClassifiedOperator>& operators, const Roofline& roofline,
                    const Efficiency& efficiency) {
  double sum = 0;
  for (const ClassifiedOperator& fused : operators) {
    const auto time_ms = estimated_ms(fused, roofline, efficiency);
    if (time_ms) sum += *time_ms + roofline.step_overhead_ms;
  }
  return sum;
}

double bound_ms(const std::vector<ClassifiedOperator>& operators, const Roofline& roofline) {
  double sum = 0;
  for (const ClassifiedOperator& fused : operators) {
    StepWork work = fused.work;
    work.flops = fused.fewest_flops;
    // Between operators, data need never leave the nearest memory level.
    work.read_bytes = work.written_bytes = 0;
    sum += least_time(work, roofline).limit_ms();
  }
  return sum;
}

}  // namespace assay::profile
