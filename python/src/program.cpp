// A compiled model that Python runs any number of times.
#include "assay/program.h"

#include <omp.h>

#include <algorithm>
#include <mutex>

#include "assay/bind.h"
#include "assay/run.h"
#include "base/fail.h"
#include "base/text.h"
#include "python/src/call.h"
#include "python/src/model.h"
#include "python/src/process_mutex.h"
#include "python/src/tensor.h"

namespace assay::python {

namespace {

// One run at a time, whichever thread asks, on as many threads as it was compiled for.
class SharedProgram {
 public:
  SharedProgram(std::unique_ptr<Program> program, std::string name)
      : program_(std::move(program)), name_(std::move(name)) {}
  SharedProgram(const SharedProgram&) = delete;
  SharedProgram& operator=(const SharedProgram&) = delete;
  ~SharedProgram() {
    const SameThreadCount unchanged;
    program_.reset();
  }

  const Program& program() const { return *program_; }
  const std::string& name() const { return name_; }

  std::vector<Tensor> run(std::span<const Tensor> inputs) {
    const std::lock_guard<ProcessMutex> alone(mutex_);
    const SameThreadCount unchanged;
    omp_set_num_threads(program_->threads());
    program_->set_inputs(inputs);
    program_->run();
    std::vector<Tensor> outputs = program_->results();
    if (is_kept_.empty()) find_kept(outputs);
    return outputs;
  }

  // Whether the program keeps the memory of an output, as that of a constant.
  bool keeps(std::size_t output) const { return is_kept_[output]; }

  // Runs on the inputs set last; the mean of as many runs, in seconds.
  double time(std::int64_t runs) {
    const std::lock_guard<ProcessMutex> alone(mutex_);
    const SameThreadCount unchanged;
    omp_set_num_threads(program_->threads());
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < runs; ++i) program_->run();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return taken.count() / static_cast<double>(runs);
  }

 private:
  void find_kept(std::span<const Tensor> outputs) {
    const std::vector<Tensor> again = program_->results();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      is_kept_.push_back(outputs[i].same_storage(again[i]));
    }
  }

  std::unique_ptr<Program> program_;
  std::string name_;
  std::vector<bool> is_kept_;  // for each output, after the first run
  ProcessMutex mutex_;
};

std::unique_ptr<SharedProgram> compiled(const Model& model, const RunOptions& options,
                                        const py::object& progress) {
  return call(progress, [&](Progress& reports) {
    return naming(model, [&] {
      Graph graph = bind_inputs(model.graph, options.bindings).graph;
      return std::make_unique<SharedProgram>(
          compile(infer_shapes(std::move(graph)), options.program, &reports), model.name);
    });
  });
}

[[noreturn]] void fail_count(const SharedProgram& shared, std::size_t given) {
  const std::size_t wanted = shared.program().inputs().size();
  fail_bad_input("{}: the model takes {} input{}, {} given", shared.name(), wanted,
                 wanted == 1 ? "" : "s", given);
}

[[noreturn]] void fail_names(const SharedProgram& shared, const py::kwargs& named) {
  std::vector<std::string> names;
  for (const Value& value : shared.program().inputs()) names.push_back(value.name);
  for (const auto& [name, array] : named) {
    const auto text = name.cast<std::string>();
    if (std::ranges::find(names, text) != names.end()) continue;
    fail_bad_input("{}: there is no input '{}'; there are {}", shared.name(), text,
                   join(names, ", "));
  }
  fail_bad_input("{}: an input is given twice", shared.name());
}

// Arrays of NumPy are viewed here; what else is an array the package knows (torch, DLPack, lists).
Tensor given_tensor(const py::handle& array, const Value& wanted) {
  if (py::isinstance<Tensor>(array)) return array.cast<Tensor>();
  const std::string what = "input '" + wanted.name + "'";
  if (PyObject_CheckBuffer(array.ptr()) != 0) {
    return tensor_of(py::reinterpret_borrow<py::object>(array), what);
  }
  return py::module_::import("assay._arrays").attr("tensor")(array, what).cast<Tensor>();
}

// By position, then by name.
std::vector<Tensor> given_inputs(const SharedProgram& shared, const py::args& arrays,
                                 const py::kwargs& named) {
  const std::vector<Value>& wanted = shared.program().inputs();
  if (arrays.size() + named.size() != wanted.size()) {
    fail_count(shared, arrays.size() + named.size());
  }
  std::vector<Tensor> tensors;
  tensors.reserve(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const char* const name = wanted[i].name.c_str();
    if (i >= arrays.size() && !named.contains(name)) fail_names(shared, named);
    tensors.push_back(i < arrays.size() ? given_tensor(arrays[i], wanted[i])
                                        : given_tensor(named[name], wanted[i]));
  }
  return tensors;
}

py::object run(SharedProgram& shared, const py::args& arrays, const py::kwargs& named) {
  const std::vector<Tensor> inputs = given_inputs(shared, arrays, named);
  std::vector<Tensor> outputs;
  {
    const py::gil_scoped_release released;
    outputs = shared.run(inputs);
  }
  const auto array = [&](std::size_t i) {
    return shared.keeps(i) ? array_of(outputs[i], false).attr("copy")()
                           : array_of(outputs[i], true);
  };
  if (outputs.size() == 1) return array(0);
  py::tuple all(outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) all[i] = array(i);
  return all;
}

py::list steps_of(const SharedProgram& shared) {
  py::list list;
  for (const StepInfo& step : shared.program().steps()) {
    py::dict facts;
    facts["name"] = step.name;
    facts["op"] = step.op;
    facts["algorithm"] = step.algorithm;
    facts["precision"] = step.precision;
    facts["executed_flops"] = step.executed_flops;
    facts["bytes_read"] = step.bytes_read;
    facts["bytes_written"] = step.bytes_written;
    list.append(facts);
  }
  return list;
}

py::list values_of(const std::vector<Value>& values) {
  py::list list;
  for (const Value& value : values) {
    py::dict facts;
    facts["name"] = value.name;
    facts["type"] = std::string(name(value.type.element));
    facts["shape"] =
        value.type.shape ? py::object(py::tuple(py::cast(value.type.shape->values()))) : py::none();
    list.append(facts);
  }
  return list;
}

}  // namespace

void bind_program(py::module_& module) {
  py::class_<SharedProgram>(module, "Program",
                            "A compiled model: call it with one array for each input, in order or "
                            "by name, and it returns "
                            "the outputs.")
      .def("__call__", &run)
      .def("__repr__",
           [](const SharedProgram& shared) {
             const Program& program = shared.program();
             return fmt::format("assay.Program({}, engine {}, threads {})", shared.name(),
                                program.engine(), program.threads());
           })
      .def("time", &SharedProgram::time,
           "Runs again on the inputs of the last call; the mean of as many runs, in seconds.",
           py::arg("runs") = 1, py::call_guard<py::gil_scoped_release>())
      .def_property_readonly("name", &SharedProgram::name)
      .def_property_readonly("engine",
                             [](const SharedProgram& shared) { return shared.program().engine(); })
      .def_property_readonly("threads",
                             [](const SharedProgram& shared) { return shared.program().threads(); })
      .def_property_readonly(
          "inputs",
          [](const SharedProgram& shared) { return values_of(shared.program().inputs()); })
      .def_property_readonly(
          "outputs",
          [](const SharedProgram& shared) { return values_of(shared.program().outputs()); })
      .def_property_readonly("steps", &steps_of)
      .def(
          "random_inputs",
          [](const SharedProgram& shared, std::uint64_t seed) {
            py::list arrays;
            for (const Tensor& tensor : random_inputs(shared.program().inputs(), seed)) {
              arrays.append(array_of(tensor, true));
            }
            return arrays;
          },
          py::arg("seed") = 0);
  module.def("compile", &compiled, py::arg("model"), py::arg("options"),
             py::arg("progress") = py::none());
}

}  // namespace assay::python
