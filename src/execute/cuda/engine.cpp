// The engine for NVIDIA's GPUs: cuDNN, cuBLASLt, and kernels of our own, compiled for the device
// that is here.
#include "execute/engine.h"

#include "execute/cuda/cuda_program.h"
#include "execute/cuda/names.h"
#include "gpu/libraries.h"

namespace assay::cuda {

namespace {

std::string what_is_missing() {
  return gpu::libraries().why_not;
}

}  // namespace

execute::Engine engine() {
  return {.info = {.name = kEngine, .device = kDevice, .tunes_algorithms = true},
          .what_is_missing = what_is_missing,
          .compile = compile_cuda};
}

}  // namespace assay::cuda
