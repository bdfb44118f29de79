// The states of NVIDIA's libraries that a program's steps share, created when they are first
// needed.
#pragma once

#include <memory>
#include <string>

#include "gpu/cublaslt_product.h"
#include "gpu/cudnn_descriptor.h"

namespace assay::cuda {

class LibraryHandles {
 public:
  explicit LibraryHandles(const gpu::Device& device) : device_(device) {}

  // Null if this machine does not have the library, or if it cannot be used: failure() says why.
  std::shared_ptr<const gpu::CudnnHandle> cudnn();
  std::shared_ptr<const gpu::CublasLtHandle> cublaslt();
  const std::string& failure() const { return failure_; }

 private:
  template <typename Library>
  void open(std::shared_ptr<const Library>& handle, bool is_there, bool& was_tried);

  const gpu::Device& device_;
  std::shared_ptr<const gpu::CudnnHandle> cudnn_;
  std::shared_ptr<const gpu::CublasLtHandle> cublaslt_;
  bool tried_cudnn_ = false;
  bool tried_cublaslt_ = false;
  std::string failure_;
};

}  // namespace assay::cuda
