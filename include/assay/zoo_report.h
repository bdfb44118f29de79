// The list of built-in networks as people and programs read it.
#pragma once

#include <span>
#include <string>

#include "assay/cost.h"
#include "assay/layout.h"
#include "assay/zoo.h"

namespace assay {

struct ZooRow {
  ZooEntry entry;
  CostTotals totals;
};

std::string zoo_table(std::span<const ZooRow> rows, const Layout& layout = {});
std::string zoo_json(std::span<const ZooRow> rows);

}  // namespace assay
