// Runs the command line in a fresh process and collects its output and exit status.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "assay/progress.h"

namespace assay::compare {

struct ChildResult {
  int exit_code = 0;
  std::string output;
  std::string error_output;                       // its stderr
  std::vector<std::size_t> samples_by_turn = {};  // total after each turn that measured
};

// `PROGRAM WORDS… --turns SECONDS`: runs only during its turns (base/turn_message.h). If `progress`
// cancels, any waiting function throws an Error of kind Cancelled; the process never outlives this
// object.
class TurnTaker {
 public:
  TurnTaker(const std::filesystem::path& program, std::vector<std::string> words,
            const Progress& progress);
  TurnTaker(TurnTaker&&) noexcept;
  ~TurnTaker();

  void wait_until_ready();  // returns when it is ready to measure, or has ended
  void take_turn();         // returns when the turn is over, or the process has ended
  bool has_ended() const;
  ChildResult result();  // of a process that has ended

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace assay::compare
