#include "optimize/prune/batches.h"

#include "assay/bind.h"
#include "base/fail.h"

namespace assay::optimize {

Bindings bindings_of(const Graph& model, std::span<const InputBatch> batches) {
  if (batches.empty()) fail_usage("there is no data: give at least one batch of inputs");
  Bindings bindings;
  for (const InputBatch& batch : batches) {
    if (batch.size() != model.inputs().size())
      fail_usage("a batch has {} tensors, the model {} inputs", batch.size(),
                 model.inputs().size());
  }
  for (std::size_t i = 0; i < model.inputs().size(); ++i)
    bindings.input_shapes[model.value(model.inputs()[i]).name] = batches.front()[i].shape();
  return bindings;
}

void report_progress(Progress* progress, double fraction, const std::string& what) {
  if (progress == nullptr) return;
  progress->report(fraction, what);
  if (progress->cancelled()) throw Error(ErrorKind::Cancelled, "stopped while " + what);
}

void run_batches(const Graph& model, std::span<const InputBatch> batches, const BatchRuns& runs,
                 const std::function<void(const std::vector<Tensor>&)>& visit) {
  const Bindings bindings = bindings_of(model, batches);
  const auto program = compile(infer_shapes(bind_inputs(model, bindings).graph), runs.options);
  for (std::size_t i = 0; i < batches.size(); ++i) {
    report_progress(runs.progress, static_cast<double>(i) / static_cast<double>(batches.size()),
                    runs.what);
    program->set_inputs(batches[i]);
    program->run();
    visit(program->results());
  }
}

}  // namespace assay::optimize
