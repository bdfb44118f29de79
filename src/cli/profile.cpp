// assay profile: runs a model and reports where the time goes.
#include <memory>

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/hardware_comparison.h"
#include "assay/hardware_report.h"
#include "assay/hardware_summary.h"
#include "assay/import_profile.h"
#include "assay/profile.h"
#include "assay/profile_report.h"
#include "assay/runtime_trace_file.h"
#include "assay/stored_machine.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/fewer_threads.h"
#include "cli/flags.h"
#include "cli/folder.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/origin.h"
#include "cli/page.h"
#include "cli/profile_annotate.h"
#include "cli/profile_arguments.h"
#include "cli/profile_gate.h"
#include "cli/profile_set.h"
#include "cli/profile_training.h"
#include "cli/turns.h"

namespace assay::cli {

namespace {

constexpr const char* kProfileExamples = R"(Examples:
  assay profile model.onnx                       latency, slowest layers, memory
  assay profile model.onnx --explain             the same, with every explanation
  assay profile zoo:resnet50 --threads 1         on one thread
  assay profile zoo:resnet18 --batch 16 --ops    where the time goes, by kind of op
  assay profile a.onnx b.onnx --batch 1,4,16     one table, a row for each
  assay profile model.onnx --threads 1,2,4       speed-up and efficiency
  assay profile model.onnx --runs 100 --warmup 10  a fixed number of runs
  assay profile model.onnx --input x=photo.npy   on real data
  assay profile model.onnx --trace t.json        a timeline for ui.perfetto.dev
  assay profile model.onnx --roofline --hardware how near the machine's ceilings it comes
  assay profile model.onnx --hardware --memory-bandwidth-gbps 12.8 --peak-compute-gmacs 64
  assay profile model.onnx --hardware --csv      the same model on every device of the catalogue
  assay profile model.onnx --out results         everything, with pictures, in a folder
  assay profile model.onnx --html report.html    a page with charts, to share
  assay profile model.onnx --json > before.json  every sample; see 'assay compare'
  assay profile model.onnx --import ort.json     the times of ONNX Runtime's profile, with roofline
  assay profile model.onnx --node-data times.json --annotate seen.onnx   for Model Explorer, Netron
  assay profile model.onnx --train --batch 32    a step of training, forward pass, backward pass, update
  assay profile zoo:gpt2_small_decode --decode 512   one token after 512 others: ms and tokens/s
  assay profile model.onnx --train --optimizer adam --max-mb 512   and the batch that fits
Ctrl-C stops early and reports what was measured.)";

constexpr std::size_t kTracedRuns = 5;

// What is to be profiled, and how.
struct ProfileRequest {
  RequestedModel model;
  ProfileOptions options;
};

ProfileRequest request_of(const ProfileArguments& arguments) {
  ProfileOptions options;
  options.timing = timing_options(arguments);
  apply_engine_options(arguments.engine, options.run);
  options.run.program.only_where_faster = true;
  // Sides of a comparison run alike.
  if (arguments.turns.empty()) choose_threads(arguments.engine, options.run.program);
  RequestedModel model = requested_model(arguments.model);
  model.run.program = options.run.program;
  model.run.seed = options.run.seed;
  options.run = std::move(model.run);
  options.read_ms = model.read_ms;
  options.judge = !arguments.no_ceilings;
  options.count_events = arguments.counters;
  options.measure_energy = arguments.energy;
  if (!arguments.power_watts.empty()) {
    options.power_watts = parse_decimal("--power-watts", arguments.power_watts, 1e-6);
  }
  const bool wants_trace = !arguments.trace.empty() || !arguments.folder.empty();
  options.traced_runs = wants_trace ? kTracedRuns : 0;
  return {std::move(model), std::move(options)};
}

// Only for people: programs that read the output decide about threads themselves.
bool advises_about_threads(const ProfileArguments& arguments, bool quiet) {
  return !quiet && !arguments.format.json && !arguments.format.csv && arguments.turns.empty();
}

Profile profiled(const ProfileArguments& arguments, bool quiet, bool is_one_of_several) {
  ProfileRequest request = request_of(arguments);
  ProgressBar bar(quiet);
  std::optional<TurnsProgress> turns;
  if (!arguments.turns.empty()) turns.emplace(parse_decimal("--turns", arguments.turns, 0));
  Progress& progress = turns ? static_cast<Progress&>(*turns) : bar;
  catch_interrupts();
  std::vector<std::string> machine_warnings;
  if (request.options.judge) {
    request.options.machine = chosen_machine_for(request.options.run.program, progress, quiet,
                                                 kNoCeilings, machine_warnings);
  }
  const auto step = decoding_step(arguments);
  Profile profile = naming_model(arguments.model.model, [&] {
    const std::string& name = arguments.model.model;
    return step
               ? profile_decoding_step(request.model.graph, name, *step, request.options, &progress)
               : profile_model(request.model.graph, name, request.options, &progress);
  });
  if (!is_one_of_several && !step && advises_about_threads(arguments, quiet)) {
    const auto note = fewer_threads_note(request.model.graph, request.options, profile);
    if (note) print_note(*note, quiet);
  }
  profile.warnings.insert(profile.warnings.end(), machine_warnings.begin(), machine_warnings.end());
  use_flags(profile.warnings);
  use_flags(profile.advice);
  return profile;
}

// A profile of another runtime, with our counts.
Profile imported(const ProfileArguments& arguments, bool quiet) {
  const RuntimeTrace trace = read_runtime_trace(arguments.import_file);
  ProfileRequest request = request_of(arguments);
  ImportOptions options{.run = std::move(request.options.run),
                        .judge = request.options.judge,
                        .power_watts = request.options.power_watts};
  if (!arguments.engine.threads.empty()) options.threads = options.run.program.cpu.threads;
  ProgressBar bar(quiet);
  catch_interrupts();
  std::vector<std::string> machine_warnings;
  if (options.judge) {
    options.machine = chosen_machine(bar, quiet, kNoCeilings, machine_warnings);
  }
  Profile profile = naming_model(arguments.model.model, [&] {
    return import_profile(request.model.graph, arguments.model.model, trace, options, &bar);
  });
  profile.warnings.insert(profile.warnings.end(), machine_warnings.begin(), machine_warnings.end());
  use_flags(profile.warnings);
  use_flags(profile.advice);
  return profile;
}

// The files to write, opened before anything runs so that errors show at once.
class Files {
 public:
  explicit Files(const ProfileArguments& arguments) {
    if (!arguments.trace.empty()) add(arguments.trace, profile_trace_of);
    if (!arguments.node_data.empty()) add(arguments.node_data, node_data_of);
    if (!arguments.benchmark_json.empty()) add(arguments.benchmark_json, benchmark_of);
    if (arguments.folder.empty()) return;
    const std::filesystem::path folder(arguments.folder);
    make_folder(folder);
    add(folder / "profile.json", profile_json_of);
    add(folder / "layers.csv", profile_csv);
    add(folder / "trace.json", profile_trace_of);
  }

  // Files have all rows, however many the terminal shows.
  void write(const Profile& profile, ProfileReportOptions options) {
    options.top = {};
    for (auto& [format, file] : files_) {
      file->write(format(profile, options));
      file->commit();
    }
  }

 private:
  using Format = std::string (*)(const Profile& profile, const ProfileReportOptions& options);

  static std::string profile_json_of(const Profile& profile, const ProfileReportOptions& options) {
    return with_origin(profile_json(profile, options));
  }
  static std::string profile_trace_of(const Profile& profile, const ProfileReportOptions&) {
    return profile_trace(profile);
  }
  static std::string node_data_of(const Profile& profile, const ProfileReportOptions&) {
    return profile_node_data(profile);
  }
  static std::string benchmark_of(const Profile& profile, const ProfileReportOptions&) {
    return profile_benchmark_json(profile);
  }

  void add(const std::filesystem::path& path, Format format) {
    files_.emplace_back(format, std::make_unique<AtomicFile>(path));
  }

  std::vector<std::pair<Format, std::unique_ptr<AtomicFile>>> files_;
};

std::optional<double> given(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  return parse_decimal(flag, text, 1e-9);
}

// What summarize_hardware is configured with: as given, else as measured.
struct HardwareSetting {
  std::optional<double> memory_bandwidth_gbps = {};
  std::optional<double> peak_compute_gmacs = {};
};

HardwareSetting hardware_setting(const ProfileArguments& arguments) {
  return {given("--memory-bandwidth-gbps", arguments.memory_bandwidth_gbps),
          given("--peak-compute-gmacs", arguments.peak_compute_gmacs)};
}

HardwareSetting completed(HardwareSetting setting, const Profile& profile) {
  if (!profile.roofline) return setting;
  if (!setting.memory_bandwidth_gbps) {
    setting.memory_bandwidth_gbps = profile.roofline->levels.back().read_gbps;
  }
  if (!setting.peak_compute_gmacs) setting.peak_compute_gmacs = profile.roofline->peak_gflops / 2;
  return setting;
}

std::optional<HardwareSummary> hardware_summary(const ProfileArguments& arguments,
                                                const Profile& profile,
                                                const std::vector<LayerEstimate>& layers) {
  const HardwareSetting setting = completed(hardware_setting(arguments), profile);
  if (!setting.memory_bandwidth_gbps || layers.empty()) return {};
  return summarize_hardware(layers, profile.latency.latency.median_ms,
                            *setting.memory_bandwidth_gbps, setting.peak_compute_gmacs);
}

// Often quoted devices, the catalogue, and this machine as measured or as given.
std::vector<ComparedDevice> devices_to_compare(const ProfileArguments& arguments,
                                               const HardwareSummary& summary) {
  std::vector<ComparedDevice> devices = reference_devices();
  std::vector<Device> catalogue = built_in_devices();
  sort_devices(catalogue);
  for (ComparedDevice& device : compared_devices(catalogue)) devices.push_back(std::move(device));
  const bool is_given =
      !arguments.memory_bandwidth_gbps.empty() || !arguments.peak_compute_gmacs.empty();
  devices.push_back({.name = "this machine",
                     .memory_bandwidth_gbps = summary.configured_memory_bandwidth_gbps,
                     .peak_compute_gmacs = summary.configured_peak_compute_gmacs,
                     .note = is_given ? "as given on the command line" : "measured"});
  return devices;
}

std::optional<HardwareReport> hardware_report(const ProfileArguments& arguments,
                                              const Profile& profile) {
  const auto layers = layer_estimates(profile);
  const auto summary = hardware_summary(arguments, profile, layers);
  if (!summary) return {};
  return HardwareReport{*summary, interpret_utilization(*summary, layers),
                        compare_devices(layers, profile.latency.latency.median_ms,
                                        devices_to_compare(arguments, *summary))};
}

std::string hardware_text(const std::optional<HardwareReport>& report, const Layout& layout) {
  if (report) return hardware_report_table(*report, layout);
  return "no hardware summary: it needs a memory bandwidth, and layers with weights or MACs\n";
}

std::string decoding_text(const Profile& profile, const DecodingStep& step) {
  return fmt::format("Decoding: {:.4g} ms per token after {} others, {:.4g} tokens/s\n",
                     profile.latency.latency.median_ms, step.past, profile.throughput_sps);
}

std::string rendered(const ProfileArguments& arguments, const Profile& profile,
                     const ProfileReportOptions& options) {
  if (arguments.format.json) return with_origin(profile_json(profile, options));
  if (arguments.format.csv && arguments.hardware) {
    return device_comparison_csv(options.hardware.value_or(HardwareReport{}).devices);
  }
  if (arguments.format.csv) return profile_csv(profile, options);
  std::string text = with_flags(profile_table(profile, options));
  const auto chart = arguments.roofline ? roofline_chart(profile) : std::nullopt;
  if (chart) text += "\n" + roofline_text(*chart, options.layout.width, 20, draws_colours());
  if (arguments.hardware) text += "\n" + hardware_text(options.hardware, options.layout);
  if (const auto step = decoding_step(arguments)) text += "\n" + decoding_text(profile, *step);
  return finished(text, options.layout);
}

// A flag that would have no effect is an error.
void check_hardware_flags(const ProfileArguments& arguments) {
  const HardwareSetting setting = hardware_setting(arguments);
  const bool is_given = setting.memory_bandwidth_gbps || setting.peak_compute_gmacs;
  if (is_given && !arguments.hardware && arguments.folder.empty()) {
    fail_usage("--memory-bandwidth-gbps and --peak-compute-gmacs need --hardware");
  }
  if (arguments.hardware && arguments.no_ceilings && !setting.memory_bandwidth_gbps) {
    fail_usage(
        "--hardware needs a bandwidth: leave out --no-ceilings, or give "
        "--memory-bandwidth-gbps");
  }
}

// Pictures and tables that --out writes next to profile.json.
void write_artifacts(const ProfileArguments& arguments, const Profile& profile) {
  const std::filesystem::path folder(arguments.folder);
  if (const auto chart = roofline_chart(profile)) {
    write_file(folder / "roofline.png", roofline_png(*chart));
    write_file(folder / "roofline.svg", roofline_svg(*chart));
  }
  write_file(folder / "layer_times.png", layer_times_png(profile));
  write_file(folder / "layer_times.svg", layer_times_svg(profile));
  if (const auto png = memory_schedule_png(profile)) {
    write_file(folder / "memory_schedule.png", *png);
    write_file(folder / "memory_schedule.svg", memory_schedule_svg(profile).value_or(""));
  }
  const auto layers = layer_estimates(profile);
  if (const auto summary = hardware_summary(arguments, profile, layers)) {
    const std::string& model = profile.model.name;
    save_layer_artifacts(folder, layers, *summary, model);
    write_file(folder / "layerwise_activation_memory.svg", activation_memory_svg(layers, model));
    write_file(folder / "layerwise_macs.svg", macs_svg(layers, model));
  }
}

// Flags that only apply to plain runs of the model.
void check_training_flags(const ProfileArguments& arguments) {
  const std::pair<const char*, bool> not_for_training[] = {
      {"--ops", arguments.ops},
      {"--steps", arguments.steps},
      {"--sort", !arguments.sort.empty()},
      {"--roofline", arguments.roofline},
      {"--hardware", arguments.hardware},
      {"--memory-bandwidth-gbps", !arguments.memory_bandwidth_gbps.empty()},
      {"--peak-compute-gmacs", !arguments.peak_compute_gmacs.empty()},
      {"--counters", arguments.counters},
      {"--trace", !arguments.trace.empty()},
      {"--node-data", !arguments.node_data.empty()},
      {"--benchmark-json", !arguments.benchmark_json.empty()},
      {"--annotate", !arguments.annotate.empty()}};
  for (const auto& [flag, is_given] : not_for_training) {
    if (is_given) fail_usage("{} cannot be combined with --train; --json has every step", flag);
  }
}

Exit run_training(const ProfileArguments& arguments, bool quiet) {
  check_training_flags(arguments);
  ProfileRequest request = request_of(arguments);
  TrainingRequest training{.model = arguments.model.model,
                           .graph = std::move(request.model.graph),
                           .profile = std::move(request.options),
                           .top = report_options(arguments).top,
                           .format = arguments.format,
                           .folder = arguments.folder,
                           .html = arguments.html,
                           .strict = arguments.strict};
  return run_training_profile(std::move(training), arguments.training, quiet);
}

// Flags that only apply to runs of the model.
void check_import_flags(const ProfileArguments& arguments) {
  const std::pair<const char*, bool> not_for_import[] = {
      {"--train", arguments.training.train},
      {"--counters", arguments.counters},
      {"--energy", arguments.energy},
      {"--engine", !arguments.engine.engine.empty()},
      {"--optimize-for", !arguments.engine.optimize_for.empty()},
      {"--precision", !arguments.engine.precision.empty()},
      {"--tuning", !arguments.engine.tuning.empty()},
      {"--min-time", !arguments.min_time.empty()},
      {"--max-time", !arguments.max_time.empty()},
      {"--target", !arguments.target.empty()},
      {"--warmup", !arguments.warmup.empty()},
      {"--runs", !arguments.runs.empty()}};
  for (const auto& [flag, is_given] : not_for_import) {
    if (is_given) {
      fail_usage("{} cannot be combined with --import: nothing is run", flag);
    }
  }
}

// A hash lets 'assay compare' find out whether the file is still the same. Its own processes need
// none.
bool is_stored_for_later(const ProfileArguments& arguments) {
  const bool is_written =
      arguments.format.json || !arguments.folder.empty() || !arguments.html.empty();
  return is_written && arguments.turns.empty() && !is_zoo_name(arguments.model.model);
}

// One line each; --explain prints them in full, with advice.
void print_profile_warnings(const ProfileArguments& arguments, const Profile& profile, bool quiet) {
  const auto print = arguments.explain ? print_warnings : print_short_warnings;
  print(profile.warnings, quiet);
  print(profile.uncounted_events, quiet);
}

// A step of decoding is a graph of its own, with a cache.
void check_decoding_flags(const ProfileArguments& arguments) {
  if (arguments.decode.empty() && !arguments.capacity.empty())
    fail_usage("--capacity {} is the size of a cache: give --decode too", arguments.capacity);
  if (arguments.decode.empty()) return;
  const std::pair<const char*, bool> not_for_decoding[] = {
      {"--train", arguments.training.train},
      {"--import", !arguments.import_file.empty()},
      {"--annotate", !arguments.annotate.empty()},
      {"--batch", !arguments.model.batch.empty()}};
  for (const auto& [flag, is_given] : not_for_decoding) {
    if (is_given) fail_usage("{} cannot be combined with --decode", flag);
  }
}

Exit run_profile(const ProfileArguments& arguments, bool quiet) {
  check_decoding_flags(arguments);
  const bool is_import = !arguments.import_file.empty();
  if (is_import) check_import_flags(arguments);
  if (arguments.training.train) return run_training(arguments, quiet);
  check_is_unused(arguments.training);
  check_hardware_flags(arguments);
  check_can_be_annotated(arguments.model.model, arguments.annotate);
  ProfileReportOptions report = report_options(arguments);
  Files files(arguments);
  PageFile page(arguments.html);
  Profile profile = is_import ? imported(arguments, quiet) : profiled(arguments, quiet, false);
  if (is_stored_for_later(arguments)) {
    profile.model.sha256 = sha256_of_file(arguments.model.model);
  }
  if (arguments.hardware) report.hardware = hardware_report(arguments, profile);
  files.write(profile, report);
  page.write("profile.json", [&] {
    return profile_json(profile, {.hardware = hardware_report(arguments, profile)});
  });
  if (!arguments.folder.empty()) write_artifacts(arguments, profile);
  write_annotated(profile, arguments.model.model, arguments.annotate, quiet);
  print_data(rendered(arguments, profile, report));
  print_profile_warnings(arguments, profile, quiet);
  return exit_after(profile, arguments.strict);
}

Exit run_profiles(const ProfileArguments& arguments, bool quiet) {
  const auto settings = profile_settings(arguments);
  if (settings.size() > 1) {
    return run_profile_set(arguments, settings, quiet,
                           [&](const ProfileArguments& one) { return profiled(one, quiet, true); });
  }
  return run_profile(settings.front(), quiet);
}

}  // namespace

void add_profile(CommandLine& program) {
  auto arguments = std::make_shared<ProfileArguments>();
  Command* profile = program.app.add_subcommand(
      "profile", "Run a model: latency, time of every layer, memory, start-up");
  add_profile_options(*profile, *arguments);
  profile->footer(kProfileExamples);
  profile->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_profiles(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
