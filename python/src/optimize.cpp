#include "assay/optimize.h"

#include <filesystem>

#include "assay/device_file.h"
#include "assay/device_list.h"
#include "assay/optimize_report.h"
#include "assay/stored_calibration.h"
#include "assay/version_search.h"
#include "base/fail.h"
#include "python/src/call.h"
#include "python/src/machine.h"
#include "python/src/model.h"
#include "python/src/report.h"
#include "python/src/tensor.h"

namespace assay::python {

namespace {

// A figure, or a share of the original's.
struct Target {
  std::optional<double> number = {};
  std::optional<double> share = {};

  bool is_given() const { return number || share; }
  std::optional<double> of(double original) const {
    return share ? std::optional(*share * original) : number;
  }
};

struct OptimizeRequest {
  Model model;
  RunOptions run;
  OptimizeData data;
  OptimizeOptions options;
  Target target_ms;
  Target target_mb;
  std::optional<double> max_loss = {};
  std::string device = "";
  double max_time = 60;
  std::string program = "";   // the command line, which confirms latencies
  std::string original = "";  // a file or zoo:NAME with the model
  std::string output = "";
  bool keeps_output = true;             // false: the file is only for the comparison
  std::vector<std::string> flags = {};  // for both sides of that comparison

  bool has_goal() const { return target_ms.is_given() || target_mb.is_given() || max_loss; }
};

struct OptimizedModel {
  Model model;
  bool met = false;
  Report report;
};

OptimizedModel optimized_of(OptimizeReport report, const std::string& name) {
  OptimizedModel optimized;
  optimized.model = {report.result.model, name};
  optimized.met = report.met;
  report.scales = tensor_scales(report.result.model);
  const auto shared = std::make_shared<const OptimizeReport>(std::move(report));
  optimized.report = {
      .document = "optimize.json",
      .table = [shared](const Layout& layout) { return optimize_table(*shared, layout); },
      .forms = {{"json", [shared] { return optimize_json(*shared); }},
                {"csv", [shared] { return optimize_csv(*shared); }},
                {"record", [shared] { return optimize_record_json(*shared); }}}};
  return optimized;
}

OptimizeReport report_for(const OptimizeRequest& request) {
  OptimizeReport report{.model = model_summary(request.model.graph, request.model.name)};
  report.batch = request.run.bindings.batch.value_or(1);
  report.threads = request.run.program.cpu.threads > 0
                       ? request.run.program.cpu.threads
                       : static_cast<int>(read_topology().usable.size());
  report.device = request.device;
  report.target_share = request.target_ms.share;
  report.calibrated_on = request.data.calibration.source;
  report.judged_on = request.data.judged_on;
  report.warnings = request.data.warnings;
  return report;
}

VersionSearch search_of(const OptimizeRequest& request) {
  VersionSearch search{.processes = {.a = {request.original, request.flags},
                                     .b = {request.output, request.flags},
                                     .program = request.program}};
  search.comparison.max_seconds = request.max_time;
  search.goal = [&request](const OptimizeTrial& original) {
    return OptimizeGoal{request.target_ms.of(original.cost->judged_ms()),
                        request.target_mb.of(original.cost->memory_mb), request.max_loss};
  };
  search.target_share = request.target_ms.share;
  return search;
}

// Refuses what cannot be done with this data, before any work.
void check(const OptimizeRequest& request) {
  const OptimizeOptions& options = request.options;
  if (!options.prune && !options.precision && !options.low_rank && !request.has_goal()) {
    fail_usage(
        "nothing to do: give `precision`, `prune` or `low_rank`, or a goal: `target_ms`, "
        "`target_mb` or `max_loss`");
  }
  const bool has_calibration = request.data.calibration.batches > 0;
  if (options.precision == VariantPrecision::Int8 && !has_calibration) {
    fail_usage("`precision` int8 needs `data` to calibrate with");
  }
  if (options.finetune_epochs > 0 && !request.data.training) {
    fail_usage("`finetune` needs `data` with labels");
  }
}

OptimizedModel optimize(OptimizeRequest& request, const std::optional<ChosenMachine>& machine,
                        const py::object& progress) {
  check(request);
  return call(progress, [&](Progress& reports) {
    return naming(request.model, [&] {
      OptimizeReport report = report_for(request);
      if (machine) {
        std::vector<Device> devices = built_in_devices();
        request.options.device = TargetDevice{
            find_device(devices, request.device),
            cached_or_measured_calibration(machine->machine, report.warnings, {}, &reports)};
      }
      ModelOptimizer optimizer(request.model.graph, request.data, request.options);
      search_and_confirm(search_of(request), optimizer, report, reports);
      if (report.met && !report.result.chosen) {
        report.written = write_version(report.result.model, request.output);
      }
      if (!request.keeps_output) report.written = {};
      for (const std::string& warning : report.result.warnings) report.warnings.push_back(warning);
      return optimized_of(std::move(report), request.model.name);
    });
  });
}

OptimizeData seeded(const Model& model, const RunOptions& run, std::uint64_t seed, bool calibrate) {
  constexpr std::int64_t kSamples = 32;
  constexpr std::uint64_t kApart = 1'000'000;
  OptimizeData data;
  data.inputs = seeded_inputs(model.graph, run.bindings, kSamples, seed);
  data.judged_on = "seeded random inputs: agreement with the original";
  if (!calibrate) return data;
  std::vector<std::vector<Tensor>> batches;
  for (ModelInputs& inputs :
       seeded_inputs(model.graph, run.bindings, 4 * kSamples, seed + kApart)) {
    batches.push_back(std::move(inputs.tensors));
  }
  data.calibration = calibration_data(std::move(batches));
  data.calibration.source = "seeded random inputs";
  data.warnings.emplace_back(
      "calibrated with random inputs: ranges of activations are not those of real data");
  return data;
}

Target target_of(const py::object& given, const char* name) {
  if (given.is_none()) return {};
  if (!py::isinstance<py::str>(given)) return {.number = given.cast<double>()};
  const auto text = given.cast<std::string>();
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || std::string(end) != "%" || !(number > 0)) {
    fail_usage("`{}` '{}': expected a number, or a share such as '50%'", name, text);
  }
  return {.share = number / 100};
}

}  // namespace

void bind_optimize(py::module_& module) {
  py::class_<OptimizeData>(module, "OptimizeData");
  py::class_<OptimizedModel>(module, "OptimizedModel")
      .def_readonly("model", &OptimizedModel::model)
      .def_readonly("met", &OptimizedModel::met)
      .def_readonly("report", &OptimizedModel::report);
  module.def("optimize_data_labelled", [](const Model& model, const TrainingData& data,
                                          std::int64_t calibration_samples, std::uint64_t seed) {
    const py::gil_scoped_release released;
    return labelled_data(model.graph, data, calibration_samples, seed);
  });
  module.def("optimize_data_unlabelled",
             [](const Model& model, const std::vector<std::vector<Tensor>>& batches) {
               const py::gil_scoped_release released;
               CalibrationData all = calibration_data(batches);
               all.source = "the batches given";
               return unlabelled_data(model.graph, all);
             });
  module.def("optimize_data_seeded",
             [](const Model& model, const RunOptions& run, std::uint64_t seed, bool calibrate) {
               const py::gil_scoped_release released;
               return seeded(model, run, seed, calibrate);
             });
  module.def(
      "optimize",
      [](const Model& model, const RunOptions& run, const OptimizeData& data,
         std::optional<double> prune, const std::string& precision, std::optional<double> low_rank,
         const std::string& criterion, const std::string& ranking,
         std::optional<std::int64_t> round_to, const std::string& calibration, bool per_channel,
         bool equalize, std::int64_t finetune, std::optional<double> finetune_rate,
         const py::object& target_ms, const py::object& target_mb, std::optional<double> max_loss,
         const std::string& device, const std::optional<ChosenMachine>& machine, double max_time,
         const std::string& program, const std::string& original, const std::string& output,
         bool keeps_output, const std::vector<std::string>& flags, const py::object& progress) {
        for (const auto& share : {prune, low_rank}) {
          if (share && !(*share >= 0 && *share < 1)) {
            fail_usage("`prune` and `low_rank` are shares from 0 to below 1, not {}", *share);
          }
        }
        OptimizeRequest request;
        request.model = model;
        request.run = run;
        request.data = data;
        OptimizeOptions& options = request.options;
        options.prune = prune;
        if (!precision.empty()) options.precision = variant_precision_named(precision);
        options.low_rank = low_rank;
        options.pruning.criterion = prune_criterion_named(criterion);
        options.pruning.ranking = prune_ranking_named(ranking);
        // What vector registers hold without a rest; half of a narrow layer can go all the same.
        options.pruning.round_to = round_to.value_or(prune ? 1 : 16);
        if (!round_to && !prune) options.pruning.least_widths = 4;
        options.quantization.calibration = calibration_method(calibration);
        options.quantization.per_channel = per_channel;
        options.quantization.equalize = equalize;
        options.finetune_epochs = finetune;
        options.finetune_rate = finetune_rate;
        options.seed = run.seed;
        options.bindings = run.bindings;
        options.program = run.program;
        options.timing.min_seconds = max_time / 200;
        options.timing.max_seconds = max_time / 20;
        request.target_ms = target_of(target_ms, "target_ms");
        request.target_mb = target_of(target_mb, "target_mb");
        request.max_loss = max_loss;
        request.device = device;
        request.max_time = max_time;
        request.program = program;
        request.original = original;
        request.output = output;
        request.keeps_output = keeps_output;
        request.flags = flags;
        return optimize(request, machine, progress);
      },
      py::kw_only(), py::arg("model"), py::arg("options"), py::arg("data"), py::arg("prune"),
      py::arg("precision"), py::arg("low_rank"), py::arg("criterion"), py::arg("ranking"),
      py::arg("round_to"), py::arg("calibration"), py::arg("per_channel"), py::arg("equalize"),
      py::arg("finetune"), py::arg("finetune_rate"), py::arg("target_ms"), py::arg("target_mb"),
      py::arg("max_loss"), py::arg("device"), py::arg("machine"), py::arg("max_time"),
      py::arg("program"), py::arg("original"), py::arg("output"), py::arg("keeps_output"),
      py::arg("flags"), py::arg("progress") = py::none());
}

}  // namespace assay::python
