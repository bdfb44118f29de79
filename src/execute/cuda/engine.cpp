// The CUDA engine in the registry.
#include "execute/engine.h"
#include "gpu/libraries.h"

namespace assay::cuda {

namespace {

std::string what_is_missing() {
  const std::string& missing = gpu::libraries().why_not;
  return missing.empty() ? "it does not run models yet" : missing;
}

}  // namespace

execute::Engine engine() {
  return {.info = {.name = "cuda", .device = "cuda"}, .what_is_missing = what_is_missing};
}

}  // namespace assay::cuda
