// How near its roofline a fused operator would come: as near as the measured ones most like it did.
#pragma once

#include <functional>

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

// Milliseconds for all operators, one after another.
double estimated_ms(const std::vector<ClassifiedOperator>& operators, const Roofline& roofline,
                    const Efficiency& efficiency);
double bound_ms(const std::vector<ClassifiedOperator>& operators, const Roofline& roofline);

}  // namespace assay::profile
