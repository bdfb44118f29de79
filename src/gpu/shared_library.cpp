#include "gpu/shared_library.h"

#include <dlfcn.h>

#include <cstdlib>

namespace assay::gpu {

namespace {

void* opened(const std::string& path) {
  return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
}

}  // namespace

SharedLibrary SharedLibrary::open(std::span<const std::string> names,
                                  std::span<const std::filesystem::path> folders) {
  SharedLibrary library;
  const auto tries = [&](const std::string& path) {
    library.handle_ = opened(path);
    library.path_ = path;
    return library.is_open();
  };
  for (const std::filesystem::path& folder : folders) {
    for (const std::string& name : names) {
      const std::filesystem::path path = folder / name;
      std::error_code ignored;
      if (std::filesystem::exists(path, ignored) && tries(path.string())) return library;
    }
  }
  for (const std::string& name : names) {
    if (tries(name)) return library;
  }
  return {};
}

void* SharedLibrary::find(const char* symbol) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, symbol);
}

std::vector<std::filesystem::path> library_folders() {
  std::vector<std::filesystem::path> folders;
  const char* variable = std::getenv("ASSAY_CUDA_LIBRARIES");
  std::string_view rest = variable == nullptr ? "" : variable;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) folders.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  folders.emplace_back("/usr/local/cuda/lib64");
  folders.emplace_back("/usr/local/nvidia/lib64");
  return folders;
}

}  // namespace assay::gpu
