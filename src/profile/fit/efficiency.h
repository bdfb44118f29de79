// How near its roofline a fused operator would come: as near as the measured ones most like it did.
#pragma once

#include <optional>

#include "assay/fit.h"
#include "profile/fit/classified_operators.h"

namespace assay::profile {

class Efficiency {
 public:
  // Leaves out the samples of `without`, if it is a family of models.
  explicit Efficiency(const std::vector<EfficiencySample>& samples,
                      const std::string& without = "");

  // Least time / time. Above 1 where an algorithm needs fewer operations than are counted; infinite
  // where the engine did without all that is like it.
  double of(const ClassifiedOperator& fused) const;

 private:
  std::vector<EfficiencySample> samples_;
};

EfficiencySample sample_of(const std::string& family, const ClassifiedOperator& fused,
                           const Roofline& roofline, double time_ms);

// A device is known by one bandwidth for each level of memory, so reading and writing share it, on
// this machine as on others: efficiencies carry over only between rooflines of one kind.
Roofline with_one_bandwidth(Roofline roofline);

// How long an operator would take, without starting it. Nothing if the engine did without all that
// is like it, or if its cost is unknown.
std::optional<double> estimated_ms(const ClassifiedOperator& fused, const Roofline& roofline,
                                   const Efficiency& efficiency);
// All operators, one after another, and starting them.
double estimated_ms(const std::vector<ClassifiedOperator>& operators, const Roofline& roofline,
                    const Efficiency& efficiency);
double bound_ms(const std::vector<ClassifiedOperator>& operators, const Roofline& roofline);

}  // namespace assay::profile
