// The Python module `assay._core`: one file for each part of the library, each with one function
// that adds its names to the module.
#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace assay::python {

namespace py = pybind11;

void bind_errors(py::module_& module);
void bind_tensor(py::module_& module);
void bind_model(py::module_& module);
void bind_layers(py::module_& module);
void bind_report(py::module_& module);
void bind_run_options(py::module_& module);
void bind_program(py::module_& module);
void bind_data(py::module_& module);
void bind_machine(py::module_& module);
void bind_count(py::module_& module);
void bind_profile(py::module_& module);
void bind_profiler(py::module_& module);
void bind_hardware(py::module_& module);
void bind_metrics(py::module_& module);
void bind_stream(py::module_& module);
void bind_fit(py::module_& module);
void bind_study(py::module_& module);
void bind_train(py::module_& module);
void bind_optimize(py::module_& module);
void bind_sweep(py::module_& module);
void bind_compare(py::module_& module);

}  // namespace assay::python
