// How near its roofline a portion would come: as near as the portions most like it did.
#pragma once

#include <functional>

#include "assay/fit.h"
#include "profile/fit/portions.h"

namespace assay::profile {

class Efficiency {
 public:
  // Leaves out the samples of `without`, if it is a family of models.
  explicit Efficiency(const std::vector<EfficiencySample>& samples,
                      const std::string& without = "");

  // Least time / time. Above 1 where an algorithm needs fewer operations than are counted; infinite
  // where the engine did without all that is like it.
  double of(const Portion& portion) const;

 private:
  std::vector<EfficiencySample> samples_;
};

EfficiencySample sample_of(const std::string& family, const Portion& portion,
                           const Roofline& roofline, double time_ms);

// Milliseconds for all portions one after another.
double estimated_ms(const std::vector<Portion>& portions, const Roofline& roofline,
                    const Efficiency& efficiency);
double bound_ms(const std::vector<Portion>& portions, const Roofline& roofline);

}  // namespace assay::profile
