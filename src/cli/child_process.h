// This same program in a fresh process: what it printed and how it ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

namespace assay::cli {

struct ChildResult {
  int exit_code = 0;
  std::string output;
  std::string complaints;                         // its stderr
  std::vector<std::size_t> samples_by_turn = {};  // taken when each turn that measured was over
};

// `assay WORDS… --turns SECONDS`: works only while it has the turn, see turns.h. Ctrl-C throws an
// Error of kind Cancelled from whatever waits; the process never outlives this.
class TurnTaker {
 public:
  explicit TurnTaker(std::vector<std::string> words);
  TurnTaker(TurnTaker&&) noexcept;
  ~TurnTaker();

  void wait_until_ready();  // returns once it could measure, or has ended
  void take_turn();         // returns when the turn is over, or the process has ended
  bool has_ended() const;
  ChildResult result();  // of a process that has ended

 private:
  struct Process;
  std::unique_ptr<Process> process_;
};

}  // namespace assay::cli
