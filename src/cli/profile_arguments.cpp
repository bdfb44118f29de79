#include "cli/profile_arguments.h"

#include <algorithm>

#include "base/fail.h"
#include "base/text.h"
#include "cli/model_argument.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

void add_timing_options(Command& command, ProfileArguments& arguments) {
  command.heading("Measurement");
  command.add_option("--min-time SECONDS", arguments.min_time,
                     "minimum seconds of sampling; default 0.5");
  command.add_option("--max-time SECONDS", arguments.max_time,
                     "maximum seconds of sampling; default 10");
  command.add_option("--target PERCENT", arguments.target,
                     "stop when the 95 % interval of the median is within ±N percent; default 1");
  command.add_option("--warmup N", arguments.warmup,
                     "N warm-up runs, instead of warming up until times are steady");
  command.add_option("--runs N", arguments.runs, "measure N runs");
  command.add_flag("--no-ceilings", arguments.no_ceilings,
                   "do not compare with this machine's ceilings, and do not measure them");
  command.add_flag("--counters", arguments.counters,
                   "cycles, instructions and misses of every step, where the kernel allows");
  command.add_flag("--energy", arguments.energy,
                   "measure joules per run with this machine's energy meter");
  command.add_option("--power-watts WATTS", arguments.power_watts,
                     "estimate energy per run as N watts × latency");
  command.add_flag("--strict", arguments.strict,
                   "exit code 1 if an op was not counted or fell back, or times are noisy");
  // How 'assay compare' starts its processes.
  command.add_option("--turns SECONDS", arguments.turns, "seconds of a turn with another process")
      ->hide();
}

void add_decoding_options(Command& command, ProfileArguments& arguments) {
  command.heading("Decoding");
  command.add_option("--decode N", arguments.decode,
                     "one token after N others, whose keys and values are in a cache: ms per "
                     "token and tokens/s of a model that takes past keys and values");
  command.add_option("--capacity N", arguments.capacity,
                     "tokens that the cache has room for; default: those of --decode and one");
}

void add_import_option(Command& command, ProfileArguments& arguments) {
  command.heading("Import");
  command.add_option("--import FILE", arguments.import_file,
                     "do not run the model: take the times from a profile that ONNX Runtime, "
                     "TensorRT (trtexec), OpenVINO (benchmark_app), LiteRT (benchmark_model) or "
                     "torch.profiler wrote of it");
}

void add_overlay_options(Command& command, ProfileArguments& arguments) {
  command.add_option("--node-data FILE", arguments.node_data,
                     "write the nodes' times for Google's Model Explorer (custom node data)");
  command.add_option("--benchmark-json FILE", arguments.benchmark_json,
                     "write Google Benchmark's JSON to FILE, for its tools/compare.py");
  command.add_option(
      "--annotate FILE", arguments.annotate,
      "write a copy of the model with time, MACs and bytes as metadata of its nodes, "
      "which Netron shows");
}

void add_report_options(Command& command, ProfileArguments& arguments) {
  command.heading("Rows");
  auto* ops = command.add_flag("--ops", arguments.ops, "one row for each kind of op");
  command.add_flag("--steps", arguments.steps, "one row for each step that the engine runs")
      ->excludes(ops);
  command.add_option("--top N", arguments.top,
                     "show the N slowest rows; 0 shows all; default: as many as fit a screen");
  command.add_option("--sort COLUMN", arguments.sort,
                     "sort rows by a column of the table; 'order' is the order of execution");
  const FormatOptions format =
      add_output_format(command, arguments.format, "print the rows as CSV");
  command
      .add_option("--columns LIST", arguments.columns,
                  "columns of the table by their headings: layer,output,'time ms'")
      ->excludes(format.json)
      ->excludes(format.csv);
  command
      .add_flag(
          "--explain", arguments.explain,
          "say what the figures mean, why the savings are expected, what to do about warnings")
      ->excludes(format.json)
      ->excludes(format.csv);
  command.add_option("--trace FILE", arguments.trace,
                     "write a timeline of some runs, for ui.perfetto.dev");
  command.add_option("--out FOLDER", arguments.folder,
                     "write profile.json, layers.csv, trace.json, pictures of the roofline, the "
                     "layers' times and the memory, and the hardware summary's tables and charts "
                     "into this folder");
  add_page_option(command, arguments.html);
  add_overlay_options(command, arguments);
  command.heading("Comparison with hardware");
  command.add_flag("--roofline", arguments.roofline,
                   "draw the layers under the machine's ceilings");
  command.add_flag("--hardware", arguments.hardware,
                   "the hardware summary, and the same model on other devices; with --csv the "
                   "devices instead of the layers");
  command.add_option("--memory-bandwidth-gbps GB/S", arguments.memory_bandwidth_gbps,
                     "the bandwidth that --hardware compares with, GB/s; default: as measured");
  command.add_option("--peak-compute-gmacs GMAC/S", arguments.peak_compute_gmacs,
                     "the peak that --hardware compares with, GMAC/s; default: as measured");
}

}  // namespace

void add_profile_options(Command& command, ProfileArguments& arguments) {
  command
      .add_option("MODEL", arguments.models,
                  "an .onnx file, or zoo:NAME; several give one table, a row each")
      ->required();
  add_shape_options(command, arguments.model);
  add_engine_options(command, arguments.engine, kChosenThreadsHelp);
  add_precision_option(command, arguments.engine);
  add_timing_options(command, arguments);
  add_import_option(command, arguments);
  add_report_options(command, arguments);
  add_decoding_options(command, arguments);
  add_training_options(command, arguments.training);
}

TimingOptions timing_options(const ProfileArguments& arguments) {
  TimingOptions options;
  if (!arguments.max_time.empty()) {
    options.max_seconds = parse_decimal("--max-time", arguments.max_time, 0);
    options.min_seconds = std::min(options.min_seconds, options.max_seconds);
  }
  if (!arguments.min_time.empty()) {
    options.min_seconds = parse_decimal("--min-time", arguments.min_time, 0);
    if (arguments.max_time.empty()) {
      options.max_seconds = std::max(options.max_seconds, options.min_seconds);
    }
  }
  if (options.min_seconds > options.max_seconds) {
    fail_usage("--min-time {} is more than --max-time {}", arguments.min_time, arguments.max_time);
  }
  if (!arguments.target.empty()) {
    options.target = parse_decimal("--target", arguments.target, 0.001) / 100.0;
  }
  const auto count = [](const char* flag, const std::string& text, std::int64_t smallest) {
    return static_cast<std::size_t>(parse_count(flag, text, smallest));
  };
  if (!arguments.warmup.empty()) options.fixed_warmup = count("--warmup", arguments.warmup, 0);
  if (!arguments.runs.empty()) options.fixed_samples = count("--runs", arguments.runs, 1);
  return options;
}

std::optional<DecodingStep> decoding_step(const ProfileArguments& arguments) {
  if (arguments.decode.empty()) return {};
  DecodingStep step{.past = parse_count("--decode", arguments.decode, 0)};
  if (!arguments.capacity.empty())
    step.capacity = parse_count("--capacity", arguments.capacity, step.past + 1);
  return step;
}

ProfileReportOptions report_options(const ProfileArguments& arguments) {
  ProfileReportOptions options;
  if (arguments.ops) options.group_by = GroupBy::Ops;
  if (arguments.steps) options.group_by = GroupBy::Steps;
  if (!arguments.top.empty()) {
    options.top = static_cast<std::size_t>(parse_count("--top", arguments.top, 0));
  }
  if (!arguments.sort.empty()) options.sort = arguments.sort;
  if (!arguments.columns.empty()) options.columns = split(arguments.columns, ',');
  options.explain = arguments.explain;
  options.layout = layout_of(arguments.format);
  check_profile_columns(options);
  return options;
}

}  // namespace assay::cli
