// The buffers that values live in: stretches of the arena, which get addresses once all steps are
// known, and weights, which have theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "assay/graph.h"

namespace assay::execute {

using BufferId = Index<struct BufferTag>;

struct BufferInfo {
  std::int64_t bytes = 0;
  std::byte* fixed = nullptr;        // a weight's address; null: part of the arena
  std::vector<ValueId> values = {};  // that live there, the first one first
};

class Buffers {
 public:
  BufferId add(std::int64_t bytes);
  // A buffer for the weight that lies at `address`.
  BufferId add_fixed(std::int64_t bytes, std::byte* address);
  void add_value(BufferId buffer, ValueId value) { at(buffer).values.push_back(value); }

  const BufferInfo& operator[](BufferId id) const { return all_[id.number]; }
  bool is_fixed(BufferId id) const { return all_[id.number].fixed != nullptr; }
  const std::vector<BufferInfo>& all() const { return all_; }

 private:
  BufferInfo& at(BufferId id) { return all_[id.number]; }

  std::vector<BufferInfo> all_;
};

}  // namespace assay::execute
