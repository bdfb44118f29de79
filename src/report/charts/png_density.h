#pragma once

#include <string>

namespace assay::report {

// The same PNG with a pHYs chunk: how many pixels its maker meant to go on an inch.
std::string with_density(std::string png, double dots_per_inch);

}  // namespace assay::report
