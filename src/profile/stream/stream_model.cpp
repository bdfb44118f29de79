#include "assay/stream_timing.h"
#include "profile/compiled_model.h"

namespace assay {

using namespace assay::profile;

StreamedModel stream_model(Graph model, const RunOptions& run,
                           const std::optional<StreamOptions>& stream,
                           const std::optional<IntervalSearchOptions>& search, Progress* progress) {
  std::string name = model.name;
  Prepared prepared = prepare_to_run(std::move(model), std::move(name), run);
  const auto program = compile(std::move(prepared.inferred), run.program, progress);
  program->set_inputs(inputs_for(*program, run, prepared.full_lengths));
  const auto serve = [&program] { program->run(); };
  StreamedModel streamed;
  if (stream) streamed.measured = measure_stream(serve, *stream, progress);
  if (search && !streamed.was_interrupted()) {
    streamed.search = find_shortest_interval(serve, *search, progress);
  }
  return streamed;
}

}  // namespace assay
