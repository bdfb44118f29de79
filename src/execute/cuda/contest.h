// Steps that can be computed in several ways, of which the fastest on this device is taken.
//
// Kernels of our own can be timed once they are compiled, so steps are entered while the graph is
// lowered and decided afterwards; one whose answer the tuning file knows is decided at once. All
// candidates of a step run in turns on the same random numbers, each captured as a graph, as in the
// program; one that computes something else than our own kernel, or fails, is left out.
#pragma once

#include <string>
#include <vector>

#include "assay/progress.h"
#include "execute/cuda/candidate.h"
#include "execute/tuning_file.h"

namespace assay::cuda {

class Lowering;

class Contests {
 public:
  Contests(const ProgramOptions& options, const gpu::Device& device);

  // Adds a step of the draft, which the fastest candidate will compute. The first candidate is our
  // own; `question` names everything that the answer depends on beside the candidates.
  void enter(Lowering& lowering, const StepDraft& draft, const std::string& question,
             std::vector<Candidate> candidates);
  // Once kernels are compiled. What was measured is kept in the tuning file.
  void decide(Lowering& lowering, Progress* progress);

 private:
  struct Contest {
    std::size_t step = 0;
    std::string question;
    std::vector<Candidate> candidates;
    std::vector<Placement> reads;
    std::vector<Placement> writes;
  };

  const Candidate* known(const std::string& question, const std::vector<Candidate>& candidates);
  void describe(const Contest& contest, const Candidate& winner, StepInfo& step) const;
  void settle(Lowering& lowering, const Contest& contest, const Candidate& winner,
              const Prepared& prepared, const std::string& fell_back);
  void hold(Lowering& lowering, const Contest& contest);

  bool measures_ = true;
  execute::TuningFile known_;
  std::vector<Contest> open_;
};

}  // namespace assay::cuda
