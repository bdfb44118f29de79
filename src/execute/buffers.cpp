#include "execute/buffers.h"

namespace assay::execute {

BufferId Buffers::add(std::int64_t bytes) {
  return add_fixed(bytes, nullptr);
}

BufferId Buffers::add_fixed(std::int64_t bytes, std::byte* address) {
  all_.push_back({.bytes = bytes, .fixed = address});
  return BufferId{static_cast<std::uint32_t>(all_.size() - 1)};
}

}  // namespace assay::execute
