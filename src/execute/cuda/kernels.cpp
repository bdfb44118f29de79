#include "execute/cuda/kernels.h"

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <thread>

#include "assay/error.h"
#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

// What takes the time is the prelude and the start of the compiler: so many share them.
constexpr std::size_t kInModule = 8;
constexpr std::size_t kMostThreads = 8;

std::string name_of(KernelId id) {
  return fmt::format("kernel_{}", id);
}

void replace_all(std::string& text, std::string_view from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at))
    text.replace(at, from.size(), to);
}

std::string with_name(std::string text, const std::string& name) {
  replace_all(text, "KERNEL", name);
  return text;
}

void stop_if_cancelled(Progress* progress) {
  if (progress != nullptr && progress->cancelled())
    throw Error(ErrorKind::Cancelled, "compiling was interrupted");
}

}  // namespace

KernelId Kernels::add(const std::string& text, bool threads_cooperate) {
  std::string whole = text;
  if (threads_cooperate)
    whole = "#ifdef ASSAY_EMULATED\nextern \"C\" { int KERNEL_cooperates = 1; }\n#endif\n" + whole;
  const auto [found, is_new] = ids_.try_emplace(whole, texts_.size());
  if (is_new) texts_.push_back(std::move(whole));
  return found->second;
}

void Kernels::compile(const gpu::Device& device, Progress* progress) {
  std::vector<std::string> sources;
  for (std::size_t first = 0; first < texts_.size(); first += kInModule) {
    std::string source = kernel_prelude();
    for (KernelId id = first; id < std::min(first + kInModule, texts_.size()); ++id)
      source += with_name(texts_[id], name_of(id - first));
    sources.push_back(std::move(source));
  }
  std::vector<std::string> codes(sources.size());
  std::vector<std::exception_ptr> errors(sources.size());
  const auto compile_one = [&](std::size_t i) {
    try {
      codes[i] = gpu::compiled_or_cached(device, sources[i]);
    } catch (...) {
      errors[i] = std::current_exception();
    }
  };
  for (std::size_t first = 0; first < sources.size(); first += kMostThreads) {
    stop_if_cancelled(progress);
    std::vector<std::thread> team;
    for (std::size_t i = first; i < std::min(first + kMostThreads, sources.size()); ++i)
      team.emplace_back(compile_one, i);
    for (std::thread& thread : team) thread.join();
  }
  stop_if_cancelled(progress);
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  for (const std::string& code : codes) modules_.push_back(gpu::Code::loaded(device, code));
  for (KernelId id = 0; id < texts_.size(); ++id)
    functions_.push_back(modules_[id / kInModule].function(name_of(id % kInModule)));
}

}  // namespace assay::cuda
