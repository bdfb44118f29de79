#include "execute/cuda/step.h"

#include "gpu/code.h"

namespace assay::cuda {

namespace {

// What every kernel may have without asking.
constexpr unsigned kUsualSharedBytes = 48 << 10;

}  // namespace

// An address in no buffer is its offset.
Placement number_argument(std::int64_t number) {
  Placement argument{.buffer = {}, .type = DataType::UInt8, .dims = {}, .strides = {}};
  argument.offset = number;
  return argument;
}

Binder binder_of(const KernelCall& call) {
  return [call](const Addresses& at) -> Runner {
    std::vector<std::uint64_t> arguments;
    for (const Placement& argument : call.arguments) arguments.push_back(at.of(argument));
    const gpu::Handle function = at.kernels().function(call.kernel);
    if (call.shape.shared_bytes > kUsualSharedBytes)
      gpu::allow_shared_bytes(gpu::device(), function, call.shape.shared_bytes);
    return [function, shape = call.shape, arguments](const gpu::Stream& stream) {
      gpu::launch(stream, function, shape, arguments);
    };
  };
}

Binder binder_of(const std::vector<KernelCall>& calls) {
  return [calls](const Addresses& at) -> Runner {
    std::vector<Runner> runners;
    for (const KernelCall& call : calls) runners.push_back(binder_of(call)(at));
    return [runners](const gpu::Stream& stream) {
      for (const Runner& runner : runners) runner(stream);
    };
  };
}

}  // namespace assay::cuda
