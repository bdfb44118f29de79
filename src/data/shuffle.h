// Random orders that are the same on every machine; the standard library's shuffle is not.
#pragma once

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random_numbers.h"

namespace assay::data {

// 0 to count - 1, shuffled as Fisher and Yates do it.
inline std::vector<std::int64_t> shuffled(std::int64_t count, RandomNumbers random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t left = order.size(); left > 1; --left) {
    std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

}  // namespace assay::data
