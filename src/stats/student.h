// Student's t distribution: how wide the interval of a mean of few samples is.
#pragma once

#include <cstddef>

namespace assay::stats {

// The 97.5 % quantile for so many degrees of freedom; for none that of the normal distribution.
double student_t(std::size_t degrees);

}  // namespace assay::stats
