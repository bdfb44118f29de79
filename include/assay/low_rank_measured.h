// Low-rank factorisation where it is faster on this machine.
#pragma once

#include <cstddef>
#include <vector>

#include "assay/bind.h"
#include "assay/low_rank.h"
#include "assay/program.h"

namespace assay {

struct LowRankTiming {
  double worth = 0.03;    // a layer has to become faster by this share
  std::size_t runs = 15;  // of the model and of the factorised one, in turns; medians count
  Bindings bindings = {};
  ProgramOptions program = {};
};

struct TimedLowRankLayer {
  LowRankLayer layer;  // factorised only if it became faster
  double original_ms = 0;
  double factorised_ms = 0;
};

struct MeasuredLowRank {
  Graph graph;
  std::vector<TimedLowRankLayer> layers;
};

// Times every layer that factorize_linear_layers would factorise, as it was and as two, and
// factorises those that become faster.
MeasuredLowRank factorize_where_faster(const Graph& model, const LowRankOptions& options = {},
                                       const LowRankTiming& timing = {});

}  // namespace assay
