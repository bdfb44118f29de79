// The figures of PerfMetrics in their order, so that every format has the same ones.
#pragma once

#include <span>

#include "assay/metrics.h"
#include "report/hardware_columns.h"

namespace assay::report {

// A figure that is always there, by its name.
struct MetricMember {
  const char* name = "";
  double PerfMetrics::*member = nullptr;
};
std::span<const MetricMember> metric_members();

// All of them, with those that may be missing and the note.
NamedFigures metric_figures(const PerfMetrics& metrics);

}  // namespace assay::report
