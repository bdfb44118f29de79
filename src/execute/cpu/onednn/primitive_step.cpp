#include "execute/cpu/onednn/primitive_step.h"

#include "base/fail.h"

namespace assay::cpu {

Binder primitive_binder(const dnnl::primitive& primitive, std::vector<Argument> arguments) {
  return [primitive, arguments = std::move(arguments)](const Addresses& at) -> Runner {
    struct Call {
      dnnl::primitive primitive;
      std::vector<dnnl::memory> memories;
      std::vector<dnnl_exec_arg_t> arguments;
      dnnl_stream_t stream = nullptr;
    };
    auto call = std::make_shared<Call>();
    call->primitive = primitive;
    call->stream = dnnl_stream().get();
    for (const Argument& argument : arguments) {
      call->memories.emplace_back(argument.desc, dnnl_engine(), at.bytes(argument.placement));
      call->arguments.push_back({argument.index, call->memories.back().get()});
    }
    return [call] {
      const auto status =
          dnnl_primitive_execute(call->primitive.get(), call->stream,
                                 static_cast<int>(call->arguments.size()), call->arguments.data());
      if (status != dnnl_success)
        fail_running("oneDNN could not run a step (status {})", static_cast<int>(status));
    };
  };
}

}  // namespace assay::cpu
