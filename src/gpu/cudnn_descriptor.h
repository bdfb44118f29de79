// Descriptors of cuDNN's backend API: created, given attributes, finalised, destroyed by their
// owner. A failed call is an Error that names the descriptor, the attribute and cuDNN's reason.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "gpu/device.h"

namespace assay::gpu {

// cuDNN's state, of one program: it is created when it is first needed.
class CudnnHandle {
 public:
  // Throws if this machine has no cuDNN.
  explicit CudnnHandle(const Device& device);
  const Cudnn& functions() const { return functions_; }
  Handle get() const { return handle_.get(); }
  void check(Status status, const std::string& call) const;

 private:
  const Cudnn& functions_;
  Owned handle_;
};

// A number of cudnnBackendAttributeName_t or cudnnBackendDescriptorType_t, and its name there.
struct CudnnName {
  int number = 0;
  const char* name = "";
};

// Numbers of cudnnBackendAttributeType_t.
enum class CudnnType {
  Library = 0,  // CUDNN_TYPE_HANDLE
  DataType = 1,
  Boolean = 2,
  Int64 = 3,
  Float = 4,
  Double = 5,
  Pointer = 6,
  ConvolutionMode = 7,
  HeuristicMode = 8,
  Knob = 9,
  NumericalNote = 11,
  PointwiseMode = 14,
  Descriptor = 15,
};

class CudnnDescriptor {
 public:
  CudnnDescriptor() = default;
  CudnnDescriptor(const CudnnHandle& handle, const CudnnName& kind);

  Handle get() const { return descriptor_.get(); }

  template <typename Value>
  void set(const CudnnName& attribute, CudnnType type, const Value& value) {
    set_values(attribute, type, 1, &value);
  }
  template <typename Value>
  void set_all(const CudnnName& attribute, CudnnType type, std::span<const Value> values) {
    set_values(attribute, type, static_cast<std::int64_t>(values.size()), values.data());
  }
  void set(const CudnnName& attribute, const CudnnDescriptor& value);
  void finalize();

  // Writes at most `most` elements to `values`; returns how many there are.
  std::int64_t get_values(const CudnnName& attribute, CudnnType type, std::int64_t most,
                          void* values) const;
  std::int64_t get_number(const CudnnName& attribute) const;

 private:
  void set_values(const CudnnName& attribute, CudnnType type, std::int64_t count,
                  const void* values);
  void check(Status status, const char* call, const char* what) const;

  const CudnnHandle* handle_ = nullptr;
  const char* kind_ = "";
  Owned descriptor_;
};

}  // namespace assay::gpu
