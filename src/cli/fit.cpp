// assay fit: on which devices a model would run, how fast, and whether it has room there.
#include <algorithm>
#include <memory>

#include "assay/device_list.h"
#include "assay/fit_report.h"
#include "base/fail.h"
#include "cli/cache.h"
#include "cli/calibration_networks.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/device_options.h"
#include "cli/machine_cache.h"
#include "cli/model_argument.h"
#include "cli/model_options.h"

namespace assay::cli {

namespace {

struct Arguments {
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
  bool json = false;
  bool csv = false;
};

constexpr const char* kExamples = R"(Examples:
  assay fit model.onnx                              every device of the catalogue
  assay fit model.onnx --max-ms 200 --device raspberry-pi-4-4gb   exit code 1 if it does not fit
  assay fit zoo:mobilenet_v2 --kind microcontroller --precision int8
  assay fit model.onnx --device-file kitchen-pi.json    a machine measured by 'assay machine --json'
  assay fit --validate                              how well networks are predicted from each other
The first time, built-in networks are run for some two minutes to see how near its ceilings each
kind of layer comes here; that is kept.)";

// Nothing where none was kept, where other ceilings have been measured since, or where the file is
// damaged.
std::optional<Calibration> kept_calibration(const std::optional<std::string>& path,
                                            const Machine& machine) {
  const auto text = kept_text(path);
  if (!text) return {};
  try {
    Calibration calibration = parse_calibration_json(*text, *path);
    if (calibration.ceilings_of != machine.measured_at) return {};
    return calibration;
  } catch (const Error&) {
    return {};  // it is measured again, and the file made anew
  }
}

void warn_of_disturbance(const Calibration& calibration, std::vector<std::string>& warnings) {
  if (calibration.is_trustworthy()) return;
  warnings.push_back(fmt::format(
      "when this machine was calibrated ({}), something else ran beside {} of {} "
      "networks: estimates are doubtful; run 'assay fit --recalibrate' when it is quiet",
      calibration.measured_at, calibration.disturbed.size(), calibration.held_out.size()));
}

// One that something else ran beside does not replace a better one.
void keep_calibration(const Calibration& calibration, const std::optional<Calibration>& before,
                      const std::optional<std::string>& path, std::vector<std::string>& warnings) {
  warn_of_disturbance(calibration, warnings);
  if (!calibration.is_trustworthy() && before && before->is_trustworthy()) return;
  std::string why_not = keep_text(path, calibration_json(calibration), "the calibration is");
  if (!why_not.empty()) warnings.push_back(std::move(why_not));
}

Calibration known_calibration(const Machine& machine, bool again, Progress& progress,
                              std::vector<std::string>& warnings) {
  const auto path = cache_path("calibration", fingerprint(machine.topology));
  auto kept = kept_calibration(path, machine);
  if (kept && !again) {
    warn_of_disturbance(*kept, warnings);
    return std::move(*kept);
  }
  const auto threads = static_cast<int>(machine.topology.usable.size());
  Calibration calibration = calibrate(machine, threads, calibration_networks(), &progress);
  keep_calibration(calibration, kept, path, warnings);
  return calibration;
}

std::optional<double> limit_of(const char* flag, const std::string& text) {
  if (text.empty()) return {};
  return parse_decimal(flag, text, 1e-9);
}

std::vector<Device> wanted_devices(const Arguments& arguments, const Machine& machine,
                                   std::vector<std::string>& warnings) {
  KnownDevices known = known_devices(arguments.devices);
  warnings.insert(warnings.end(), known.warnings.begin(), known.warnings.end());
  Device here = device_from_machine(machine, "this-machine");
  known.devices.insert(known.devices.begin(), std::move(here));
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

std::string rendered(const Arguments& arguments, const FitReport& report) {
  if (arguments.json) return fit_json(report);
  if (arguments.csv) return fit_csv(report);
  return fit_table(report);
}

bool fits_somewhere(const FitReport& report) {
  return std::ranges::any_of(report.devices, [](const DeviceFit& fit) {
    return fit.verdict == FitVerdict::Fits || fit.verdict == FitVerdict::Tight;
  });
}

Exit fit_and_print(const Arguments& arguments, const Machine& machine,
                   const Calibration& calibration, bool quiet, std::vector<std::string> warnings) {
  FitOptions options{.precision = arguments.precision};
  options.limits = {.max_ms = limit_of("--max-ms", arguments.max_ms),
                    .max_mb = limit_of("--max-mb", arguments.max_mb),
                    .max_watts = limit_of("--max-watts", arguments.max_watts)};
  const auto devices = wanted_devices(arguments, machine, warnings);
  RequestedModel request = requested_model(arguments.model);
  options.count.bindings = std::move(request.run.bindings);
  options.count.input_values = std::move(request.run.known_values);
  FitReport report = blaming(arguments.model.model, [&] {
    return fit_model(std::move(request.graph), arguments.model.model, devices, calibration,
                     options);
  });
  report.warnings.insert(report.warnings.end(), warnings.begin(), warnings.end());
  print_data(rendered(arguments, report));
  print_warnings(report.warnings, quiet);
  if (fits_somewhere(report)) return Exit::Fine;
  print_error("the model fits none of these devices");
  return Exit::GateFailed;
}

Exit run_fit(const Arguments& arguments, bool quiet) {
  if (arguments.model.model.empty() && !arguments.validate) {
    fail_usage("MODEL is required; 'assay fit --help' shows examples");
  }
  catch_interrupts();
  std::vector<std::string> warnings;
  ProgressBar progress(quiet);
  const Machine machine = known_machine(progress, warnings);
  const Calibration calibration =
      known_calibration(machine, arguments.recalibrate, progress, warnings);
  if (arguments.validate) {
    print_data(arguments.json ? calibration_json(calibration) : held_out_table(calibration));
    print_warnings(warnings, quiet);
    return Exit::Fine;
  }
  return fit_and_print(arguments, machine, calibration, quiet, std::move(warnings));
}

}  // namespace

void add_fit(CommandLine& program) {
  auto arguments = std::make_shared<Arguments>();
  Command* fit = program.app.add_subcommand(
      "fit", "Will it fit: latency, memory and energy on devices, predicted");
  fit->add_option("MODEL", arguments->model.model, "an .onnx file, or zoo:NAME");
  add_shape_options(*fit, arguments->model);
  fit->add_option("--device", arguments->ids, "only this one (repeatable); see 'assay devices'")
      ->one_value_each();
  fit->add_option("--kind", arguments->kind, "only devices of this kind");
  add_device_options(*fit, arguments->devices);
  fit->add_option("--precision", arguments->precision, "fp32 (default), fp16, bf16 or int8");
  fit->add_option("--max-ms", arguments->max_ms, "milliseconds a run may take");
  fit->add_option("--max-mb", arguments->max_mb, "MB that weights and activations may take");
  fit->add_option("--max-watts", arguments->max_watts, "watts that the device may draw");
  fit->add_flag("--validate", arguments->validate,
                "show how well built-in networks are predicted from each other");
  fit->add_flag("--recalibrate", arguments->recalibrate, "run the built-in networks again");
  auto* json = fit->add_flag("--json", arguments->json, "print one JSON object");
  fit->add_flag("--csv", arguments->csv, "print a line for each device as CSV")->excludes(json);
  fit->footer(kExamples);
  fit->callback([&program, arguments] {
    program.chosen = [&program, arguments] { return run_fit(*arguments, program.quiet); };
  });
}

}  // namespace assay::cli
