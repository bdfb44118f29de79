// Runs a model and measures it: how long, where the time goes, how much memory, how it starts up.
//
// Totals balance: the times of the steps and the time between them sum to the time of a run, and so
// do the times of the layers, since every step's time goes to one layer. That run is the median
// one: its parts are the means over the samples next to the median, scaled to it. The means over
// all samples balance likewise.
// Work is counted, time and memory are measured, limits of the machine are estimated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/advice.h"
#include "assay/counters.h"
#include "assay/energy.h"
#include "assay/roofline.h"
#include "assay/run.h"
#include "assay/timing.h"

namespace assay {

struct ProfileOptions {
  RunOptions run = {};
  TimingOptions timing = {};
  std::optional<double> read_ms = {};      // what reading the model took, where the caller timed it
  std::size_t traced_runs = 0;             // the first N runs are recorded step by step
  bool count_events = false;               // cycles, instructions, misses of every step
  bool measure_energy = false;             // with the machine's meter, for a second or more
  std::optional<double> power_watts = {};  // for a proxy of the energy
  bool judge = true;                       // compare with ceilings; false leaves bounds open
  // Whose ceilings count; without it some are measured within this process, which takes seconds.
  std::optional<Machine> machine = {};
};

// Once, before the first useful run. Reading is missing where the model was not read from a file.
struct StartUp {
  std::optional<double> read_ms = {};
  double infer_ms = 0;
  double compile_ms = 0;
  double first_run_ms = 0;
};

// Between this machine's memory and a GPU's, before and after a run: no part of its latency.
struct Copies {
  double in_ms = 0;
  double out_ms = 0;
};

// Rates of a step or layer; missing where its time or its work is not known.
struct Rates {
  std::optional<double> gflops_per_second = {};  // nominal work
  std::optional<double> gbytes_per_second = {};  // bytes that the engine reads and writes
  std::optional<Bound> bound = {};
  std::string bound_level = "";                   // of memory: "L2"
  std::optional<double> percent_of_ceiling = {};  // the least time this machine allows / the time
  std::optional<double> headroom_ms = {};         // saved if it ran at its ceiling
  // The arithmetic that the engine really does: less than the nominal work where an algorithm saves
  // some, more where it multiplies padding.
  std::optional<double> executed_gflops_per_second = {};
};

struct ProfileStep {
  StepInfo info;
  std::vector<std::string> layer_names = {};
  double time_ms = 0;  // in the median run
  double mean_ms = 0;  // over all samples
  double median_ms = 0;
  double share = 0;  // of the median run
  Rates rates = {};
  std::optional<CounterValues> counters = {};  // of one run
};

// A node of the model (with its whole body, if it has one), or a step that belongs to no node.
struct ProfileLayer {
  LayerCost cost;
  std::optional<double> time_ms = {};  // in the median run; missing where it has no step of its own
  double share = 0;
  std::vector<std::string> fused = {};  // layers computed in the same steps, whose time is in here
  std::string fused_into = "";          // the layer whose time includes this one's
  std::vector<std::size_t> steps = {};  // that its time is the sum of, positions in Profile::steps
  Rates rates = {};                     // over the work of the fused layers too
  std::vector<std::string> warnings = {};  // "fell back", "not counted", "uneven"
};

struct ProfileMemory {
  ProgramMemory program = {};
  std::int64_t peak_bytes = 0;    // weights and arena, really allocated
  std::int64_t useful_bytes = 0;  // what the model needs if every tensor is stored once
  double memory_efficiency = 0;   // useful / peak, 0..1
  // How far the process grew from before compiling to after the first runs, code and page tables
  // included; missing where the system does not report it.
  std::optional<std::int64_t> peak_rss_growth_bytes = {};
  std::vector<NamedBuffer> buffers = {};  // of the arena, by step; empty if the engine has none
  // Of another runtime's profile: the arena that assay plans, whose steps are nodes.
  std::vector<std::string> planned_steps = {};
  std::vector<NamedBuffer> planned_buffers = {};
};

// One run: its start relative to the first traced one, its duration and those of its steps.
struct TracedRun {
  std::int64_t start_nanoseconds = 0;
  std::int64_t duration_nanoseconds = 0;
  std::vector<std::int64_t> step_nanoseconds = {};
};

// Where the times of a profile come from, if another runtime measured them.
struct ImportedFrom {
  std::string runtime;  // "ONNX Runtime"
  std::string file;
  bool has_runs = false;  // the file has whole runs; otherwise a run is the sum of its kernels
  std::optional<std::size_t> averaged_runs = {};  // each time is a mean over as many runs
  bool is_average = false;
  std::optional<int> threads = {};  // that the runtime used; missing if the file does not tell
  // Milliseconds of kernels in the median run, by how their nodes were found.
  double by_name_ms = 0;
  double by_position_ms = 0;  // order and kind of op
  double unattributed_ms = 0;
  std::size_t kernels = 0;
  std::size_t unattributed_kernels = 0;

  double kernel_ms() const { return by_name_ms + by_position_ms + unattributed_ms; }
};

struct Profile {
  ModelSummary model;
  ProgramOptions program;  // as asked for; engine and threads (0: none) as the program has them
  std::int64_t batch = 1;
  std::uint64_t seed = 0;
  StartUp start_up;
  Measurement latency;
  double throughput_sps = 0;  // batch / median latency
  CostTotals totals;
  std::int64_t peak_activation_bytes = 0;  // as planned by `count`
  std::int64_t stored_bytes = 0;           // parameters, statistics and constants
  std::vector<UncountedOp> uncounted;
  std::int64_t executed_flops = 0;
  std::int64_t traffic_bytes = 0;  // that the steps read and write
  double gflops_per_second = 0;    // nominal work over the median latency
  double executed_gflops_per_second = 0;
  ProfileMemory memory;
  std::optional<Roofline> roofline = {};                // measured; missing if not compared
  std::optional<double> computational_efficiency = {};  // executed work / peak, 0..1
  // That peak: the peaks of the precisions that steps compute in, each for its share of the work.
  std::optional<double> peak_gflops = {};
  std::optional<Bound> bottleneck = {};           // Compute or Memory
  std::optional<double> percent_of_ceiling = {};  // of all steps together
  std::optional<double> headroom_ms = {};
  std::vector<ProfileStep> steps;
  double between_steps_ms = 0;  // with the steps' `time_ms`, the median latency
  double between_steps_mean_ms =
      0;  // over all samples: with the steps' `mean_ms`, the mean latency
  // Steps were timed in other runs than the latency, because timing them takes time. Their times
  // are less what that took, and the time between steps is the rest: what launching takes, or less
  // than 0 where steps overlap.
  bool are_steps_timed_apart = false;
  std::optional<Copies> copies = {};       // of a GPU's inputs and outputs
  std::optional<GpuState> gpu_state = {};  // at the end of the measurement
  std::vector<ProfileLayer> layers;        // in execution order, then steps that belong to none
  std::vector<Advice> advice;              // largest saving first; see advise()
  std::vector<std::string> warnings;
  std::vector<TracedRun> traced_runs;
  EnergyEstimate energy = {};                      // of one run; its note says why it is missing
  std::vector<std::string> uncounted_events = {};  // why performance counters are missing
  // Missing if assay measured it. Otherwise there is no start-up, and memory is as planned.
  std::optional<ImportedFrom> imported = {};

  double run_ms() const { return latency.latency.median_ms; }  // that all parts are parts of
  bool was_interrupted() const { return latency.cancelled; }
};

// Throws an Error of kind Cancelled if `progress` cancels before a single run was measured.
Profile profile_model(Graph graph, std::string name, const ProfileOptions& options = {},
                      Progress* progress = nullptr);

}  // namespace assay
