// A GPU that there is not: the driver and NVRTC, so that tests run wherever a compiler is. Kernels
// are compiled for the processor. What is launched runs at once; a captured graph runs when it is
// launched. FAKE_CUDA_DEVICES, FAKE_CUDA_VERSION, FAKE_CUDA_MEMORY, FAKE_CUDA_MULTIPROCESSORS and
// FAKE_CUDA_CACHE say what machine it is,
// FAKE_CUDA_KERNEL_MS how long a kernel whose threads work together takes by the GPU's clock,
// beside the time it really takes; FAKE_CUDA_FAILING_ALLOCATION, FAKE_CUDA_FAILING_LAUNCH and
// FAKE_CUDA_FAILING_WAIT which call since they were set fails; FAKE_CUDA_SOURCES names a folder in
// which the texts of kernels are left, for the real NVRTC.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fake_work.h"
#include "fibers.h"

using fake::Index;

namespace {

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNotFound = 500;
constexpr int kIllegalAddress = 700;

std::size_t number(const char* variable, std::size_t otherwise) {
  return fake::setting(variable, otherwise);
}

std::size_t all_bytes() {
  return number("FAKE_CUDA_MEMORY", std::size_t{8} << 30);
}

// Whether this is the call that a setting says is to fail.
class FailingCall {
 public:
  explicit FailingCall(const char* setting) : setting_(setting) {}

  bool is_now() {
    const std::size_t which = number(setting_, 0);
    if (which != which_) count_ = 0;
    which_ = which;
    return which != 0 && ++count_ == which;
  }
  // While the setting lasts, nothing works any more.
  bool has_failed() const {
    const std::size_t which = number(setting_, 0);
    return which != 0 && which == which_ && count_ >= which;
  }

 private:
  const char* setting_;
  std::size_t which_ = 0;
  std::size_t count_ = 0;
};
FailingCall failing_allocation("FAKE_CUDA_FAILING_ALLOCATION");
FailingCall failing_launch("FAKE_CUDA_FAILING_LAUNCH");
FailingCall failing_wait("FAKE_CUDA_FAILING_WAIT");

// Streams, events, graphs and modules that have not been destroyed.
std::size_t live_objects = 0;

template <typename T>
T* created(T* object) {
  ++live_objects;
  return object;
}
template <typename T>
int destroyed(void* object) {
  --live_objects;
  delete static_cast<T*>(object);
  return 0;
}

std::map<std::uintptr_t, std::size_t> allocated;
std::size_t live_bytes = 0;

using Work = std::function<void()>;
struct Node {
  Work work;
  const char* kernel = nullptr;
};
struct Graph {
  std::vector<Node> nodes;
};
Graph* capturing = nullptr;

std::chrono::milliseconds added_time{0};

int run_or_record(Work work, const char* kernel = nullptr) {
  return fake::run_or_record(std::move(work), kernel);
}

struct Event {
  std::chrono::steady_clock::time_point time;
};

struct Kernel {
  void (*entry)(std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t,
                std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t) = nullptr;
  bool cooperates = false;
  Index* thread = nullptr;
  Index* block = nullptr;
  Index* block_size = nullptr;
  Index* grid = nullptr;
};

struct Module {
  void* library = nullptr;
  std::map<std::string, Kernel> kernels;
};

void run_kernel(const Kernel& kernel, const Index& blocks, unsigned threads,
                const std::vector<std::uint64_t>& a) {
  *kernel.grid = blocks;
  *kernel.block_size = {threads, 1, 1};
  const auto call = [&] {
    kernel.entry(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12],
                 a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
  };
  const auto set_thread = [&](unsigned i) { *kernel.thread = {i, 0, 0}; };
  for (unsigned z = 0; z < blocks.z; ++z) {
    for (unsigned y = 0; y < blocks.y; ++y) {
      for (unsigned x = 0; x < blocks.x; ++x) {
        *kernel.block = {x, y, z};
        if (kernel.cooperates) {
          fake::run_block(threads, call, set_thread);
          continue;
        }
        for (unsigned i = 0; i < threads; ++i) {
          set_thread(i);
          call();
        }
      }
    }
  }
}

struct Program {
  std::string source;
  std::string code;
  std::string log;
};

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The "machine code" is the path of a shared library beside its source.
int compile(Program& program) {
  const std::string folder = FAKE_CUDA_FOLDER "/kernels";
  const std::string source = text_of(FAKE_CUDA_WORDS) + program.source;
  const std::string name = folder + "/" + std::to_string(std::hash<std::string>{}(source));
  const std::string library = name + ".so";
  program.code = library;
  if (const char* sources = std::getenv("FAKE_CUDA_SOURCES"))
    std::ofstream(std::string(sources) + "/" + std::to_string(std::hash<std::string>{}(source)) +
                  ".cu")
        << program.source;
  if (access(library.c_str(), R_OK) == 0) return 0;
  const std::string own = name + "." + std::to_string(getpid());
  (void)std::system(("mkdir -p " + folder).c_str());
  std::ofstream(own + ".cpp") << source;
  const std::string command = std::string(FAKE_CUDA_COMPILER) +
                              " -std=c++17 -O1 -w -fPIC -shared -ffp-contract=fast -o " + own +
                              ".so " + own + ".cpp 2> " + own + ".log";
  const int failed = std::system(command.c_str());
  program.log = text_of(own + ".log");
  std::remove((own + ".log").c_str());
  if (failed != 0) return 6;
  std::remove((own + ".cpp").c_str());
  std::rename((own + ".so").c_str(), library.c_str());
  return 0;
}

}  // namespace

namespace fake {

int run_or_record(std::function<void()> work, const char* kernel) {
  if (capturing != nullptr)
    capturing->nodes.push_back({std::move(work), kernel});
  else
    work();
  return 0;
}

std::size_t setting(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void add_milliseconds(std::size_t milliseconds) {
  added_time += std::chrono::milliseconds(milliseconds);
}

}  // namespace fake

extern "C" {

std::size_t fake_live_bytes() {
  return live_bytes;
}
std::size_t fake_live_objects() {
  return live_objects;
}

int cuInit(unsigned) {
  return number("FAKE_CUDA_DEVICES", 1) == 0 ? 100 : 0;
}
int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("FAKE_CUDA_VERSION", 13000));
  return 0;
}
int cuGetErrorName(int status, const char** name) {
  static const std::map<int, const char*> kNames = {{1, "CUDA_ERROR_INVALID_VALUE"},
                                                    {2, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                    {100, "CUDA_ERROR_NO_DEVICE"},
                                                    {500, "CUDA_ERROR_NOT_FOUND"},
                                                    {700, "CUDA_ERROR_ILLEGAL_ADDRESS"}};
  const auto found = kNames.find(status);
  *name = found == kNames.end() ? nullptr : found->second;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = static_cast<int>(number("FAKE_CUDA_DEVICES", 1));
  return 0;
}
int cuDeviceGet(int* device, int which) {
  *device = which;
  return 0;
}
int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "Fake GPU");
  return 0;
}
int cuDeviceGetPCIBusId(char* name, int size, int) {
  std::snprintf(name, static_cast<std::size_t>(size), "0000:01:00.0");
  return 0;
}
int cuDeviceGetAttribute(int* value, int which, int) {
  static const std::map<int, int> kValues = {{13, 1980000}, {16, 132}, {38, 62914560},
                                             {75, 9},       {76, 0},   {97, 232448}};
  const auto found = kValues.find(which);
  if (found == kValues.end()) return kInvalidValue;
  *value = found->second;
  if (which == 16) *value = static_cast<int>(number("FAKE_CUDA_MULTIPROCESSORS", 132));
  if (which == 38) *value = static_cast<int>(number("FAKE_CUDA_CACHE", 62914560));
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &allocated;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return 0;
}
int cuCtxSetCurrent(void*) {
  return 0;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* all) {
  if (failing_wait.has_failed()) return kIllegalAddress;
  *all = all_bytes();
  *free = *all - live_bytes;
  return 0;
}
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (bytes == 0) return kInvalidValue;
  if (bytes > all_bytes() - live_bytes || failing_allocation.is_now()) return kOutOfMemory;
  void* memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(memory, 0x7f, bytes);  // what nobody wrote is a number nobody expects
  *address = reinterpret_cast<std::uintptr_t>(memory);
  allocated[*address] = bytes;
  live_bytes += bytes;
  return 0;
}
int cuMemFree_v2(unsigned long long address) {
  const auto found = allocated.find(address);
  if (found == allocated.end()) return kInvalidValue;
  live_bytes -= found->second;
  allocated.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemAllocHost_v2(void** memory, std::size_t bytes) {
  *memory = std::malloc(bytes);
  return 0;
}
int cuMemFreeHost(void* memory) {
  std::free(memory);
  return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes, void*) {
  return run_or_record([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes, void*) {
  return run_or_record([=] { std::memcpy(to, reinterpret_cast<void*>(from), bytes); });
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, void*) {
  return run_or_record(
      [=] { std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes); });
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, std::size_t bytes, void*) {
  return run_or_record([=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = created(new int(0));
  return 0;
}
int cuStreamDestroy_v2(void* stream) {
  return destroyed<int>(stream);
}
int cuStreamSynchronize(void*) {
  return failing_wait.is_now() ? kIllegalAddress : 0;
}
int cuStreamBeginCapture_v2(void*, int) {
  capturing = created(new Graph);
  return 0;
}
int cuStreamEndCapture(void*, void** graph) {
  *graph = std::exchange(capturing, nullptr);
  return 0;
}
int cuGraphInstantiateWithFlags(void** instance, void* graph, unsigned long long) {
  *instance = created(new Graph(*static_cast<Graph*>(graph)));
  return 0;
}
int cuGraphLaunch(void* instance, void*) {
  for (const Node& node : static_cast<Graph*>(instance)->nodes) node.work();
  return 0;
}
int cuGraphGetNodes(void* graph, void** nodes, std::size_t* count) {
  auto& all = static_cast<Graph*>(graph)->nodes;
  const std::size_t most = nodes == nullptr ? 0 : *count;
  *count = all.size();
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i) nodes[i] = &all[i];
  return 0;
}
int cuGraphNodeGetType(void* node, int* type) {
  *type = static_cast<Node*>(node)->kernel == nullptr ? 3 : 0;
  return 0;
}
int cuGraphChildGraphNodeGetGraph(void*, void**) {
  return kInvalidValue;
}
// The names of kernels are the functions.
int cuGraphKernelNodeGetParams_v2(void* node, void* parameters) {
  *static_cast<const void**>(parameters) = static_cast<Node*>(node)->kernel;
  return 0;
}
int cuFuncGetName(const char** name, void* function) {
  *name = static_cast<const char*>(function);
  return 0;
}
int cuKernelGetName(const char**, void*) {
  return kInvalidValue;
}
int cuGraphDestroy(void* graph) {
  return destroyed<Graph>(graph);
}
int cuGraphExecDestroy(void* graph) {
  return cuGraphDestroy(graph);
}
int cuEventCreate(void** event, unsigned) {
  *event = created(new Event);
  return 0;
}
int cuEventDestroy_v2(void* event) {
  return destroyed<Event>(event);
}
int cuEventRecordWithFlags(void* event, void*, unsigned) {
  return run_or_record(
      [=] { static_cast<Event*>(event)->time = std::chrono::steady_clock::now() + added_time; });
}
int cuEventSynchronize(void*) {
  return 0;
}
int cuEventElapsedTime(float* milliseconds, void* first, void* second) {
  const auto time = static_cast<Event*>(second)->time - static_cast<Event*>(first)->time;
  *milliseconds = std::chrono::duration<float, std::milli>(time).count();
  return 0;
}
int cuModuleLoadData(void** module, const void* data) {
  void* library = dlopen(static_cast<const char*>(data), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return kInvalidValue;
  *static_cast<void (**)()>(dlsym(library, "fake_wait_for_block")) = fake::wait_for_block;
  *static_cast<void (**)()>(dlsym(library, "fake_wait_for_warp")) = fake::wait_for_warp;
  *module = created(new Module{library, {}});
  return 0;
}
int cuModuleUnload(void* module) {
  return destroyed<Module>(module);
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  auto* from = static_cast<Module*>(module);
  void* entry = dlsym(from->library, name);
  if (entry == nullptr) return kNotFound;
  const auto index = [&](const char* symbol) {
    return static_cast<Index*>(dlsym(from->library, symbol));
  };
  Kernel& kernel = from->kernels[name];
  kernel = {reinterpret_cast<decltype(kernel.entry)>(entry),
            dlsym(from->library, (std::string(name) + "_cooperates").c_str()) != nullptr,
            index("threadIdx"),
            index("blockIdx"),
            index("blockDim"),
            index("gridDim")};
  *function = &kernel;
  return 0;
}
int cuFuncSetAttribute(void*, int, int) {
  return 0;
}
int cuLaunchKernel(void* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                   unsigned, unsigned, void*, void** arguments, void**) {
  if (x == 0 || y == 0 || z == 0 || threads == 0 || threads > 1024) return kInvalidValue;
  if (failing_launch.is_now()) return kIllegalAddress;
  std::vector<std::uint64_t> values(24, 0);
  for (std::size_t i = 0; i < values.size() && arguments[i] != nullptr; ++i)
    values[i] = *static_cast<std::uint64_t*>(arguments[i]);
  const Kernel kernel = *static_cast<Kernel*>(function);
  return run_or_record([=] {
    run_kernel(kernel, {x, y, z}, threads, values);
    if (kernel.cooperates) fake::add_milliseconds(number("FAKE_CUDA_KERNEL_MS", 0));
  });
}

int nvrtcVersion(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return 0;
}
int nvrtcCreateProgram(void** program, const char* source, const char*, int, const char* const*,
                       const char* const*) {
  *program = new Program{source, "", ""};
  return 0;
}
int nvrtcCompileProgram(void* program, int, const char* const*) {
  return compile(*static_cast<Program*>(program));
}
int nvrtcGetCUBINSize(void* program, std::size_t* size) {
  *size = static_cast<Program*>(program)->code.size() + 1;
  return 0;
}
int nvrtcGetCUBIN(void* program, char* code) {
  std::strcpy(code, static_cast<Program*>(program)->code.c_str());
  return 0;
}
int nvrtcGetProgramLogSize(void* program, std::size_t* size) {
  *size = static_cast<Program*>(program)->log.size() + 1;
  return 0;
}
int nvrtcGetProgramLog(void* program, char* log) {
  std::strcpy(log, static_cast<Program*>(program)->log.c_str());
  return 0;
}
int nvrtcDestroyProgram(void** program) {
  delete static_cast<Program*>(*program);
  *program = nullptr;
  return 0;
}

}  // extern "C"
