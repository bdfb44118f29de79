// What several formats of a comparison compute alike.
#pragma once

#include <vector>

namespace assay::report {

// The median; of an even number the mean of the two in the middle. There must be some.
double middle_of(std::vector<double> values);

}  // namespace assay::report
