#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/text.h"
#include "machine/counters/perf_system.h"

namespace assay::machine {

namespace {

class LinuxPerf : public PerfSystem {
 public:
  std::vector<int> threads() override {
    std::vector<int> found;
    std::error_code failed;
    std::filesystem::directory_iterator entries("/proc/self/task", failed);
    while (!failed && entries != std::filesystem::directory_iterator()) {
      const auto thread = parse_integer(entries->path().filename().string());
      if (thread) found.push_back(static_cast<int>(*thread));
      entries.increment(failed);
    }
    if (found.empty()) found.push_back(0);  // the calling one
    return found;
  }

  int open(const perf_event_attr& event, int thread, int group) override {
    constexpr int kAnyProcessor = -1;
    perf_event_attr attributes = event;
    const long descriptor = ::syscall(SYS_perf_event_open, &attributes, thread, kAnyProcessor,
                                      group, PERF_FLAG_FD_CLOEXEC);
    return descriptor < 0 ? -errno : static_cast<int>(descriptor);
  }

  std::optional<std::array<std::uint64_t, 3>> read(int descriptor) override {
    std::array<std::uint64_t, 3> words = {};
    if (::read(descriptor, words.data(), sizeof words) != sizeof words) return {};
    return words;
  }

  void enable(int descriptor, bool on) override {
    ::ioctl(descriptor, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
  }

  void close(int descriptor) override { ::close(descriptor); }

  std::optional<int> paranoid() override {
    std::ifstream file("/proc/sys/kernel/perf_event_paranoid");
    int level = 0;
    if (!(file >> level)) return {};
    return level;
  }
};

}  // namespace

PerfSystem& linux_perf() {
  static LinuxPerf perf;
  return perf;
}

}  // namespace assay::machine
