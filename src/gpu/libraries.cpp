#include "gpu/libraries.h"

#include <fmt/core.h>

#include "base/text.h"
#include "gpu/shared_library.h"

namespace assay::gpu {

namespace {

// Version 12 is the first whose driver loads what NVRTC 12 makes, and has the calls we use.
constexpr int kOldestDriver = 12000;
constexpr std::size_t kOldestCudnn = 90000;

using Names = std::vector<std::string>;

// "13.0"
std::string cuda_version(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

// "9.19.0"; both libraries count thousands of ten.
std::string library_version(std::size_t version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

// The first symbol that the library lacks; null if it has them all.
class TableFiller {
 public:
  explicit TableFiller(const SharedLibrary& library) : library_(library) {}

  template <typename Function>
  void fill(Function*& member, const char* symbol) {
    member = reinterpret_cast<Function*>(library_.find(symbol));
    if (member == nullptr && missing_ == nullptr) missing_ = symbol;
  }
  const char* missing() const { return missing_; }

 private:
  const SharedLibrary& library_;
  const char* missing_ = nullptr;
};

#define ASSAY_FILL(member, symbol, parameters) filler.fill(table.member, symbol);
const char* fill(Driver& table, const SharedLibrary& library) {
  TableFiller filler(library);
  ASSAY_DRIVER_FUNCTIONS(ASSAY_FILL)
  return filler.missing();
}
const char* fill(GraphFunctions& table, const SharedLibrary& library) {
  TableFiller filler(library);
  ASSAY_GRAPH_FUNCTIONS(ASSAY_FILL)
  return filler.missing();
}
const char* fill(Nvrtc& table, const SharedLibrary& library) {
  TableFiller filler(library);
  ASSAY_NVRTC_FUNCTIONS(ASSAY_FILL)
  return filler.missing();
}
const char* fill(CublasLt& table, const SharedLibrary& library) {
  TableFiller filler(library);
  ASSAY_CUBLASLT_FUNCTIONS(ASSAY_FILL)
  filler.fill(table.version, "cublasLtGetVersion");
  filler.fill(table.status_name, "cublasLtGetStatusName");
  return filler.missing();
}
const char* fill(Cudnn& table, const SharedLibrary& library) {
  TableFiller filler(library);
  ASSAY_CUDNN_FUNCTIONS(ASSAY_FILL)
  filler.fill(table.version, "cudnnGetVersion");
  filler.fill(table.status_name, "cudnnGetErrorString");
  filler.fill(table.last_error, "cudnnGetLastErrorString");
  return filler.missing();
}
#undef ASSAY_FILL

std::string start_driver(Libraries& found, const SharedLibrary& library) {
  if (!library.is_open()) return "there is no NVIDIA driver: libcuda.so.1 cannot be opened";
  if (const char* missing = fill(found.driver, library)) {
    return fmt::format("the NVIDIA driver is too old: it has no {}; CUDA {} is needed", missing,
                       cuda_version(kOldestDriver));
  }
  if (fill(found.driver.graphs, library) != nullptr) found.driver.graphs = {};
  const Status status = found.driver.init(0);
  if (status != 0) {
    const char* error = nullptr;
    found.driver.error_name(status, &error);
    return fmt::format("the NVIDIA driver does not start: {}",
                       error == nullptr ? std::to_string(status) : error);
  }
  found.driver.driver_version(&found.driver_version);
  if (found.driver_version < kOldestDriver) {
    return fmt::format("the NVIDIA driver is too old: it supports CUDA {}, CUDA {} is needed",
                       cuda_version(found.driver_version), cuda_version(kOldestDriver));
  }
  int devices = 0;
  if (found.driver.device_count(&devices) != 0 || devices == 0)
    return "the NVIDIA driver finds no GPU";
  return "";
}

// Code of a newer major version than the driver's cannot be loaded.
std::string open_nvrtc(Libraries& found, std::span<const std::filesystem::path> folders) {
  const int newest = found.driver_version / 1000;
  Names names;
  for (int major = newest; major >= kOldestDriver / 1000; --major)
    names.push_back(fmt::format("libnvrtc.so.{}", major));
  const SharedLibrary library = SharedLibrary::open(names, folders);
  if (!library.is_open() || fill(found.nvrtc, library) != nullptr) {
    return fmt::format(
        "there is no {}, which compiles kernels: install CUDA's libraries, or name their folders "
        "in ASSAY_CUDA_LIBRARIES",
        join(names, " or "));
  }
  int major = 0;
  int minor = 0;
  found.nvrtc.version(&major, &minor);
  found.nvrtc_version = major * 1000 + minor * 10;
  return "";
}

void open_cublaslt(Libraries& found, std::span<const std::filesystem::path> folders) {
  const Names names = {fmt::format("libcublasLt.so.{}", found.nvrtc_version / 1000)};
  const SharedLibrary library = SharedLibrary::open(names, folders);
  CublasLt table;
  if (library.is_open() && fill(table, library) == nullptr) {
    found.cublaslt = table;
  } else {
    found.notes.push_back(fmt::format("there is no {}: products run in our own kernels", names[0]));
  }
}

void open_cudnn(Libraries& found, std::span<const std::filesystem::path> folders) {
  const Names names = {"libcudnn.so.9"};
  const SharedLibrary library = SharedLibrary::open(names, folders);
  Cudnn table;
  const bool is_complete = library.is_open() && fill(table, library) == nullptr;
  if (is_complete && table.version() >= kOldestCudnn) {
    found.cudnn = table;
  } else {
    found.notes.push_back("there is no libcudnn.so.9: convolutions run in our own kernels");
  }
}

}  // namespace

std::string Libraries::versions() const {
  std::vector<std::string> words = {"CUDA " + cuda_version(driver_version)};
  if (cublaslt) words.push_back("cuBLASLt " + library_version(cublaslt->version()));
  if (cudnn) words.push_back("cuDNN " + library_version(cudnn->version()));
  return join(words, ", ");
}

Libraries open_libraries(std::span<const std::filesystem::path> folders) {
  Libraries found;
  found.why_not = start_driver(found, SharedLibrary::open(Names{"libcuda.so.1"}, folders));
  if (found.why_not.empty()) found.why_not = open_nvrtc(found, folders);
  if (!found.why_not.empty()) return found;
  open_cublaslt(found, folders);
  open_cudnn(found, folders);
  return found;
}

const Libraries& libraries() {
  static const Libraries all = open_libraries(library_folders());
  return all;
}

}  // namespace assay::gpu
