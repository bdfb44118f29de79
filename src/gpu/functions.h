// What is called of NVIDIA's libraries, declared here: none of their headers is needed to build.
// Each table holds one pointer for each function and is filled when its library is opened. Names,
// numbers and signatures are those of the libraries' documentation (CUDA 12 and 13, cuDNN 9).
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::gpu {

using DevicePointer = unsigned long long;
using Handle = void*;  // an object of a library
using Status = int;    // 0: fine, in every library

// CUDA_KERNEL_NODE_PARAMS_v2: a kernel is a function or, if that is null, one of a library.
struct KernelNode {
  Handle function = nullptr;
  unsigned blocks[3] = {};
  unsigned threads[3] = {};
  unsigned shared_bytes = 0;
  void** arguments = nullptr;
  void** extra = nullptr;
  Handle kernel = nullptr;
  Handle context = nullptr;
};

// FUNCTION(member, symbol, parameters): all return a Status.
#define ASSAY_DRIVER_FUNCTIONS(FUNCTION)                                                          \
  FUNCTION(init, "cuInit", (unsigned))                                                            \
  FUNCTION(driver_version, "cuDriverGetVersion", (int*))                                          \
  FUNCTION(error_name, "cuGetErrorName", (Status, const char**))                                  \
  FUNCTION(device_count, "cuDeviceGetCount", (int*))                                              \
  FUNCTION(device, "cuDeviceGet", (int*, int))                                                    \
  FUNCTION(device_name, "cuDeviceGetName", (char*, int, int))                                     \
  FUNCTION(device_attribute, "cuDeviceGetAttribute", (int*, int, int))                            \
  FUNCTION(device_bus, "cuDeviceGetPCIBusId", (char*, int, int))                                  \
  FUNCTION(retain_context, "cuDevicePrimaryCtxRetain", (Handle*, int))                            \
  FUNCTION(release_context, "cuDevicePrimaryCtxRelease_v2", (int))                                \
  FUNCTION(use_context, "cuCtxSetCurrent", (Handle))                                              \
  FUNCTION(memory_info, "cuMemGetInfo_v2", (std::size_t*, std::size_t*))                          \
  FUNCTION(allocate, "cuMemAlloc_v2", (DevicePointer*, std::size_t))                              \
  FUNCTION(free, "cuMemFree_v2", (DevicePointer))                                                 \
  FUNCTION(allocate_host, "cuMemAllocHost_v2", (void**, std::size_t))                             \
  FUNCTION(free_host, "cuMemFreeHost", (void*))                                                   \
  FUNCTION(copy_in, "cuMemcpyHtoDAsync_v2", (DevicePointer, const void*, std::size_t, Handle))    \
  FUNCTION(copy_out, "cuMemcpyDtoHAsync_v2", (void*, DevicePointer, std::size_t, Handle))         \
  FUNCTION(copy_within, "cuMemcpyDtoDAsync_v2",                                                   \
           (DevicePointer, DevicePointer, std::size_t, Handle))                                   \
  FUNCTION(fill, "cuMemsetD8Async", (DevicePointer, unsigned char, std::size_t, Handle))          \
  FUNCTION(create_stream, "cuStreamCreate", (Handle*, unsigned))                                  \
  FUNCTION(destroy_stream, "cuStreamDestroy_v2", (Handle))                                        \
  FUNCTION(wait_for_stream, "cuStreamSynchronize", (Handle))                                      \
  FUNCTION(begin_capture, "cuStreamBeginCapture_v2", (Handle, int))                               \
  FUNCTION(end_capture, "cuStreamEndCapture", (Handle, Handle*))                                  \
  FUNCTION(instantiate, "cuGraphInstantiateWithFlags", (Handle*, Handle, unsigned long long))     \
  FUNCTION(launch_graph, "cuGraphLaunch", (Handle, Handle))                                       \
  FUNCTION(destroy_graph, "cuGraphDestroy", (Handle))                                             \
  FUNCTION(destroy_instance, "cuGraphExecDestroy", (Handle))                                      \
  FUNCTION(create_event, "cuEventCreate", (Handle*, unsigned))                                    \
  FUNCTION(destroy_event, "cuEventDestroy_v2", (Handle))                                          \
  FUNCTION(record, "cuEventRecordWithFlags", (Handle, Handle, unsigned))                          \
  FUNCTION(wait_for_event, "cuEventSynchronize", (Handle))                                        \
  FUNCTION(elapsed, "cuEventElapsedTime", (float*, Handle, Handle))                               \
  FUNCTION(load_module, "cuModuleLoadData", (Handle*, const void*))                               \
  FUNCTION(unload_module, "cuModuleUnload", (Handle))                                             \
  FUNCTION(function, "cuModuleGetFunction", (Handle*, Handle, const char*))                       \
  FUNCTION(set_function_attribute, "cuFuncSetAttribute", (Handle, int, int))                      \
  FUNCTION(launch, "cuLaunchKernel",                                                              \
           (Handle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Handle, \
            void**, void**))

// For asking a graph which kernels it launches; older drivers lack some, and all are null then.
#define ASSAY_GRAPH_FUNCTIONS(FUNCTION)                                         \
  FUNCTION(graph_nodes, "cuGraphGetNodes", (Handle, Handle*, std::size_t*))     \
  FUNCTION(node_type, "cuGraphNodeGetType", (Handle, int*))                     \
  FUNCTION(child_graph, "cuGraphChildGraphNodeGetGraph", (Handle, Handle*))     \
  FUNCTION(kernel_node, "cuGraphKernelNodeGetParams_v2", (Handle, KernelNode*)) \
  FUNCTION(function_name, "cuFuncGetName", (const char**, Handle))              \
  FUNCTION(kernel_name, "cuKernelGetName", (const char**, Handle))

#define ASSAY_NVRTC_FUNCTIONS(FUNCTION)                                                      \
  FUNCTION(version, "nvrtcVersion", (int*, int*))                                            \
  FUNCTION(create, "nvrtcCreateProgram",                                                     \
           (Handle*, const char*, const char*, int, const char* const*, const char* const*)) \
  FUNCTION(compile, "nvrtcCompileProgram", (Handle, int, const char* const*))                \
  FUNCTION(code_size, "nvrtcGetCUBINSize", (Handle, std::size_t*))                           \
  FUNCTION(code, "nvrtcGetCUBIN", (Handle, char*))                                           \
  FUNCTION(log_size, "nvrtcGetProgramLogSize", (Handle, std::size_t*))                       \
  FUNCTION(log, "nvrtcGetProgramLog", (Handle, char*))                                       \
  FUNCTION(destroy, "nvrtcDestroyProgram", (Handle*))

#define ASSAY_CUBLASLT_FUNCTIONS(FUNCTION)                                                         \
  FUNCTION(create, "cublasLtCreate", (Handle*))                                                    \
  FUNCTION(destroy, "cublasLtDestroy", (Handle))                                                   \
  FUNCTION(create_product, "cublasLtMatmulDescCreate", (Handle*, int, int))                        \
  FUNCTION(destroy_product, "cublasLtMatmulDescDestroy", (Handle))                                 \
  FUNCTION(set_product, "cublasLtMatmulDescSetAttribute", (Handle, int, const void*, std::size_t)) \
  FUNCTION(create_layout, "cublasLtMatrixLayoutCreate",                                            \
           (Handle*, int, std::uint64_t, std::uint64_t, std::int64_t))                             \
  FUNCTION(destroy_layout, "cublasLtMatrixLayoutDestroy", (Handle))                                \
  FUNCTION(set_layout, "cublasLtMatrixLayoutSetAttribute",                                         \
           (Handle, int, const void*, std::size_t))                                                \
  FUNCTION(create_preference, "cublasLtMatmulPreferenceCreate", (Handle*))                         \
  FUNCTION(destroy_preference, "cublasLtMatmulPreferenceDestroy", (Handle))                        \
  FUNCTION(set_preference, "cublasLtMatmulPreferenceSetAttribute",                                 \
           (Handle, int, const void*, std::size_t))                                                \
  FUNCTION(choices, "cublasLtMatmulAlgoGetHeuristic",                                              \
           (Handle, Handle, Handle, Handle, Handle, Handle, Handle, int, void*, int*))             \
  FUNCTION(algorithm, "cublasLtMatmulAlgoConfigGetAttribute",                                      \
           (const void*, int, void*, std::size_t, std::size_t*))                                   \
  FUNCTION(multiply, "cublasLtMatmul",                                                             \
           (Handle, Handle, const void*, const void*, Handle, const void*, Handle, const void*,    \
            const void*, Handle, void*, Handle, const void*, void*, std::size_t, Handle))

#define ASSAY_CUDNN_FUNCTIONS(FUNCTION)                                       \
  FUNCTION(create, "cudnnCreate", (Handle*))                                  \
  FUNCTION(destroy, "cudnnDestroy", (Handle))                                 \
  FUNCTION(set_stream, "cudnnSetStream", (Handle, Handle))                    \
  FUNCTION(create_descriptor, "cudnnBackendCreateDescriptor", (int, Handle*)) \
  FUNCTION(destroy_descriptor, "cudnnBackendDestroyDescriptor", (Handle))     \
  FUNCTION(set_attribute, "cudnnBackendSetAttribute",                         \
           (Handle, int, int, std::int64_t, const void*))                     \
  FUNCTION(get_attribute, "cudnnBackendGetAttribute",                         \
           (Handle, int, int, std::int64_t, std::int64_t*, void*))            \
  FUNCTION(finalize, "cudnnBackendFinalize", (Handle))                        \
  FUNCTION(execute, "cudnnBackendExecute", (Handle, Handle, Handle))

#define ASSAY_POINTER(member, symbol, parameters) Status(*member) parameters = nullptr;
struct GraphFunctions {
  ASSAY_GRAPH_FUNCTIONS(ASSAY_POINTER)
};
struct Driver {
  ASSAY_DRIVER_FUNCTIONS(ASSAY_POINTER)
  GraphFunctions graphs = {};
};
struct Nvrtc {
  ASSAY_NVRTC_FUNCTIONS(ASSAY_POINTER)
};
struct CublasLt {
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_POINTER)
  std::size_t (*version)() = nullptr;  // 130100: 13.1.0
  const char* (*status_name)(Status) = nullptr;
};
struct Cudnn {
  ASSAY_CUDNN_FUNCTIONS(ASSAY_POINTER)
  std::size_t (*version)() = nullptr;  // 91900: 9.19.0
  const char* (*status_name)(Status) = nullptr;
  void (*last_error)(char*, std::size_t) = nullptr;  // what the last call had against it
};
#undef ASSAY_POINTER

}  // namespace assay::gpu
