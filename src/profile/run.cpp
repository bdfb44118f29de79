#include "assay/run.h"

#include "assay/timing.h"
#include "base/fail.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"

namespace assay {

using namespace assay::profile;

namespace {

std::vector<RunOutput> outputs_of(const Program& program) {
  const auto tensors = program.results();
  std::vector<RunOutput> outputs;
  for (std::size_t i = 0; i < tensors.size() && i < program.outputs().size(); ++i) {
    outputs.push_back({program.outputs()[i].name, tensors[i], summarize_tensor(tensors[i])});
  }
  return outputs;
}

}  // namespace

RunResult run_model(Graph graph, std::string name, const RunOptions& options, Progress* progress) {
  Clock& clock = steady_clock();
  Prepared prepared = prepare_to_run(std::move(graph), std::move(name), options);
  RunResult result;
  std::unique_ptr<Program> program;
  result.compile_ms = timed_ms(
      clock, [&] { program = compile(std::move(prepared.inferred), options.program, progress); });
  program->set_inputs(inputs_for(*program, options, prepared.full_lengths));
  result.run_ms = timed_ms(clock, [&] { program->run(); });
  result.model = std::move(prepared.model);
  result.program = options.program;
  result.program.engine = program->engine();
  result.program.cpu.threads = program->threads();
  result.seed = options.seed;
  result.outputs = outputs_of(*program);
  result.warnings = std::move(prepared.warnings);
  return result;
}

}  // namespace assay
