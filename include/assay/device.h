// Devices a model may run on, from datasheets and measurements: memory, bandwidth, peaks, power.
// Every figure has its source, alternatives are listed side by side, and what is not known is
// absent, never 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/machine.h"

namespace assay {

enum class FigureProvenance { Theoretical, Measured };

// How a theoretical figure is derived; both kinds are plain products.
struct Derivation {
  enum class Kind { Compute, Bus } kind = Kind::Compute;
  double units = 0;      // cores; of a bus: bits
  double ghz = 0;        // of a bus: 10⁹ transfers per second
  double per_cycle = 1;  // operations of one core in a cycle; a bus moves a bit

  double value() const;  // 10⁹ operations per second, or GB/s
};

struct Figure {
  double value = 0;
  std::string source = "";  // a document, or how it was measured
  FigureProvenance provenance = FigureProvenance::Theoretical;
  std::string note = "";  // which of several things it is: "TDP", "STREAM copy"
  std::optional<Derivation> derived = {};
};

// Alternatives for one quantity; none if it is not known.
using Figures = std::vector<Figure>;

enum class DeviceKind {
  Microcontroller,
  SingleBoard,
  Accelerator,
  Phone,
  Laptop,
  Desktop,
  Server,
  Gpu,
  Machine,  // measured by `assay machine`, kind of device unknown
};

struct DeviceCache {
  int level = 1;
  std::optional<int> shared_by = {};  // cores; absent: all of them
  Figures bytes = {};                 // of one such cache
  Figures bandwidth_gbps = {};        // of all cores together, reading
};

struct Device {
  std::string id = "";    // "raspberry-pi-4-4gb"
  std::string name = "";  // short, for tables
  DeviceKind kind = DeviceKind::Machine;
  std::string description = "";  // processor, clock, memory: one line
  Figures cores = {};
  Figures memory_bytes = {};  // RAM that programs share; of a microcontroller, its SRAM
  Figures flash_bytes = {};
  Figures memory_bandwidth_gbps = {};
  std::map<std::string, Figures, std::less<>> peaks = {};  // by precision; 10⁹ operations a second
  std::vector<DeviceCache> caches = {};                    // nearest first
  Figures power_watts = {};
  Figures idle_watts = {};
  Figures step_overhead_us = {};  // that starting one operation costs
};

// The figures, best for prediction first: measured before theoretical, otherwise as listed.
Figures ranked(Figures figures);
std::optional<Figure> best(const Figures& figures);

struct PrecisionPeak {
  std::string precision = "";  // that the figure is of; may be a fallback
  Figure figure = {};
};
// The precisions the catalogue knows: "fp32", "fp16", "bf16", "int8".
std::span<const std::string> device_precisions();
// Precisions to try for a precision without a figure: fp16, bf16 and int8 fall back to fp32.
std::vector<std::string> precisions_to_try(std::string_view precision);
// The best figure of the first of those that has one.
std::optional<PrecisionPeak> peak_for(const Device& device, std::string_view precision);

std::string_view name(DeviceKind kind);  // "single-board"
std::optional<DeviceKind> device_kind(std::string_view name);
std::span<const std::string> device_kind_names();
std::string_view name(FigureProvenance provenance);  // "measured"

// What `assay machine` measured, with all threads: every figure is a measured one. Without an `id`
// it gets one from its processor.
Device device_from_machine(const Machine& machine, const std::string& id = "");
// Its GPU, likewise.
Device device_from_gpu(const Gpu& gpu, const std::string& id);

}  // namespace assay
