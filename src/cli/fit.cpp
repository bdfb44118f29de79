// assay fit: on which devices a model would run, how fast, and whether it fits in memory.
#include <algorithm>
#include <memory>
#include <optional>

#include "assay/count.h"
#include "assay/device_list.h"
#include "assay/fit_report.h"
#include "assay/stored_calibration.h"
#include "assay/stored_machine.h"
#include "base/fail.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device_options.h"
#include "cli/flags.h"
#include "cli/machine_choice.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"
#include "cli/output_format.h"
#include "cli/page.h"

namespace assay::cli {

namespace {

struct FitArguments {
  ModelArguments model;
  DeviceArguments devices;
  std::vector<std::string> ids;
  std::string kind;
  std::string precision = "fp32";
  std::string max_ms;
  std::string max_mb;
  std::string max_watts;
  bool validate = false;
  bool recalibrate = false;
  OutputFormat format;
  std::string html;
};

constexpr const char* kFitExamples = R"(Examples:
  assay fit model.onnx                              every device of the catalogue
  assay fit model.onnx --max-ms 200 --device raspberry-pi-4-4gb   exit code 1 if it does not fit
  assay fit zoo:mobilenet_v2 --kind microcontroller --precision int8
  assay fit model.onnx --device-file kitchen-pi.json    a machine measured by 'assay machine --json'
  assay fit --validate                              how well each network is predicted from the others
The first time, built-in networks are run for about two minutes to find how close to the machine's
ceilings each kind of layer comes; the result is cached.)";

std::optional<double> limit_of(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  return parse_decimal(flag, text, 1e-9);
}

constexpr const char* kHere = "this-machine";
constexpr const char* kGpuHere = "this-gpu";

// This machine, and its GPU if it has one.
std::vector<Device> devices_here(const Machine& machine) {
  std::vector<Device> here = {device_from_machine(machine, kHere)};
  if (machine.gpu) here.push_back(device_from_gpu(*machine.gpu, kGpuHere));
  return here;
}

std::vector<Device> wanted_devices(const FitArguments& arguments, std::vector<Device> here,
                                   std::vector<std::string>& warnings) {
  KnownDevices known = known_devices(arguments.devices);
  warnings.insert(warnings.end(), known.warnings.begin(), known.warnings.end());
  known.devices.insert(known.devices.begin(), here.begin(), here.end());
  if (!arguments.ids.empty()) {
    std::vector<Device> chosen;
    for (const std::string& id : arguments.ids) chosen.push_back(find_device(known.devices, id));
    return chosen;
  }
  if (arguments.kind.empty()) return std::move(known.devices);
  const DeviceKind kind = device_kind_called(arguments.kind);
  std::erase_if(known.devices, [&](const Device& device) { return device.kind != kind; });
  return std::move(known.devices);
}

std::string rendered(const FitArguments& arguments, const FitReport& report) {
  return formatted(
      arguments.format, [&](const Layout& layout) { return fit_table(report, layout); },
      [&] { return fit_json(report); }, [&] { return fit_csv(report); });
}

bool fits_somewhere(const FitReport& report) {
  return std::ranges::any_of(report.devices, [](const DeviceFit& fit) {
    return fit.verdict == FitVerdict::Fits || fit.verdict == FitVerdict::Tight;
  });
}

struct FitRequest {
  Graph graph;
  FitOptions options;
};

// Throws what is wrong with the model, the devices or the limits, before anything is measured.
FitRequest checked_request(const FitArguments& arguments) {
  FitRequest request;
  request.options.precision = arguments.precision;
  request.options.limits = {.max_ms = limit_of("--max-ms", arguments.max_ms),
                            .max_mb = limit_of("--max-mb", arguments.max_mb),
                            .max_watts = limit_of("--max-watts", arguments.max_watts)};
  std::vector<std::string> warnings;
  wanted_devices(arguments, {{.id = kHere}, {.id = kGpuHere}}, warnings);
  RequestedModel model = requested_model(arguments.model);
  request.graph = std::move(model.graph);
  request.options.count.bindings = std::move(model.run.bindings);
  request.options.count.input_values = std::move(model.run.known_values);
  const std::string& name = arguments.model.model;
  naming_model(name, [&] { return count_model(request.graph, name, request.options.count); });
  return request;
}

Exit fit_and_print(const FitArguments& arguments, FitRequest request, const Machine& machine,
                   const Calibration& calibration, bool quiet, std::vector<std::string> warnings,
                   PageFile& page) {
  const auto devices = wanted_devices(arguments, devices_here(machine), warnings);
  FitReport report = naming_model(arguments.model.model, [&] {
    return fit_model(std::move(request.graph), arguments.model.model, devices, calibration,
                     request.options);
  });
  report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
  use_flags(report.warnings);
  page.write("fit.json", [&] { return fit_json(report); });
  print_data(rendered(arguments, report));
  print_warnings(report.warnings, quiet);
  if (fits_somewhere(report)) return Exit::Fine;
  print_error("the model fits none of these devices");
  return Exit::GateFailed;
}

Exit run_fit(const FitArguments& arguments, bool quiet) {
  if (arguments.model.model.empty() && !arguments.validate) {
    fail_usage("MODEL is required; 'assay fit --help' shows examples");
  }
  if (arguments.validate && !arguments.html.empty()) {
    fail_usage("--html cannot be combined with --validate");
  }
  std::optional<FitRequest> request;
  if (!arguments.validate) request = checked_request(arguments);
  PageFile page(arguments.html);
  catch_interrupts();
  std::vector<std::string> warnings;
  ProgressBar progress(quiet);
  Machine machine = chosen_machine(progress, quiet, kStoredMachine, warnings);
  if (!machine.gpu && !chosen_machine_file())
    machine.gpu = cached_or_measured_gpu(warnings, &progress);
  const Calibration calibration = cached_or_measured_calibration(
      machine, warnings, {.recalibrate = arguments.recalibrate}, &progress);
  if (arguments.validate) {
    print_data(formatted(
        arguments.format, [&](const Layout& layout) { return held_out_table(calibration, layout); },
        [&] { return calibration_json(calibration); }));
    use_flags(warnings);
    print_warnings(warnings, quiet);
    return Exit::Fine;
  }
  return fit_and_print(arguments, std::move(*request), machine, calibration, quiet,
                       std::move(warnings), page);
}

}  // namespace

void add_fit(CommandLine& program) {
  auto arguments = std::make_shared<FitArguments>();
  Command* fit =
      program.app.add_subcommand("fit", "Predict latency, memory and energy on other devices");
  fit->add_option("MODEL", arguments->model.model, "an .onnx file, or zoo:NAME");
  add_shape_options(*fit, arguments->model);
  fit->heading("Devices");
  fit->add_option("--device ID", arguments->ids,
                  "only this device (repeatable); 'assay devices' lists them")
      ->one_value_each();
  fit->add_option("--kind KIND", arguments->kind, "only devices of this kind");
  add_device_options(*fit, arguments->devices);
  fit->heading("Requirements");
  fit->add_option("--precision TYPE", arguments->precision, "fp32 (default), fp16, bf16 or int8");
  fit->add_option("--max-ms MS", arguments->max_ms, "longest latency allowed, in ms");
  fit->add_option("--max-mb MB", arguments->max_mb,
                  "most memory allowed for weights and activations, in MB");
  fit->add_option("--max-watts WATTS", arguments->max_watts, "highest power allowed, in watts");
  fit->heading("Calibration");
  fit->add_flag("--validate", arguments->validate,
                "show how well each built-in network is predicted from the others");
  fit->add_flag("--recalibrate", arguments->recalibrate, "measure the built-in networks again");
  add_output_format(*fit, arguments->format, "print one line per device as CSV");
  add_page_option(*fit, arguments->html);
  fit->footer(kFitExamples);
  fit->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_fit(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
