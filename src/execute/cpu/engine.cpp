// The fast engine: oneDNN's primitives and kernels of our own.
#include "execute/engine.h"

#include "execute/cpu/cpu_program.h"
#include "execute/cpu/names.h"
#include "execute/cpu/onednn/instruction_sets.h"

namespace assay::cpu {

execute::Engine engine() {
  return {.info = {.name = kEngine,
                   .aliases = {"onednn"},
                   .device = kDevice,
                   .tunes_algorithms = true,
                   .library = library_version()},
          .compile = compile_cpu};
}

}  // namespace assay::cpu
