#include "gpu/code.h"

#include <array>
#include <optional>

#include "base/cache_file.h"
#include "base/fail.h"
#include "base/sha256.h"

namespace assay::gpu {

namespace {

constexpr int kMaxDynamicSharedBytes = 8;  // of CUfunction_attribute

// A program of NVRTC, destroyed with it.
class Compilation {
 public:
  Compilation(const Nvrtc& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
    check(nvrtc.create(&program_, source.c_str(), "assay.cu", 0, nullptr, nullptr));
  }
  ~Compilation() { nvrtc_.destroy(&program_); }
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  std::string code(std::span<const char* const> options) const {
    if (nvrtc_.compile(program_, static_cast<int>(options.size()), options.data()) != 0)
      fail_running("NVRTC refuses a kernel:\n{}", messages());
    std::size_t size = 0;
    check(nvrtc_.code_size(program_, &size));
    std::string code(size, '\0');
    check(nvrtc_.code(program_, code.data()));
    return code;
  }

 private:
  static void check(Status status) {
    if (status != 0) fail_running("NVRTC fails with error {}", status);
  }
  std::string messages() const {
    std::size_t size = 0;
    if (nvrtc_.log_size(program_, &size) != 0) return "";
    std::string text(size, '\0');
    nvrtc_.log(program_, text.data());
    return text.c_str();
  }

  const Nvrtc& nvrtc_;
  Handle program_ = nullptr;
};

std::string architecture(const Device& device) {
  return fmt::format("sm_{}", device.facts().compute_capability);
}

std::string key_of(const Device& device, const std::string& source) {
  const std::string about =
      fmt::format("{} {} ", architecture(device), device.libraries().nvrtc_version);
  return sha256_of({std::as_bytes(std::span(about)), std::as_bytes(std::span(source))});
}

std::string hash_of(const std::string& bytes) {
  return sha256_of({std::as_bytes(std::span(bytes))});
}

// What a file of the cache holds: what the code was made from, a hash of the code, the code.
std::string record_of(const std::string& code, const std::string& key) {
  return key + hash_of(code) + code;
}

// Nothing if the file holds other code or is damaged.
std::optional<std::string> code_of_record(const std::string& record, const std::string& key) {
  const std::size_t start = 2 * key.size();
  if (record.size() <= start || !record.starts_with(key)) return {};
  std::string code = record.substr(start);
  if (record.compare(key.size(), key.size(), hash_of(code)) != 0) return {};
  return code;
}

}  // namespace

std::string compiled(const Device& device, const std::string& source) {
  const std::string target = "-arch=" + architecture(device);
  const std::array<const char*, 2> options = {target.c_str(), "-std=c++17"};
  return Compilation(device.libraries().nvrtc, source).code(options);
}

std::string compiled_or_cached(const Device& device, const std::string& source) {
  const std::string key = key_of(device, source);
  const auto path = cache_path("kernels", key);
  if (const auto found = read_cache(path)) {
    if (auto code = code_of_record(*found, key)) return *code;
  }
  std::string code = compiled(device, source);
  write_cache(path, record_of(code, key), "kernels are");
  return code;
}

Code::Code(const Device& device, const std::string& source)
    : Code(loaded(device, compiled_or_cached(device, source))) {}

Code Code::loaded(const Device& device, const std::string& machine_code) {
  Handle module = nullptr;
  device.check(device.driver().load_module(&module, machine_code.data()), "loading kernels");
  return {device, {module, device.driver().unload_module}};
}

Handle Code::function(const std::string& name) const {
  Handle function = nullptr;
  device_->check(device_->driver().function(&function, module_.get(), name.c_str()),
                 "finding kernel " + name);
  return function;
}

void launch(const Stream& stream, Handle function, const Launch& shape,
            std::span<const std::uint64_t> arguments) {
  std::array<std::uint64_t, kMaxArguments> values = {};
  std::array<void*, kMaxArguments + 1> pointers = {};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    values[i] = arguments[i];
    pointers[i] = &values[i];
  }
  const Device& device = stream.device();
  device.check(device.driver().launch(function, shape.blocks[0], shape.blocks[1], shape.blocks[2],
                                      shape.threads, 1, 1, shape.shared_bytes, stream.get(),
                                      pointers.data(), nullptr),
               "launching a kernel");
}

void allow_shared_bytes(const Device& device, Handle function, unsigned bytes) {
  device.check(device.driver().set_function_attribute(function, kMaxDynamicSharedBytes,
                                                      static_cast<int>(bytes)),
               "asking for shared memory");
}

}  // namespace assay::gpu
