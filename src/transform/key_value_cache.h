// A decoder that takes past keys and values and gives present ones (past with the new tokens'
// appended), turned into one that keeps them as state: caches of a fixed capacity, into which each
// run writes its tokens' rows, and of which attention reads only what is filled.
#pragma once

#include <cstdint>
#include <string>

#include "assay/graph.h"

namespace assay::transform {

struct CacheSizes {
  std::int64_t capacity = 0;  // tokens that the caches hold
  std::int64_t tokens = 1;    // new ones in each run
};

// Whether the graph has inputs named like past keys and values ("past_key_values.0.key").
bool takes_past(const Graph& graph);

struct CachedDecoder {
  Graph graph;           // for one sample; its caches are carried from run to run
  std::string ids;       // input [1, tokens]
  std::string position;  // input [1]: how many tokens are in the caches before the run
  std::string logits;    // the output that is not a cache
};

// Throws an Error that names what it does not recognise: attention must read all tokens so far,
// each token those before it and itself.
CachedDecoder with_key_value_cache(const Graph& graph, const CacheSizes& sizes);

}  // namespace assay::transform
