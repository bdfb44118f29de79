// A profile made of what another runtime measured: its times are joined with assay's counts, node
// by node, so that every report, roofline and advice works on it as on a measurement of our own.
//
// No time is dropped: kernels that belong to no node of the model are rows of their own, and all
// rows sum to the time of a run as the runtime reports it. What the runtime did not measure is
// missing.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "assay/profile.h"

namespace assay {

// One kernel or layer as a runtime ran it, once in every run.
struct RuntimeKernel {
  static constexpr std::size_t kNoParent = static_cast<std::size_t>(-1);

  std::string name;                           // as the runtime calls it
  std::string op = "";                        // likewise; empty where the file does not tell
  std::vector<std::string> node_names = {};   // that may name nodes of the model, most likely first
  std::vector<std::string> fused_names = {};  // nodes that the runtime says it fused, if it does
  bool is_region = false;                     // fused_names are the first and last of a region
  bool is_layout_change = false;              // copies or converts for the kernel that follows
  std::size_t parent = kNoParent;             // the kernel whose body it runs in
  std::string algorithm = "";
  std::string precision = "";  // of its arithmetic, as in StepInfo; empty: not known
  std::string device = "cpu";
  std::optional<std::vector<std::int64_t>> output_dims = {};
  std::vector<double> run_ms = {};  // without its children: one time for each run of the trace
};

// What a file of another runtime holds.
struct RuntimeTrace {
  std::string runtime;  // "ONNX Runtime"
  std::string file;
  std::vector<RuntimeKernel> kernels = {};  // in the order of execution
  // Warm-up left out. Runtimes that report kernels alone have the sums of theirs.
  std::vector<double> runs_ms = {};
  bool has_whole_runs = false;  // timed as such, with what is between kernels
  std::size_t warmup_runs = 0;
  std::optional<double> first_run_ms = {};
  std::optional<std::size_t> averaged_runs = {};  // each time is a mean over as many runs
  bool is_average = false;  // there is one time per kernel: a mean, or of the last run
  std::optional<int> threads = {};
  std::vector<std::string> notes = {};  // what of the file was left out, and why
};

struct ImportOptions {
  RunOptions run = {};              // the shapes that the runtime ran with; nothing is run
  std::optional<int> threads = {};  // replaces what the file says
  bool judge = true;                // compare with ceilings
  std::optional<Machine> machine = {};
  std::optional<double> power_watts = {};
};

// Throws an Error if the trace is of another model: too few of its kernels are nodes of this one,
// or they computed tensors of other shapes.
Profile import_profile(Graph graph, std::string name, const RuntimeTrace& trace,
                       const ImportOptions& options = {}, Progress* progress = nullptr);

}  // namespace assay
