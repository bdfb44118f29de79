// How a model is run: what the keyword arguments of Python's functions mean for RunOptions.
#include "assay/run.h"

#include "assay/machine.h"
#include "assay/precision.h"
#include "base/cache_file.h"
#include "base/fail.h"
#include "python/src/bindings.h"

namespace assay::python {

namespace {

OptimizeFor goal_named(const std::string& text) {
  for (const OptimizeFor goal : {OptimizeFor::Latency, OptimizeFor::Memory}) {
    if (text == name(goal)) return goal;
  }
  fail_usage("`optimize_for` '{}': expected latency or memory", text);
}

std::map<std::string, Shape> shapes_of(const std::map<std::string, Dims>& given) {
  std::map<std::string, Shape> shapes;
  for (const auto& [input, dims] : given) {
    for (const std::int64_t dim : dims) {
      if (dim < 0) fail_usage("`input_shapes` of '{}': {} is not a dimension", input, dim);
    }
    shapes.emplace(input, Shape(dims));
  }
  return shapes;
}

void set_program(ProgramOptions& program, const std::string& engine,
                 const std::string& optimize_for, std::optional<int> threads,
                 const std::string& precision, const std::string& tuning_file) {
  const EngineInfo chosen = find_engine(engine.empty() ? default_engine() : engine);
  program.engine = chosen.name;
  program.optimize_for = goal_named(optimize_for);
  if (threads && *threads < 1) fail_usage("`threads` {}: expected at least 1", *threads);
  program.cpu.threads = threads.value_or(0);
  if (!precision.empty()) set_precision(program, precision);
  const bool tunes = chosen.tunes_algorithms && program.optimize_for == OptimizeFor::Latency;
  if (!tuning_file.empty() && !tunes) {
    fail_usage(
        "`tuning_file` needs the engine {} and `optimize_for` latency: only then are "
        "algorithms timed",
        default_engine());
  }
  program.tuning_file = tuning_file;
  if (tunes) program.tuning_cache = cache_path("tuning", "engines").value_or("");
}

RunOptions run_options(std::optional<std::int64_t> batch,
                       const std::map<std::string, std::int64_t>& dims,
                       const std::map<std::string, Dims>& input_shapes,
                       const std::map<std::string, Tensor>& inputs, std::uint64_t seed,
                       const std::string& engine, const std::string& optimize_for,
                       std::optional<int> threads, const std::string& precision,
                       const std::string& tuning_file, bool pin_threads) {
  RunOptions options;
  if (batch && *batch < 1) fail_usage("`batch` {}: expected at least 1", *batch);
  options.bindings.batch = batch;
  for (const auto& [symbol, size] : dims) {
    if (size < 1) fail_usage("`dims` of '{}': {} is not a dimension", symbol, size);
  }
  options.bindings.dims = dims;
  options.bindings.input_shapes = shapes_of(input_shapes);
  for (const auto& [input, tensor] : inputs) {
    options.bindings.input_shapes.insert_or_assign(input, tensor.shape());
  }
  options.inputs = inputs;
  options.seed = seed;
  set_program(options.program, engine, optimize_for, threads, precision, tuning_file);
  options.program.cpu.pin_threads = pin_threads;
  return options;
}

}  // namespace

void bind_run_options(py::module_& module) {
  py::class_<RunOptions>(module, "RunOptions")
      .def(py::init(&run_options), py::kw_only(), py::arg("batch") = py::none(),
           py::arg("dims") = std::map<std::string, std::int64_t>(),
           py::arg("input_shapes") = std::map<std::string, Dims>(),
           py::arg("inputs") = std::map<std::string, Tensor>(), py::arg("seed") = 0,
           py::arg("engine") = "", py::arg("optimize_for") = "latency",
           py::arg("threads") = py::none(), py::arg("precision") = "", py::arg("tuning_file") = "",
           py::arg("pin_threads") = true)
      .def_property_readonly("threads", [](const RunOptions& options) {
        const int threads = options.program.cpu.threads;
        return threads > 0 ? threads : static_cast<int>(read_topology().usable.size());
      });
  module.def("engine_names", &engine_names, "The engines that run models, the default first.");
}

}  // namespace assay::python
