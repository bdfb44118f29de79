#include <time.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/text.h"
#include "timing/board_throttling.h"
#include "timing/proc_stat.h"

namespace assay {

using namespace assay::timing;

namespace {

constexpr std::size_t kFields =
    8;  // user to steal; the fields after that are already counted in user

double own_seconds() {
  timespec now = {};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) != 0) return 0;
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The second number of each thread's schedstat: nanoseconds ready to run, but not running.
std::optional<double> waited_seconds() {
  std::error_code failed;
  double nanoseconds = 0;
  bool is_known = false;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", failed)) {
    std::ifstream file(task.path() / "schedstat");
    double ran = 0;
    double waited = 0;
    if (!(file >> ran >> waited)) continue;
    nanoseconds += waited;
    is_known = true;
  }
  return is_known ? std::optional(nanoseconds * 1e-9) : std::nullopt;
}

class LinuxMachine : public MachineState {
 public:
  std::optional<MachineTimes> times() override {
    std::ifstream file("/proc/stat");
    std::string line;
    std::getline(file, line);
    auto times = parse_proc_stat(line, static_cast<double>(::sysconf(_SC_CLK_TCK)));
    if (!times) return times;
    times->own_seconds = own_seconds();
    times->waited_seconds = waited_seconds();
    times->throttled = read_throttled("", run_get_throttled);
    return times;
  }
};

}  // namespace

MachineState& this_machine() {
  static LinuxMachine machine;
  return machine;
}

std::optional<MachineTimes> timing::parse_proc_stat(std::string_view text,
                                                    double ticks_per_second) {
  constexpr std::string_view kStart = "cpu ";
  if (!text.starts_with(kStart) || !(ticks_per_second > 0)) return std::nullopt;
  std::array<double, kFields> ticks = {};
  std::size_t count = 0;
  for (const auto& word : split(text.substr(kStart.size(), text.find('\n')), ' ')) {
    if (word.empty() || count == kFields) continue;
    const auto number = parse_integer(word);
    if (!number || *number < 0) return std::nullopt;
    ticks[count++] = static_cast<double>(*number) / ticks_per_second;
  }
  if (count != kFields) return std::nullopt;
  const auto [user, nice, system, idle, waiting, interrupts, soft_interrupts, stolen] = ticks;
  MachineTimes times;
  times.busy_seconds = user + nice + system + interrupts + soft_interrupts;
  times.idle_seconds = idle + waiting;
  times.stolen_seconds = stolen;
  return times;
}

}  // namespace assay
