#include <fmt/format.h>

#include <algorithm>

#include "assay/machine_report.h"
#include "base/text.h"
#include "report/text_table.h"

namespace assay {

namespace {

constexpr std::size_t kWidth = 80;

std::string plural(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string cache_text(const CacheLevel& cache) {
  const std::string shared =
      cache.processors > 1 ? fmt::format(" for {} processors", cache.processors) : "";
  return fmt::format("L{} {}{}", cache.level, with_binary_unit(static_cast<double>(cache.bytes)),
                     shared);
}

std::string headline(const Machine& machine) {
  const Topology& topology = machine.topology;
  const Surroundings& around = machine.surroundings;
  std::vector<std::string> caches;
  for (const CacheLevel& cache : topology.caches) caches.push_back(cache_text(cache));
  std::string text = fmt::format("processor    {}\n             {}, {}, {} of them usable, {}\n",
                                 topology.processor, plural(topology.cores, "core"),
                                 plural(topology.processors, "processor"), topology.usable.size(),
                                 plural(topology.numa_nodes, "memory node"));
  text += fmt::format("caches       {}\n", caches.empty() ? "not told" : join(caches, ", "));
  text += fmt::format("memory       {}\n",
                      with_binary_unit(static_cast<double>(topology.memory_bytes)));
  text += fmt::format("frequency    {}\n", around.governor.value_or("not told"));
  text += fmt::format("runs in      {}{}\n",
                      around.hypervisor ? "a virtual machine (" + *around.hypervisor + ")"
                                        : std::string("the machine itself"),
                      around.is_container ? ", in a container" : "");
  if (around.load) text += fmt::format("load         {:.2f}\n", *around.load);
  return text;
}

// The thread counts that were measured, ascending.
template <typename Rows>
std::vector<int> thread_counts(const Rows& rows) {
  std::vector<int> counts;
  for (const auto& row : rows) counts.push_back(row.threads);
  std::ranges::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

std::vector<TextColumn> columns_for(std::vector<TextColumn> columns,
                                    const std::vector<int>& counts) {
  for (const int count : counts) {
    columns.push_back({.title = plural(count, "thread"), .is_number = true});
  }
  return columns;
}

std::string peak_table(const Ceilings& ceilings) {
  const auto counts = thread_counts(ceilings.peaks);
  TextTable table(
      columns_for({{.title = "peak, 10⁹ operations/s"}, {.title = "instructions"}}, counts));
  for (const Peak& first : ceilings.peaks) {
    if (first.threads != counts.front()) continue;
    std::vector<std::string> cells = {first.precision, first.instruction_set};
    for (const int count : counts) {
      const auto same = std::ranges::find_if(ceilings.peaks, [&](const Peak& peak) {
        return peak.threads == count && peak.instruction_set == first.instruction_set &&
               peak.precision == first.precision;
      });
      cells.push_back(same == ceilings.peaks.end() ? "-" : fmt::format("{:.1f}", same->gflops));
    }
    table.add_row(std::move(cells));
  }
  return table.render(kWidth);
}

std::string bandwidth_table(const Ceilings& ceilings) {
  const auto counts = thread_counts(ceilings.bandwidths);
  TextTable table(columns_for({{.title = "bandwidth, GB/s"}, {.title = "access"}}, counts));
  for (const Bandwidth& first : ceilings.bandwidths) {
    if (first.threads != counts.front()) continue;
    std::vector<std::string> cells = {first.level, first.access};
    for (const int count : counts) {
      const auto rate = bandwidth_gbps(ceilings, first.level, first.access, count);
      cells.push_back(rate ? fmt::format("{:.1f}", *rate) : "-");
    }
    table.add_row(std::move(cells));
  }
  return table.render(kWidth);
}

}  // namespace

std::string machine_table(const Machine& machine) {
  return headline(machine) + "\n" + peak_table(machine.ceilings) + "\n" +
         bandwidth_table(machine.ceilings) +
         fmt::format("\nEach is the best of several tries, measured in {:.1f} s on {}.\n",
                     machine.ceilings.seconds, machine.measured_at);
}

}  // namespace assay
