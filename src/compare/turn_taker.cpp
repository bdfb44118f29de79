#include "compare/turn_taker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fail.h"
#include "base/system_error.h"
#include "base/turn_message.h"

namespace assay::compare {

namespace {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor out;
  Descriptor in;
};

Pipe make_pipe() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    fail_running("cannot create a pipe: {}", last_system_error());
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

struct Redirection {
  int from;
  int to;
};

pid_t spawn(const std::filesystem::path& program, const std::vector<std::string>& words,
            std::initializer_list<Redirection> redirections) {
  std::vector<char*> arguments;
  std::string name = "assay";
  arguments.push_back(name.data());
  std::vector<std::string> copies = words;
  for (auto& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  for (const auto& [from, to] : redirections) {
    ::posix_spawn_file_actions_adddup2(&actions, from, to);
  }
  pid_t child = -1;
  const int failed =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    fail_running("cannot start {}: {}", program.string(),
                 std::error_code(failed, std::generic_category()).message());
  }
  return child;
}

// Reaps the child on every exit path, so that none is left running.
class Child {
 public:
  explicit Child(pid_t number) : number_(number) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (number_ < 0) return;
    ::kill(number_, SIGKILL);
    wait();
  }

  // Keeps idle threads from spinning while the other process measures.
  void stop() const { ::kill(number_, SIGSTOP); }
  void go_on() const { ::kill(number_, SIGCONT); }

  int wait() {
    int status = 0;
    while (::waitpid(number_, &status, 0) < 0 && errno == EINTR) {
    }
    number_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t number_ = -1;
};

// True while the pipe has more.
bool take_some(Descriptor& from, std::string& into) {
  std::array<char, 65536> buffer;
  const auto count = ::read(from.number(), buffer.data(), buffer.size());
  if (count > 0) into.append(buffer.data(), static_cast<std::size_t>(count));
  if (count > 0 || (count < 0 && errno == EINTR)) return true;
  from.close();
  return false;
}

void refuse_when_cancelled(const Progress& progress) {
  if (progress.cancelled()) throw Error(ErrorKind::Cancelled, "interrupted");
}

}  // namespace

struct TurnTaker::Process {
  Pipe turns_in = make_pipe();
  Pipe turns_out = make_pipe();
  Pipe output = make_pipe();
  Pipe error_output = make_pipe();
  ChildResult result;
  const Progress& progress;
  Child child;

  Process(const std::filesystem::path& program, const std::vector<std::string>& words,
          const Progress& cancels)
      : progress(cancels),
        child(spawn(program, words,
                    {{turns_in.out.number(), kTurnsIn},
                     {output.in.number(), STDOUT_FILENO},
                     {error_output.in.number(), STDERR_FILENO},
                     {turns_out.in.number(), kTurnsOut}})) {
    for (Descriptor* end : {&turns_in.out, &turns_out.in, &output.in, &error_output.in}) {
      end->close();
    }
  }

  bool is_open() const { return output.out.number() >= 0 || error_output.out.number() >= 0; }

  bool turn_is_over() {
    std::string said;
    if (!take_some(turns_out.out, said)) return false;
    TurnMessage samples = 0;
    if (said.size() == sizeof samples) std::memcpy(&samples, said.data(), sizeof samples);
    if (samples > 0) result.samples_by_turn.push_back(samples);
    return true;
  }

  // Reads its output until it reports that it waits for a turn, or has closed all descriptors.
  void wait() {
    constexpr int kMillisecondsToWait = 100;  // a signal may come just before poll does
    while (is_open()) {
      refuse_when_cancelled(progress);
      std::array<pollfd, 3> watched = {{{output.out.number(), POLLIN, 0},
                                        {error_output.out.number(), POLLIN, 0},
                                        {turns_out.out.number(), POLLIN, 0}}};
      if (::poll(watched.data(), watched.size(), kMillisecondsToWait) <= 0) continue;
      if (watched[0].revents != 0) take_some(output.out, result.output);
      if (watched[1].revents != 0) take_some(error_output.out, result.error_output);
      if (watched[2].revents != 0 && turn_is_over()) return child.stop();
    }
    result.exit_code = child.wait();
    refuse_when_cancelled(progress);
  }
};

TurnTaker::TurnTaker(const std::filesystem::path& program, std::vector<std::string> words,
                     const Progress& progress) {
  refuse_when_cancelled(progress);
  ::signal(SIGPIPE, SIG_IGN);  // a killed process is detected by waitpid
  words.insert(words.end(), {"--turns", "0.025"});
  process_ = std::make_unique<Process>(program, words, progress);
}

TurnTaker::TurnTaker(TurnTaker&&) noexcept = default;
TurnTaker::~TurnTaker() = default;

bool TurnTaker::has_ended() const {
  return !process_->is_open();
}

void TurnTaker::wait_until_ready() {
  process_->wait();
}

void TurnTaker::take_turn() {
  if (has_ended()) return;
  process_->child.go_on();
  const TurnMessage go_on = 0;
  [[maybe_unused]] const auto written =
      ::write(process_->turns_in.in.number(), &go_on, sizeof go_on);
  process_->wait();
}

ChildResult TurnTaker::result() {
  return std::move(process_->result);
}

}  // namespace assay::compare
