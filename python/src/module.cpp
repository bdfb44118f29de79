// The table of contents of `assay._core`.
#include "assay/page.h"
#include "assay/version.h"
#include "python/src/bindings.h"
#include "python/src/openmp_of_onednn.h"

PYBIND11_MODULE(_core, module) {
  using namespace assay::python;
  module.doc() = "The native part of assay.";
  module.attr("version") = std::string(assay::version());
  module.def("has_page_charts", &assay::has_page_charts);
  use_own_openmp_in_onednn();
  bind_errors(module);
  bind_tensor(module);
  bind_report(module);
  bind_model(module);
  bind_layers(module);
  bind_run_options(module);
  bind_program(module);
  bind_data(module);
  bind_machine(module);
  bind_count(module);
  bind_profile(module);
  bind_profiler(module);
  bind_hardware(module);
  bind_metrics(module);
  bind_stream(module);
  bind_fit(module);
  bind_study(module);
  bind_train(module);
  bind_optimize(module);
  bind_sweep(module);
  bind_compare(module);
}
