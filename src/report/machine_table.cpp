#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <set>

#include "assay/machine_report.h"
#include "base/text.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string plural(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string cache_text(const CacheLevel& cache) {
  const std::string shared =
      cache.processors > 1 ? fmt::format(" for {} processors", cache.processors) : "";
  return fmt::format("L{} {}{}", cache.level, with_binary_unit(static_cast<double>(cache.bytes)),
                     shared);
}

std::string meter_lines(const Instruments& instruments) {
  std::vector<std::string> meters;
  for (const MeterInfo& meter : instruments.meters) {
    meters.push_back(fmt::format("{} ({})", meter.source, covers(meter)));
  }
  const std::string notes = join(instruments.meter_notes, "; ");
  if (meters.empty()) return fmt::format("meters       none: {}\n", notes);
  return fmt::format("meters       {}\n", join(meters, ", ")) +
         (notes.empty() ? "" : fmt::format("             not {}\n", notes));
}

std::string counter_lines(const Instruments& instruments) {
  const std::string why_not = instruments.why_not_counters.value_or("");
  if (instruments.counters.empty()) return fmt::format("counters     none: {}\n", why_not);
  return fmt::format("counters     {}\n", join(instruments.counters, ", ")) +
         (why_not.empty() ? "" : fmt::format("             not {}\n", why_not));
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
  text += fmt::format("caches       {}\n", caches.empty() ? "not reported" : join(caches, ", "));
  text += fmt::format("memory       {}\n",
                      with_binary_unit(static_cast<double>(topology.memory_bytes)));
  text += fmt::format("frequency    {}\n", around.governor.value_or("not reported"));
  text += fmt::format("runs in      {}{}\n",
                      around.hypervisor ? "a virtual machine (" + *around.hypervisor + ")"
                                        : std::string("the machine itself"),
                      around.is_container ? ", in a container" : "");
  if (around.load) text += fmt::format("load         {:.2f}\n", *around.load);
  return text + meter_lines(machine.instruments) + counter_lines(machine.instruments);
}

std::string gpu_headline(const Gpu& gpu) {
  constexpr int kTen = 10;
  return fmt::format("GPU          {}, {}, up to {} MHz\n", without_control_characters(gpu.name),
                     plural(gpu.multiprocessors, "multiprocessor"), gpu.clock_mhz) +
         fmt::format("             {} of memory, {} L2, compute capability {}.{}\n",
                     with_binary_unit(static_cast<double>(gpu.memory_bytes)),
                     with_binary_unit(static_cast<double>(gpu.cache_bytes)),
                     gpu.compute_capability / kTen, gpu.compute_capability % kTen) +
         fmt::format("             {}\n", without_control_characters(gpu.libraries));
}

struct RateRow {
  std::string what;
  std::string how;
  int threads = 1;
  double rate = 0;
};

// One line for each thing that was measured, one column for each number of threads; of a GPU, which
// has none to choose, just one.
std::string rate_table(const std::string& what, const std::string& how,
                       const std::vector<RateRow>& rows, bool are_threads, const Layout& layout) {
  std::set<int> counts;
  for (const RateRow& row : rows) counts.insert(row.threads);
  std::vector<TextColumn> columns = {{.title = what}, {.title = how}};
  for (const int count : counts) {
    columns.push_back({.title = are_threads ? plural(count, "thread") : "", .is_number = true});
  }
  TextTable table(std::move(columns));
  for (const RateRow& first : rows) {
    if (first.threads != *counts.begin()) continue;
    std::vector<std::string> cells = {first.what, first.how};
    for (const int count : counts) {
      const auto same = std::ranges::find_if(rows, [&](const RateRow& row) {
        return row.threads == count && row.what == first.what && row.how == first.how;
      });
      cells.push_back(same == rows.end() ? "-" : fmt::format("{:.1f}", same->rate));
    }
    table.add_row(std::move(cells));
  }
  return table.render(layout);
}

std::string peak_table(const Ceilings& ceilings, bool are_threads, const Layout& layout) {
  std::vector<RateRow> rows;
  for (const Peak& peak : ceilings.peaks) {
    rows.push_back({peak.precision, peak.instruction_set, peak.threads, peak.gflops});
  }
  return rate_table("peak, 10⁹ operations/s", "instructions", rows, are_threads, layout);
}

std::string bandwidth_table(const Ceilings& ceilings, bool are_threads, const Layout& layout) {
  std::vector<RateRow> rows;
  for (const Bandwidth& one : ceilings.bandwidths) {
    rows.push_back({one.level, one.access, one.threads, one.gbps});
  }
  return rate_table("bandwidth, GB/s", "access", rows, are_threads, layout);
}

// The ceiling whose median try was farthest from its best.
std::string spread_text(const Ceilings& ceilings, bool are_threads) {
  double widest = 0;
  std::string what;
  const auto look_at = [&](double spread, const std::string& name, int threads) {
    if (spread < widest) return;
    widest = spread;
    what = are_threads ? fmt::format("{}, {}", name, plural(threads, "thread")) : name;
  };
  for (const Peak& peak : ceilings.peaks) {
    look_at(peak.spread, peak.precision + " " + peak.instruction_set, peak.threads);
  }
  for (const Bandwidth& one : ceilings.bandwidths) {
    look_at(one.spread, one.level + " " + one.access, one.threads);
  }
  if (what.empty()) return "";
  return fmt::format("The median try took at most {:.1f} % longer ({}).\n", 100 * widest, what);
}

// If memory was measured on less than twice the last-level cache, that cache may have served some
// of it.
std::string small_buffer_text(const Machine& machine) {
  if (machine.topology.caches.empty()) return "";
  const CacheLevel& last = machine.topology.caches.back();
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const Bandwidth& one : machine.ceilings.bandwidths) {
    if (one.level == "DRAM") least = std::min(least, one.bytes);
  }
  if (least >= 2 * last.bytes) return "";
  return fmt::format(
      "There was time for {} of memory, less than twice L{}: some may have come from there.\n",
      with_binary_unit(static_cast<double>(least)), last.level);
}

std::string process_spread_text(const Machine& machine) {
  if (!machine.process_spread) return "";
  return fmt::format(
      "Medians of one model differ by {:.2g} % (standard deviation) between {} processes.\n",
      100 * machine.process_spread->deviation, machine.process_spread->processes);
}

std::string ceilings_text(const Ceilings& ceilings, const std::string& measured_at,
                          bool are_threads, const Layout& layout) {
  return peak_table(ceilings, are_threads, layout) + "\n" +
         bandwidth_table(ceilings, are_threads, layout) +
         fmt::format("\nEach is the best of several tries, measured in {:.1f} s on {}.\n",
                     ceilings.seconds, measured_at) +
         spread_text(ceilings, are_threads);
}

std::string gpu_text(const std::optional<Gpu>& gpu, const Layout& layout) {
  if (!gpu) return "";
  return "\n" + gpu_headline(*gpu) + "\n" +
         ceilings_text(gpu->ceilings, gpu->measured_at, false, layout);
}

}  // namespace

std::string machine_table(const Machine& machine, const Layout& layout) {
  return headline(machine) + "\n" +
         ceilings_text(machine.ceilings, machine.measured_at, true, layout) +
         small_buffer_text(machine) + process_spread_text(machine) + gpu_text(machine.gpu, layout);
}

}  // namespace assay
