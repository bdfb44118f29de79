#include "assay/train.h"

#include "assay/infer.h"
#include "assay/prune.h"
#include "assay/run.h"
#include "assay/train_report.h"
#include "assay/training_data.h"
#include "python/src/call.h"
#include "python/src/model.h"
#include "python/src/report.h"

namespace assay::python {

namespace {

struct TrainedModel {
  Model model;
  Report report;
};

TrainedModel trained_of(TrainReport report, const std::string& name) {
  Model model{report.result.model, name};
  const auto shared = std::make_shared<const TrainReport>(std::move(report));
  return {std::move(model),
          {.document = "train.json",
           .table = [shared](const Layout& layout) { return train_table(*shared, layout); },
           .forms = {{"json", [shared] { return train_json(*shared); }},
                     {"csv", [shared] { return train_csv(*shared); }}}}};
}

TrainedModel train(const Model& model, const TrainingData& data, const TrainOptions& options,
                   bool confusion, const py::object& progress) {
  check_train_options(options, true);
  return call(progress, [&](TrainProgress& reports) {
    return naming(model, [&] {
      TrainReport report{.model = model_summary(model.graph, model.name),
                         .dataset = trained_on(data.training, &data.validation),
                         .options = options};
      report.result = train_model(model.graph, data.training, &data.validation, options, &reports);
      const std::int64_t batch = std::min(options.batch_size, data.validation.size());
      if (confusion) {
        const Loader loader(data.validation, {.batch_size = batch, .shuffle = false});
        report.evaluation = evaluate(
            report.result.model, loader,
            {.loss = options.loss, .confusion = true, .program = options.program}, &reports);
      }
      auto& warnings = report.result.warnings;
      warnings.insert(warnings.begin(), data.warnings.begin(), data.warnings.end());
      return trained_of(std::move(report), model.name);
    });
  });
}

TrainOptions train_options(std::int64_t epochs, std::int64_t batch_size,
                           std::optional<double> learning_rate, const std::string& optimizer,
                           std::optional<double> momentum, std::optional<double> weight_decay,
                           const std::string& loss, const std::string& schedule, bool shuffle,
                           std::int64_t early_stop, const std::string& checkpoint, bool resume,
                           std::int64_t accumulate, std::size_t recompute, const RunOptions& run) {
  TrainOptions options;
  options.epochs = epochs;
  options.batch_size = batch_size;
  options.optimizer.kind = optimizer_named(optimizer);
  // SGD needs larger steps than Adam.
  const bool is_adam = states_of(options.optimizer.kind) == 2;
  options.learning_rate = learning_rate.value_or(is_adam ? 0.001 : 0.01);
  if (momentum) options.optimizer.momentum = *momentum;
  if (weight_decay) options.optimizer.weight_decay = *weight_decay;
  options.loss = loss_named(loss);
  options.schedule = schedule_named(schedule);
  options.shuffle = shuffle;
  options.patience = early_stop;
  options.checkpoint = checkpoint;
  options.resume = resume;
  options.accumulate = accumulate;
  options.pieces = recompute;
  options.seed = run.seed;
  options.program = run.program;
  return options;
}

}  // namespace

void bind_train(py::module_& module) {
  py::class_<TrainedModel>(module, "TrainedModel")
      .def_readonly("model", &TrainedModel::model)
      .def_readonly("report", &TrainedModel::report);
  py::class_<TrainOptions>(module, "TrainOptions")
      .def(py::init(&train_options), py::kw_only(), py::arg("epochs"), py::arg("batch_size"),
           py::arg("learning_rate"), py::arg("optimizer"), py::arg("momentum"),
           py::arg("weight_decay"), py::arg("loss"), py::arg("schedule"), py::arg("shuffle"),
           py::arg("early_stop"), py::arg("checkpoint"), py::arg("resume"), py::arg("accumulate"),
           py::arg("recompute"), py::arg("options"));
  module.def("train", &train);
  module.def("structured_channel_prune", [](const Model& model, double level) {
    const py::gil_scoped_release released;
    return naming(model, [&] {
      return Model{structured_channel_prune(model.graph, level), model.name};
    });
  });
}

}  // namespace assay::python
