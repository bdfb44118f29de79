// The columns of a count, written once: CSV header, JSON keys and sort keys come from here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/count_report.h"

namespace assay::report {

struct CountColumn {
  const char* name = "";
  std::int64_t LayerCost::*figure = nullptr;
};

std::span<const CountColumn> figure_columns();

double share_of(const LayerCost& layer, const CostTotals& totals);  // of the FLOPs, 0..1
std::string shape_text(const LayerCost& layer);                     // "1x64x112x112", "?" unknown

// The layers to show, in the order to show them.
std::vector<const LayerCost*> chosen_layers(const CountResult& result,
                                            const CountTableOptions& options, bool hide_free);

}  // namespace assay::report
