#include "assay/program.h"

#include "execute/engine.h"

namespace assay {

std::string_view name(OptimizeFor goal) {
  return goal == OptimizeFor::Latency ? "latency" : "memory";
}

std::unique_ptr<Program> compile(Inferred model, const ProgramOptions& options,
                                 Progress* progress) {
  return execute::usable_engine(options.engine).compile(std::move(model), options, progress);
}

}  // namespace assay
