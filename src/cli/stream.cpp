// assay stream: a model fed at a fixed interval.
#include <algorithm>
#include <memory>

#include "assay/stored_calibration.h"
#include "assay/stored_machine.h"
#include "assay/stream_report.h"
#include "assay/zoo.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/engine_options.h"
#include "cli/flags.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/origin.h"
#include "cli/output_format.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

struct StreamArguments {
  ModelArguments model;
  EngineArguments engine;
  std::string features;
  std::string width;
  std::string interval_ms;
  std::string deadline_ms;
  std::string duration;
  bool measured = false;
  bool find_interval = false;
  bool deployment = false;
  std::string folder;
  OutputFormat format;
  std::string html;
};

constexpr const char* kStreamExamples = R"(Examples:
  assay stream --features 64 --interval-ms 10    the streaming model: normalise 64 features,
                                                 project, activate, decide; estimated
  assay stream --features 64 --width 512 --batch 8 --interval-ms 10   wider, eight at once
  assay stream zoo:mobilenet_v2 --interval-ms 33            any model, estimated
  assay stream model.onnx --interval-ms 33 --measured       fed 30 times a second
  assay stream model.onnx --interval-ms 33 --measured --duration 60 --deadline-ms 20
  assay stream model.onnx --find-interval                   how fast can it be fed
  assay stream model.onnx --interval-ms 33 --batch 32 --deployment   batch, or one by one
  assay stream model.onnx --interval-ms 33 --json | jq .totals
Estimates stand on the calibration of 'assay fit' ('assay fit --validate' makes one, once); without
one they are lower bounds. Ctrl-C stops early and reports what was measured.)";

constexpr double kLongestDuration = 86'400;

// What the command line asks for, checked before anything runs.
struct StreamRequest {
  std::optional<std::int64_t> features = {};  // of the streaming model
  std::int64_t batch = 1;
  std::string name;
  Graph graph;
  std::optional<double> interval_ms = {};  // none: the shortest that is found
  HardwareProfileOptions profile = {};
  std::optional<StreamOptions> stream = {};
  std::optional<IntervalSearchOptions> search = {};
};

const ZooParameter& stream_parameter(std::string_view name) {
  const auto entry = std::ranges::find(zoo_entries(), "stream_mlp", &ZooEntry::name);
  return *std::ranges::find(entry->parameters, name, &ZooParameter::name);
}

std::int64_t stream_size(const char* flag, const std::string& text, std::string_view parameter) {
  return parse_count(flag, text, 1, stream_parameter(parameter).largest);
}

void request_streaming_model(const StreamArguments& arguments, StreamRequest& request) {
  const ModelArguments& model = arguments.model;
  if (!model.dims.empty() || !model.inputs.empty() || !model.values.empty()) {
    fail_usage("--dim, --input and --value go with a MODEL, not with --features");
  }
  request.features = stream_size("--features", arguments.features, "features");
  if (!model.batch.empty()) request.batch = stream_size("--batch", model.batch, "batch");
  if (!arguments.width.empty()) {
    request.profile.width = stream_size("--width", arguments.width, "width");
  }
  request.name = "the streaming model";
  request.graph = streaming_model(*request.features, request.batch, request.profile.width);
}

void request_model(const StreamArguments& arguments, StreamRequest& request) {
  RequestedModel model = requested_model(arguments.model);
  request.batch = model.run.bindings.batch.value_or(1);
  request.name = arguments.model.model;
  request.graph = std::move(model.graph);
  request.profile.run = std::move(model.run);
}

double milliseconds(const char* flag, const std::string& text) {
  return parse_decimal(flag, text, kShortestIntervalMs, kLongestIntervalMs);
}

void request_measurement(const StreamArguments& arguments, StreamRequest& request) {
  std::optional<double> deadline_ms;
  if (!arguments.deadline_ms.empty()) {
    deadline_ms = milliseconds("--deadline-ms", arguments.deadline_ms);
  }
  if (deadline_ms && !arguments.measured && !arguments.find_interval) {
    fail_usage("--deadline-ms requires --measured or --find-interval");
  }
  if (arguments.measured) {
    request.stream = {.interval_ms = *request.interval_ms, .deadline_ms = deadline_ms};
    if (!arguments.duration.empty()) {
      request.stream->duration_seconds =
          parse_decimal("--duration", arguments.duration, 0.001, kLongestDuration);
    }
  }
  if (arguments.find_interval) request.search = {.deadline_ms = deadline_ms};
}

std::optional<double> requested_interval(const StreamArguments& arguments) {
  if (!arguments.interval_ms.empty()) return milliseconds("--interval-ms", arguments.interval_ms);
  if (arguments.find_interval && !arguments.measured) return {};
  fail_usage("--interval-ms is required{}",
             arguments.measured ? " with --measured" : "; --find-interval finds the shortest");
}

StreamRequest requested(const StreamArguments& arguments) {
  StreamRequest request;
  RunOptions engine;
  apply_engine_options(arguments.engine, engine);
  engine.program.only_where_faster = true;
  request.interval_ms = requested_interval(arguments);
  request_measurement(arguments, request);
  if (arguments.model.model.empty() && arguments.features.empty()) {
    fail_usage("no model: give a MODEL, or --features N for the streaming model");
  }
  if (arguments.model.model.empty()) {
    request_streaming_model(arguments, request);
  } else {
    request_model(arguments, request);
  }
  request.profile.run.program = engine.program;
  request.profile.run.seed = engine.seed;
  return request;
}

HardwareProfile estimated(const StreamRequest& request, double interval_ms, Progress& progress) {
  if (request.features) {
    return build_hardware_profile_table(*request.features, request.batch, interval_ms,
                                        request.profile, &progress);
  }
  return build_hardware_profile_table(request.graph, request.name, interval_ms, request.profile,
                                      &progress);
}

// If this is interrupted, earlier measurements are still reported.
void add_deployment(const StreamRequest& request, StreamReport& report, Progress& progress) {
  try {
    report.deployment = simulate_deployment(request.graph, report.profile.batch,
                                            {.run = request.profile.run}, &progress);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Cancelled) throw;
    report.lacks_deployment = true;
  }
}

StreamedModel measured(const StreamRequest& request, Progress& progress) {
  if (!request.stream && !request.search) return {};
  return stream_model(request.graph, request.profile.run, request.stream, request.search,
                      &progress);
}

double estimated_interval(const StreamRequest& request, const StreamedModel& streamed) {
  if (request.interval_ms) return *request.interval_ms;
  if (streamed.search->interval_ms) return *streamed.search->interval_ms;
  if (streamed.was_interrupted()) {
    throw Error(ErrorKind::Cancelled, "interrupted before an interval was found");
  }
  fail_running("no sustainable interval was found in {:.0f} s; close other programs and try again",
               streamed.search->elapsed_seconds);
}

StreamReport streamed(const StreamArguments& arguments, StreamRequest request, bool quiet) {
  ProgressBar progress(quiet);
  catch_interrupts();
  std::vector<std::string> warnings;
  request.profile.machine = chosen_machine(progress, quiet, kStoredMachine, warnings);
  request.profile.calibration = cached_calibration(*request.profile.machine, warnings);
  StreamReport report{.streamed = measured(request, progress)};
  report.profile = estimated(request, estimated_interval(request, report.streamed), progress);
  report.profile.forecast.reason = with_flags(std::move(report.profile.forecast.reason));
  report.profile.warnings.insert(report.profile.warnings.end(), warnings.begin(), warnings.end());
  use_flags(report.profile.warnings);
  if (arguments.deployment && !report.was_interrupted()) {
    add_deployment(request, report, progress);
  }
  return report;
}

void write_files(const std::string& folder, const StreamReport& report) {
  if (folder.empty()) return;
  write_hardware_profile_artifacts(report.profile, folder);
  write_file(std::filesystem::path(folder) / "stream.json", with_origin(stream_json(report)));
}

std::string rendered(const StreamArguments& arguments, const StreamReport& report) {
  return formatted(
      arguments.format, [&](const Layout& layout) { return stream_table(report, layout); },
      [&] { return stream_json(report); }, [&] { return operator_profile_csv(report.profile); });
}

Exit run_stream(const StreamArguments& arguments, bool quiet) {
  StreamRequest request = requested(arguments);
  if (!arguments.folder.empty()) make_folder(arguments.folder);  // fails before anything runs
  PageFile page(arguments.html);
  const StreamReport report =
      naming_model(request.name, [&] { return streamed(arguments, std::move(request), quiet); });
  write_files(arguments.folder, report);
  page.write("stream.json", [&] { return stream_json(report); });
  print_data(rendered(arguments, report));
  print_warnings(report.profile.warnings, quiet);
  if (!report.was_interrupted()) return Exit::Fine;
  print_interrupted("these are the results so far");
  return Exit::Interrupted;
}

void add_measuring_options(Command& command, StreamArguments& arguments) {
  command.heading("Measurement");
  auto* measured =
      command.add_flag("--measured", arguments.measured,
                       "run it on a real clock: queueing delay, response times, missed deadlines");
  command
      .add_option("--duration SECONDS", arguments.duration,
                  "seconds to feed it; default 100 intervals, but 5 to 30 s")
      ->needs(measured);
  command.add_option("--deadline-ms MS", arguments.deadline_ms,
                     "longest time from arrival to result; default: the interval");
  command.add_flag("--find-interval", arguments.find_interval,
                   "find the shortest interval that it keeps up with; takes about 20 s");
  command.add_flag("--deployment", arguments.deployment,
                   "compare running a batch at once with running its samples one by one");
}

}  // namespace

void add_stream(CommandLine& program) {
  auto arguments = std::make_shared<StreamArguments>();
  Command* stream = program.app.add_subcommand(
      "stream", "A model fed at a fixed interval: estimated, or measured on a real clock");
  stream->heading("Stream");
  auto* model = stream->add_option("MODEL", arguments->model.model, "an .onnx file, or zoo:NAME");
  auto* features =
      stream->add_option("--features N", arguments->features,
                         "use the built-in streaming model with N features instead of a MODEL");
  features->excludes(model);
  stream
      ->add_option("--width N", arguments->width,
                   "width of its projection; default: the number of features")
      ->needs(features);
  stream->add_option("--interval-ms MS", arguments->interval_ms,
                     "time between arrivals; not needed with --find-interval");
  add_shape_options(*stream, arguments->model);
  add_engine_options(*stream, arguments->engine);
  add_precision_option(*stream, arguments->engine);
  add_measuring_options(*stream, *arguments);
  stream->heading("Output");
  stream->add_option("--out FOLDER", arguments->folder,
                     "write operator_profile.csv, hardware_totals.csv and stream.json there");
  add_output_format(*stream, arguments->format, "print the operators as CSV");
  add_page_option(*stream, arguments->html);
  stream->footer(kStreamExamples);
  stream->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_stream(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
