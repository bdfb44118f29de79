#pragma once

#include <string>

namespace assay::report {

// The same PNG with a pHYs chunk, which gives the pixels per inch.
std::string with_density(std::string png, double dots_per_inch);

}  // namespace assay::report
