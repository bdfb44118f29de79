#include "execute/cuda/operands.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

std::string Operands::pointer(const Placement& placement) {
  const auto found = std::ranges::find_if(reads_, [&](const Placement& read) {
    return read.buffer == placement.buffer && read.offset == placement.offset &&
           read.type == placement.type && read.dims == placement.dims &&
           read.strides == placement.strides;
  });
  const auto at = found - reads_.begin();
  if (found == reads_.end()) reads_.push_back(placement);
  return fmt::format("given{}", at);
}

std::string Operands::element(const Placement& placement, std::span<const std::string> at) {
  return loaded(placement.type,
                fmt::format("{}[{}]", pointer(placement), offset_text(placement, at)));
}

std::string Operands::real(ValueId id) {
  if (const auto number = lowering_.number(id)) return number_text(*number, "double");
  const Placement native = lowering_.native(id);
  return fmt::format("(double){}", loaded(native.type, pointer(native) + "[0]"));
}

std::string Operands::whole(ValueId id) {
  if (const auto number = lowering_.number(id)) return number_text(*number, "long long");
  const Placement native = lowering_.native(id);
  return fmt::format("(long long){}", loaded(native.type, pointer(native) + "[0]"));
}

std::string Operands::parameters() const {
  std::string list;
  for (std::size_t i = 0; i < reads_.size(); ++i)
    list += fmt::format("const {}* __restrict__ given{}, ", stored_type(reads_[i].type), i);
  return list;
}

}  // namespace assay::cuda
