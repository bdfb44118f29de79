#include "gpu/cudnn_descriptor.h"

#include <array>

#include "base/fail.h"

namespace assay::gpu {

namespace {

// Why the last call failed, in cuDNN's words; empty if it does not say.
std::string last_error(const Cudnn& cudnn) {
  std::array<char, 512> text = {};
  cudnn.last_error(text.data(), text.size());
  text.back() = '\0';
  std::string words = text.data();
  for (char& letter : words)
    if (letter == '\n') letter = ' ';
  return words;
}

}  // namespace

CudnnHandle::CudnnHandle(const Device& device)
    : functions_(device.libraries().cudnn
                     ? *device.libraries().cudnn
                     : throw Error(ErrorKind::Failed, "there is no cuDNN on this machine")) {
  Handle made = nullptr;
  check(functions_.create(&made), "cudnnCreate");
  handle_ = {made, functions_.destroy};
}

void CudnnHandle::check(Status status, const std::string& call) const {
  if (status == 0) return;
  const char* name = functions_.status_name(status);
  const std::string reason = last_error(functions_);
  fail_running("{} fails: {}{}{}", call, name == nullptr ? std::to_string(status) : name,
               reason.empty() ? "" : ", ", reason);
}

CudnnDescriptor::CudnnDescriptor(const CudnnHandle& handle, const CudnnName& kind)
    : handle_(&handle), kind_(kind.name) {
  Handle made = nullptr;
  check(handle.functions().create_descriptor(kind.number, &made), "cudnnBackendCreateDescriptor",
        "");
  descriptor_ = {made, handle.functions().destroy_descriptor};
}

void CudnnDescriptor::check(Status status, const char* call, const char* what) const {
  if (status == 0) return;
  handle_->check(status, fmt::format("{} {}{}{}", call, kind_, *what == '\0' ? "" : " ", what));
}

void CudnnDescriptor::set_values(const CudnnName& attribute, CudnnType type, std::int64_t count,
                                 const void* values) {
  check(handle_->functions().set_attribute(get(), attribute.number, static_cast<int>(type), count,
                                           values),
        "cudnnBackendSetAttribute", attribute.name);
}

void CudnnDescriptor::set(const CudnnName& attribute, const CudnnDescriptor& value) {
  const Handle handle = value.get();
  set_values(attribute, CudnnType::Descriptor, 1, &handle);
}

void CudnnDescriptor::finalize() {
  check(handle_->functions().finalize(get()), "cudnnBackendFinalize", "");
}

std::int64_t CudnnDescriptor::get_values(const CudnnName& attribute, CudnnType type,
                                         std::int64_t most, void* values) const {
  std::int64_t count = 0;
  check(handle_->functions().get_attribute(get(), attribute.number, static_cast<int>(type), most,
                                           &count, values),
        "cudnnBackendGetAttribute", attribute.name);
  return count;
}

std::int64_t CudnnDescriptor::get_number(const CudnnName& attribute) const {
  std::int64_t number = 0;
  get_values(attribute, CudnnType::Int64, 1, &number);
  return number;
}

}  // namespace assay::gpu
