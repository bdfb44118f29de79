#include "assay/stored_sweep.h"

#include <charconv>
#include <cmath>

#include "base/fail.h"
#include "base/mapped_file.h"
#include "store/csv_reader.h"

namespace assay {

using namespace assay::store;

namespace {

constexpr const char* kSweepRows = "sweep_results.csv";
constexpr const char* kSweepSummary = "summary.json";

// A row of the table, read column by column.
class SweepRow {
 public:
  SweepRow(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}

  const std::string& text(std::string_view column) const { return table_.cell(row_, column); }

  std::optional<double> number(std::string_view column) const {
    const std::string& cell = text(column);
    if (cell.empty()) return {};
    double number = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
    const bool is_number = error == std::errc{} && end == cell.data() + cell.size();
    if (!is_number || !std::isfinite(number) || number < 0) {
      fail_bad_input("{}, line {}: {} is '{}', not a number of 0 or more", table_.file(),
                     table_.line(row_), column, cell);
    }
    return number;
  }

  std::optional<ValueRange> range(std::string_view low, std::string_view high) const {
    const auto from = number(low);
    const auto to = number(high);
    if (!from || !to) return {};
    return ValueRange{*from, *to};
  }

 private:
  const CsvTable& table_;
  std::size_t row_ = 0;
};

// Rows of two sweeps with the same name are compared.
std::string row_name(const SweepRow& row) {
  std::string name = fmt::format("pruning {:g}, {}", row.number("pruning_level").value_or(0),
                                 row.text("precision"));
  if (const auto batch = row.number("batch_size")) name += fmt::format(", batch {:g}", *batch);
  if (const auto threads = row.number("threads")) {
    name += fmt::format(", {:g} {}", *threads, *threads == 1 ? "thread" : "threads");
  }
  if (!row.text("seed").empty()) name += ", seed " + row.text("seed");
  return name;
}

StoredSweepRow stored_row(const SweepRow& row) {
  return {.name = row_name(row),
          .error = row.text("error"),
          .accuracy = row.number("accuracy"),
          .accuracy_ci95 = row.range("accuracy_ci95_low", "accuracy_ci95_high"),
          .latency_ms = row.number("latency_ms"),
          .latency_ci95_ms = row.range("latency_ci95_low_ms", "latency_ci95_high_ms"),
          .latency_p95_ms = row.number("latency_p95_ms"),
          .throughput_sps = row.number("throughput_sps"),
          .memory_mb = row.number("memory_mb"),
          .runtime_memory_mb = row.number("runtime_memory_mb"),
          .energy_proxy_j = row.number("energy_proxy_j"),
          .energy_measured_j = row.number("energy_measured_j")};
}

}  // namespace

bool is_sweep_folder(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path / kSweepRows, ignored) &&
         std::filesystem::is_regular_file(path / kSweepSummary, ignored);
}

StoredSweep parse_sweep_csv(std::string_view text, const std::string& described_as) {
  const CsvTable table(text, described_as);
  for (const char* column : {"pruning_level", "precision"}) {
    if (!table.has(column)) {
      fail_bad_input("{}: column '{}' is missing; 'assay sweep' writes it", described_as, column);
    }
  }
  StoredSweep sweep;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    sweep.rows.push_back(stored_row(SweepRow(table, i)));
  }
  return sweep;
}

StoredSweep read_sweep(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kSweepRows;
  const auto file = MappedFile::open(path);
  const std::string text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  file->check_intact();
  StoredSweep sweep = parse_sweep_csv(text, path.string());
  sweep.folder = folder.string();
  return sweep;
}

}  // namespace assay
