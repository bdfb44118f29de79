#include "assay/program.h"

#include "execute/engines.h"

namespace assay {

std::string_view name(Engine engine) {
  return engine == Engine::OneDnn ? "onednn" : "reference";
}

std::string_view name(OptimizeFor goal) {
  return goal == OptimizeFor::Latency ? "latency" : "memory";
}

std::unique_ptr<Program> compile(Inferred model, const ProgramOptions& options,
                                 Progress* progress) {
  if (options.engine == Engine::Reference) {
    return reference::compile_reference(std::move(model), options, progress);
  }
  return cpu::compile_cpu(std::move(model), options, progress);
}

}  // namespace assay
