// Data sets: those that the library knows by name, and arrays at hand.
#include "assay/dataset.h"

#include <fmt/core.h>

#include "assay/training_data.h"
#include "python/src/call.h"
#include "python/src/model.h"
#include "python/src/tensor.h"

namespace assay::python {

namespace {

Dataset from_arrays(const std::string& name, const py::object& samples, const py::object& labels,
                    std::int64_t classes) {
  const Tensor x = tensor_of(samples, "samples");
  const Tensor y = tensor_of(labels, "labels");
  const py::gil_scoped_release released;
  return make_dataset(name, x, y, classes);
}

Dataset named(const std::string& name, const Model& model, const std::string& folder, bool test,
              std::int64_t count, std::uint64_t seed) {
  DatasetOptions options{.folder = folder,
                         .split = test && has_test_part(name) ? Split::Test : Split::Train,
                         .subset = count,
                         .seed = seed,
                         .size = count};
  options.sample_dims = sample_dims_of(model.graph, options.sample_dims);
  return load_dataset(name, options);
}

TrainingData training_data(const std::string& name, const Model& model, const std::string& folder,
                           std::int64_t training_samples, std::int64_t validation_samples,
                           std::uint64_t seed) {
  TrainingDataOptions options{.folder = folder,
                              .training_samples = training_samples,
                              .validation_samples = validation_samples,
                              .seed = seed};
  options.sample_dims = sample_dims_of(model.graph, options.sample_dims);
  return load_training_data(name, options);
}

TrainingData split(const Dataset& all, std::int64_t validation_samples, std::uint64_t seed) {
  const std::int64_t usual = std::max<std::int64_t>(1, all.size() / 10);
  auto [validation, training] =
      split_off(all, validation_samples > 0 ? validation_samples : usual, seed);
  return {std::move(training), std::move(validation), {}};
}

}  // namespace

void bind_data(py::module_& module) {
  py::class_<Dataset>(module, "Dataset", "Labelled samples to train and evaluate networks with.")
      .def(py::init(&from_arrays), py::arg("name"), py::arg("samples"), py::arg("labels"),
           py::arg("classes") = 0)
      .def_readonly("name", &Dataset::name)
      .def_readonly("source", &Dataset::source)
      .def_readonly("classes", &Dataset::classes)
      .def("__len__", &Dataset::size)
      .def_property_readonly("samples",
                             [](const Dataset& data) { return array_of(data.samples, false); })
      .def_property_readonly("labels",
                             [](const Dataset& data) { return array_of(data.labels, false); })
      .def("__repr__", [](const Dataset& data) {
        return fmt::format("assay.Dataset({}, {} samples, {} classes)", data.name, data.size(),
                           data.classes);
      });
  py::class_<TrainingData>(module, "TrainingData")
      .def(py::init([](Dataset training, Dataset validation) {
             return TrainingData{std::move(training), std::move(validation), {}};
           }),
           py::arg("training"), py::arg("validation"))
      .def_readonly("training", &TrainingData::training)
      .def_readonly("validation", &TrainingData::validation)
      .def_readonly("warnings", &TrainingData::warnings);
  module.def("load_dataset", &named, py::arg("name"), py::arg("model"), py::arg("folder") = "",
             py::arg("test") = true, py::arg("count") = 0, py::arg("seed") = 0,
             py::call_guard<py::gil_scoped_release>());
  module.def("load_training_data", &training_data, py::arg("name"), py::arg("model"),
             py::arg("folder") = "", py::arg("training_samples") = 0,
             py::arg("validation_samples") = 0, py::arg("seed") = 0,
             py::call_guard<py::gil_scoped_release>());
  module.def("split_dataset", &split, py::arg("dataset"), py::arg("validation_samples") = 0,
             py::arg("seed") = 0, py::call_guard<py::gil_scoped_release>());
}

}  // namespace assay::python
