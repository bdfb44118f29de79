#include "stats/student.h"

#include <array>

namespace assay::stats {

namespace {

constexpr double kNormal = 1.959964;

// Cornish and Fisher's expansion in 1/n; beyond 30 degrees it is right to four decimals.
double expanded(double degrees) {
  constexpr double z = kNormal;
  constexpr double z3 = z * z * z;
  constexpr double z5 = z3 * z * z;
  return z + (z3 + z) / (4 * degrees) + (5 * z5 + 16 * z3 + 3 * z) / (96 * degrees * degrees);
}

}  // namespace

double student_t(std::size_t degrees) {
  constexpr std::array<double, 30> kQuantiles = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees == 0) return kNormal;
  return degrees <= kQuantiles.size() ? kQuantiles[degrees - 1]
                                      : expanded(static_cast<double>(degrees));
}

}  // namespace assay::stats
