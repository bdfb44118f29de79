// Machines that were stored as JSON, and the cache of what was measured on this one.
//
// The cache is a file in $XDG_CACHE_HOME/assay or ~/.cache/assay, one per machine fingerprint.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/machine.h"

namespace assay {

// Reads what machine_json wrote. Throws an Error that names `described_as` and the wrong field.
Machine parse_machine_json(std::string_view text, const std::string& described_as);

// Topology and ceilings of this machine, and when they were measured; takes `seconds_to_measure`.
// Throws an Error of kind Cancelled if `progress` cancels.
Machine measure_machine(const CeilingOptions& options = {}, Progress* progress = nullptr);

// Nothing if none was cached, if the cached one is another machine, or if the file is damaged.
std::optional<Machine> cached_machine(const Topology& topology);

// Ceilings that were disturbed by other programs do not replace undisturbed ones. Adds to
// `warnings` what is wrong with them, or why they could not be written.
void cache_machine(const Machine& machine, std::vector<std::string>& warnings);

// Adds a warning if other programs disturbed the measuring of the ceilings.
void warn_if_disturbed(const Machine& machine, std::vector<std::string>& warnings);

// This machine from the cache; otherwise it is measured and cached. Adds to `warnings` as
// cache_machine does, and throws as measure_machine does.
Machine cached_or_measured_machine(std::vector<std::string>& warnings,
                                   Progress* progress = nullptr);

// The GPU that engines use, likewise: from its own file of the cache, or measured now. Nothing if
// there is none.
std::optional<Gpu> cached_or_measured_gpu(std::vector<std::string>& warnings,
                                          Progress* progress = nullptr);
std::optional<Gpu> cached_gpu(const Gpu& found);
void cache_gpu(const Gpu& gpu, std::vector<std::string>& warnings);
Gpu measure_gpu(Gpu found, const CeilingOptions& options = {}, Progress* progress = nullptr);

// The file that ASSAY_MACHINE names, whose ceilings count instead of this machine's. It is never
// measured again or written.
std::optional<std::filesystem::path> chosen_machine_file();

// The machine in that file, from the cache, or measured now and cached; `before_measuring` is
// called if it is. Adds to `warnings` as above.
Machine chosen_machine(std::vector<std::string>& warnings, Progress* progress = nullptr,
                       const std::function<void()>& before_measuring = {});
// The same for the GPU, in a machine without ceilings of the processor.
Machine chosen_gpu(std::vector<std::string>& warnings, Progress* progress = nullptr,
                   const std::function<void()>& before_measuring = {});

}  // namespace assay
