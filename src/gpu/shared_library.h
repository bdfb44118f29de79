// A library that is opened at run time, if this machine has it.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace assay::gpu {

class SharedLibrary {
 public:
  // The first of the names that can be opened, in these folders, then where the system looks. It
  // stays open until the process ends: NVIDIA's libraries do not bear being closed.
  static SharedLibrary open(std::span<const std::string> names,
                            std::span<const std::filesystem::path> folders);

  bool is_open() const { return handle_ != nullptr; }
  const std::string& path() const { return path_; }
  // Null if it has no such symbol.
  void* find(const char* symbol) const;

 private:
  void* handle_ = nullptr;
  std::string path_ = "";
};

// ASSAY_CUDA_LIBRARIES, folders separated by colons, then where CUDA is usually installed.
std::vector<std::filesystem::path> library_folders();

}  // namespace assay::gpu
