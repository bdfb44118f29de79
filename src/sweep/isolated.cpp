#include "sweep/isolated.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>

#include "base/fail.h"
#include "base/free_memory.h"
#include "base/heap.h"
#include "base/system_error.h"
#include "base/text.h"

namespace assay::sweep {

namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Messages from the process: a letter and text, each ended by a null character.
constexpr char kProgressMessage = 'P';
constexpr char kResultMessage = 'R';
constexpr char kErrorMessage = 'E';

void send(int descriptor, char letter, std::string_view text) {
  std::string message(1, letter);
  message.append(text);
  message.push_back('\0');
  std::string_view rest = message;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor, rest.data(), rest.size());
    if (written <= 0) return;  // nobody listens any more
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

class SentProgress : public Progress {
 public:
  explicit SentProgress(int descriptor) : descriptor_(descriptor) {}
  void report(double fraction, std::string_view what) override {
    constexpr auto kPause = std::chrono::milliseconds(50);
    const SteadyTime now = std::chrono::steady_clock::now();
    if (now - last_ < kPause) return;
    last_ = now;
    send(descriptor_, kProgressMessage, fmt::format("{} {}", fraction, what));
  }

 private:
  int descriptor_ = -1;
  SteadyTime last_ = {};
};

// Private memory that can be written, as the system counts it against RLIMIT_DATA.
std::int64_t data_bytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    long long kilobytes = 0;
    if (std::sscanf(line.c_str(), "VmData: %lld kB", &kilobytes) == 1) return kilobytes << 10;
  }
  return 0;
}

void limit_memory(const std::optional<std::int64_t>& most) {
  const std::optional<std::int64_t> more = most ? most : free_memory_bytes();
  if (!more) return;
  const rlimit limit{static_cast<rlim_t>(data_bytes() + *more),
                     static_cast<rlim_t>(data_bytes() + *more)};
  ::setrlimit(RLIMIT_DATA, &limit);
}

// The first to go if the system runs out of memory, rather than the process that keeps the results.
void volunteer_to_be_killed() {
  std::ofstream("/proc/self/oom_score_adj") << 1000;
}

// Locks and journals belong to the parent; only the pipe stays open.
void close_all_but(int descriptor) {
  if (descriptor > 3) ::close_range(3, static_cast<unsigned>(descriptor) - 1, 0);
  ::close_range(static_cast<unsigned>(descriptor) + 1, ~0U, 0);
}

[[noreturn]] void be_the_process(const std::function<std::string(Progress&)>& work, int descriptor,
                                 const IsolationLimits& limits, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::signal(SIGINT, SIG_IGN);  // Ctrl-C is for the parent, which decides
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGTERM, SIG_DFL);
  ::signal(SIGPIPE, SIG_IGN);
  close_all_but(descriptor);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  volunteer_to_be_killed();
  limit_memory(limits.memory_bytes);
  keep_freed_memory();
  SentProgress progress(descriptor);
  try {
    send(descriptor, kResultMessage, work(progress));
  } catch (const std::bad_alloc&) {
    send(descriptor, kErrorMessage, "out of memory");
  } catch (const std::exception& error) {
    send(descriptor, kErrorMessage, error.what());
  }
  ::_exit(0);
}

// What the process has said so far.
class Listener {
 public:
  Listener(int descriptor, Progress* progress) : descriptor_(descriptor), progress_(progress) {}

  // False at the end of the messages.
  bool listen(int milliseconds) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return true;
    char buffer[65536];
    const ssize_t got = ::read(descriptor_, buffer, sizeof buffer);
    if (got < 0) return errno == EINTR;
    if (got == 0) return false;
    text_.append(buffer, static_cast<std::size_t>(got));
    take_messages();
    return true;
  }

  const std::optional<IsolatedEnd>& end() const { return end_; }

 private:
  void take_messages() {
    std::size_t stop = 0;
    while ((stop = text_.find('\0')) != std::string::npos) {
      take(text_.front(), text_.substr(1, stop - 1));
      text_.erase(0, stop + 1);
    }
  }

  void take(char letter, const std::string& message) {
    if (letter == kResultMessage) end_ = IsolatedEnd{IsolatedEnd::Kind::Finished, message};
    if (letter == kErrorMessage) end_ = IsolatedEnd{IsolatedEnd::Kind::Failed, message};
    if (letter != kProgressMessage || progress_ == nullptr) return;
    const std::size_t space = message.find(' ');
    progress_->report(std::atof(message.c_str()), message.substr(space + 1));
  }

  int descriptor_ = -1;
  Progress* progress_ = nullptr;
  std::string text_;
  std::optional<IsolatedEnd> end_;
};

std::string death_of(int status) {
  if (!WIFSIGNALED(status)) {
    return fmt::format("ended without a result, exit code {}", WEXITSTATUS(status));
  }
  const int signal = WTERMSIG(status);
  if (signal == SIGKILL) return "was killed, probably because memory ran out";
  return fmt::format("crashed: {} (signal {})", ::strsignal(signal), signal);
}

// The parent's side.
class IsolatedProcess {
 public:
  IsolatedProcess(pid_t process, int descriptor, Progress* progress)
      : process_(process), descriptor_(descriptor), progress_(progress) {}
  IsolatedProcess(const IsolatedProcess&) = delete;
  IsolatedProcess& operator=(const IsolatedProcess&) = delete;
  ~IsolatedProcess() {
    ::close(descriptor_);
    if (process_ <= 0) return;
    ::kill(process_, SIGKILL);
    wait();
  }

  IsolatedEnd finish(const IsolationLimits& limits, bool stops_when_cancelled) {
    constexpr int kLookEveryMs = 50;
    const SteadyTime start = std::chrono::steady_clock::now();
    Listener listener(descriptor_, progress_);
    while (listener.listen(kLookEveryMs)) {
      if (stops_when_cancelled && is_cancelled()) return {IsolatedEnd::Kind::Stopped, ""};
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      if (passed.count() > limits.seconds) {
        return {IsolatedEnd::Kind::Failed,
                fmt::format("took longer than task_timeout_s, {:g} seconds", limits.seconds)};
      }
    }
    const int status = wait();
    if (listener.end()) return *listener.end();
    // The whole group was told to end, and the process was quicker.
    if (is_cancelled()) return {IsolatedEnd::Kind::Stopped, ""};
    return {IsolatedEnd::Kind::Failed, death_of(status)};
  }

 private:
  bool is_cancelled() const { return progress_ != nullptr && progress_->cancelled(); }

  int wait() {
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    process_ = -1;
    return status;
  }

  pid_t process_ = -1;
  int descriptor_ = -1;
  Progress* progress_ = nullptr;
};

}  // namespace

IsolatedEnd run_isolated(const std::function<std::string(Progress&)>& work,
                         const IsolationLimits& limits, Progress* progress,
                         bool stops_when_cancelled) {
  int ends[2] = {-1, -1};
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_running("no pipe: {}", last_system_error());
  const pid_t parent = ::getpid();
  const pid_t process = ::fork();
  if (process == 0) {
    ::close(ends[0]);
    be_the_process(work, ends[1], limits, parent);
  }
  ::close(ends[1]);
  if (process < 0) {
    ::close(ends[0]);
    fail_running("no process for a task: {}", last_system_error());
  }
  return IsolatedProcess(process, ends[0], progress).finish(limits, stops_when_cancelled);
}

}  // namespace assay::sweep
