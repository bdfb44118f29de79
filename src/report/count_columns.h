// The columns of a count, written once: CSV header, JSON keys, headings and sort keys come from
// here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/count_report.h"
#include "report/column_names.h"

namespace assay::report {

struct CountColumn {
  const char* name = "";
  std::int64_t LayerCost::*figure = nullptr;
};

std::span<const CountColumn> figure_columns();

// Layers with the same module or op are added up.
struct CountRow {
  LayerCost cost;
  std::int64_t layers = 1;
};

// All columns that a table can have.
enum class CountField {
  Name,
  Op,
  Layers,
  Output,
  Parameters,
  Macs,
  EffectiveMacs,
  Flops,
  Read,
  Written,
  Bytes,
  ParameterBytes,
  Activations,
  Share
};
std::span<const ColumnName> count_fields();  // in the order of the enumeration

void add_figures(LayerCost& to, const LayerCost& from);
std::int64_t traffic_of(const LayerCost& layer);                    // read and written
double share_of(const LayerCost& layer, const CostTotals& totals);  // of the FLOPs, 0..1
std::string shape_text(const LayerCost& layer);                     // "1x64x112x112", "?" unknown
// The module at this depth that a layer is in: "features.4"; its own name where it is in none.
std::string module_of(const std::string& layer, std::size_t depth);

// The rows to show, in the order to show them.
std::vector<CountRow> chosen_rows(const CountResult& result, const CountTableOptions& options,
                                  bool hide_free);

}  // namespace assay::report
