#include "profile/counted.h"

#include <algorithm>

namespace assay::profile {

void add_to(const CounterValues& more, CounterValues& sum) {
  for (std::size_t i = 0; i < sum.values.size(); ++i) {
    if (more.values[i]) sum.values[i] = sum.values[i].value_or(0) + *more.values[i];
  }
  sum.share_counted = std::min(sum.share_counted, more.share_counted);
}

CounterValues divided(CounterValues sum, double by) {
  for (auto& value : sum.values) {
    if (value) *value /= by;
  }
  return sum;
}

}  // namespace assay::profile
