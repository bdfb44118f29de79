#include "execute/cuda/library_handles.h"

#include "assay/error.h"
#include "execute/cuda/log.h"

namespace assay::cuda {

template <typename Library>
void LibraryHandles::open(std::shared_ptr<const Library>& handle, bool is_there, bool& was_tried) {
  if (was_tried || !is_there) return;
  was_tried = true;
  try {
    handle = std::make_shared<const Library>(device_);
  } catch (const Error& error) {
    failure_ = error.what();
    log_line(failure_);
  }
}

std::shared_ptr<const gpu::CudnnHandle> LibraryHandles::cudnn() {
  open(cudnn_, device_.libraries().cudnn.has_value(), tried_cudnn_);
  return cudnn_;
}

std::shared_ptr<const gpu::CublasLtHandle> LibraryHandles::cublaslt() {
  open(cublaslt_, device_.libraries().cublaslt.has_value(), tried_cublaslt_);
  return cublaslt_;
}

}  // namespace assay::cuda
