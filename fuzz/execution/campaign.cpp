#include "execution/campaign.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <new>

#include "assay/error.h"
#include "assay/onnx.h"
#include "base/fail.h"
#include "execution/attempt.h"
#include "execution/limits.h"
#include "execution/mutate.h"

namespace assay::fuzz {

namespace {

constexpr std::uint64_t kBatch = 500;  // mutants a child tries before another takes its place

// What a child tells the parent as it goes, in memory that both see.
struct Progress {
  std::atomic<std::uint64_t> next = 0;  // the mutant being tried
  std::atomic<Stage> stage = Stage::Infer;
  std::atomic<std::uint64_t> outcomes[3] = {};  // by Outcome
};

class SharedProgress {
 public:
  SharedProgress() {
    void* memory =
        mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) fail_running("no memory to share with the workers");
    progress_ = new (memory) Progress;
  }
  ~SharedProgress() { munmap(progress_, sizeof(Progress)); }
  SharedProgress(const SharedProgress&) = delete;
  SharedProgress& operator=(const SharedProgress&) = delete;
  Progress* operator->() const { return progress_; }

 private:
  Progress* progress_;
};

struct Worker {
  SharedProgress progress = {};
  std::uint64_t end = 0;  // of its batch
  std::filesystem::path log = {};
};

class Campaign {
 public:
  Campaign(const std::vector<Seed>& seeds, const CampaignOptions& options)
      : seeds_(seeds), donors_(seeds), options_(options), next_(options.first) {}

  Counts run() {
    std::filesystem::create_directories(options_.findings);
    std::vector<Worker> workers(static_cast<std::size_t>(options_.workers));
    for (std::size_t i = 0; i < workers.size(); ++i) {
      workers[i].log = options_.findings / fmt::format("worker{}.log", i);
      start_batch(workers[i]);
    }
    while (!running_.empty()) wait_for_one();
    for (const Worker& worker : workers) {
      for (std::size_t i = 0; i < 3; ++i)
        *count_of(static_cast<Outcome>(i)) += worker.progress->outcomes[i];
      std::filesystem::remove(worker.log);
    }
    return counts_;
  }

 private:
  std::uint64_t* count_of(Outcome outcome) {
    if (outcome == Outcome::Refused) return &counts_.refused;
    return outcome == Outcome::TooLarge ? &counts_.too_large : &counts_.ran;
  }

  void start_batch(Worker& worker) {
    const std::uint64_t last = options_.first + options_.mutants;
    if (next_ >= last) return;
    worker.progress->next = next_;
    worker.end = next_ = std::min(next_ + kBatch, last);
    start(worker);
  }

  void start(Worker& worker) {
    const pid_t child = fork();
    if (child < 0) fail_running("no worker could be started: {}", std::strerror(errno));
    if (child == 0) be_child(worker);
    running_[child] = &worker;
  }

  [[noreturn]] void be_child(Worker& worker) {
    const int log = open(worker.log.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0644);
    dup2(log, STDERR_FILENO);
    install_limits();
    for (; worker.progress->next < worker.end; ++worker.progress->next) try_one(worker);
    _exit(0);
  }

  void try_one(Worker& worker) {
    start_watch();
    try {
      const std::uint64_t number = worker.progress->next;
      RandomNumbers random(options_.seed ^ (number << 20), "attempt");
      const Graph graph = mutant(number);
      const Outcome outcome = attempt(graph, random, worker.progress->stage);
      ++worker.progress->outcomes[static_cast<std::size_t>(outcome)];
    } catch (const std::exception& error) {
      fmt::print(stderr, "threw {}\n", error.what());
      _exit(kUnexpectedException);
    }
  }

  Graph mutant(std::uint64_t number) const {
    RandomNumbers random(options_.seed ^ (number << 20), "mutant");
    const Seed& seed = seeds_[random.below(seeds_.size())];
    return mutated(seed.graph, donors_, random);
  }

  void wait_for_one() {
    int status = 0;
    const pid_t child = wait(&status);
    Worker& worker = *running_.at(child);
    running_.erase(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return start_batch(worker);
    record(worker, status);
    if (++worker.progress->next < worker.end) return start(worker);
    start_batch(worker);
  }

  void record(const Worker& worker, int status) {
    const std::uint64_t number = worker.progress->next;
    const bool hung = WIFEXITED(status) && WEXITSTATUS(status) == kHung;
    ++(hung ? counts_.hung : counts_.crashed);
    const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                                : fmt::format("exit {}", WEXITSTATUS(status));
    fmt::print(stderr, "mutant {}: {} in {}\n", number, how, name(worker.progress->stage.load()));
    std::filesystem::copy_file(worker.log, options_.findings / fmt::format("{}.txt", number),
                               std::filesystem::copy_options::overwrite_existing);
    try {
      write_onnx(mutant(number), options_.findings / fmt::format("{}.onnx", number));
    } catch (const Error& error) {
      fmt::print(stderr, "  not written: {}\n", error.what());
    }
  }

  const std::vector<Seed>& seeds_;
  Donors donors_;
  const CampaignOptions& options_;
  std::uint64_t next_ = 0;
  std::map<pid_t, Worker*> running_;
  Counts counts_;
};

}  // namespace

Counts run_campaign(const std::vector<Seed>& seeds, const CampaignOptions& options) {
  return Campaign(seeds, options).run();
}

}  // namespace assay::fuzz
