// The fast engine: oneDNN's primitives and kernels of our own.
#include "execute/engine.h"

#include "execute/cpu/cpu_program.h"
#include "execute/cpu/names.h"

namespace assay::cpu {

execute::Engine engine() {
  return {
      .info = {.name = kEngine, .aliases = {"onednn"}, .device = kDevice, .tunes_algorithms = true},
      .compile = compile_cpu};
}

}  // namespace assay::cpu
