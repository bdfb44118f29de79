// A count as people and programs read it: a table, JSON, CSV.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/count.h"
#include "assay/layout.h"

namespace assay {

enum class CountRows { Layers, Modules, Ops };

struct CountTableOptions {
  std::optional<std::size_t> top = {};   // that many rows; 0: all of them
  std::optional<std::string> sort = {};  // a heading or a name of count_columns(), largest first
  CountRows rows = CountRows::Layers;
  std::size_t depth = 1;                  // of modules: "features.4" has depth 2
  std::vector<std::string> columns = {};  // of the table, headings as above; none: the usual ones
  Layout layout = {};
};

// The columns a count can be sorted by, as JSON and CSV call them.
std::vector<std::string> count_columns();
// Throws an Error of kind Usage, naming the nearest heading.
void check_count_columns(const CountTableOptions& options);

std::string count_table(const CountResult& result, const CountTableOptions& options = {});
std::string count_json(const CountResult& result, const CountTableOptions& options = {});
std::string count_csv(const CountResult& result, const CountTableOptions& options = {});

// Several models, a row each.
std::string counts_table(std::span<const CountResult> results, const Layout& layout = {});
std::string counts_json(std::span<const CountResult> results);
std::string counts_csv(std::span<const CountResult> results);

}  // namespace assay
