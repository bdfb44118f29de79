// What a kernel of our own reads: its parameters are declared while its text is written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "execute/cuda/lowering.h"

namespace assay::cuda {

class Operands {
 public:
  explicit Operands(Lowering& lowering) : lowering_(lowering) {}

  // The name of the parameter that points to what `placement` says.
  std::string pointer(const Placement& placement);
  // The element at these coordinates, in the type it is computed in.
  std::string element(const Placement& placement, std::span<const std::string> at);
  // An index along an axis, counted from its end if it is negative. A wrong one is kept inside, and
  // makes the run fail when its results are asked for.
  std::string index(NodeId node, const std::string& index, std::int64_t length);
  // One of so many labels.
  std::string label(NodeId node, const std::string& label, std::int64_t labels);
  // The only element of a value as a double or a long long: the number itself where it is known.
  std::string real(ValueId id);
  std::string whole(ValueId id);

  const std::vector<Placement>& reads() const { return reads_; }
  // "const float* __restrict__ given0, "
  std::string parameters() const;

 private:
  std::string checked(NodeId node, const std::string& index, std::int64_t least,
                      std::int64_t length);

  Lowering& lowering_;
  std::vector<Placement> reads_;
};

}  // namespace assay::cuda
