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

std::string Operands::checked(NodeId node, const std::string& index, std::int64_t least,
                              std::int64_t length) {
  return fmt::format("checked({}, {}, {}, {}, {})", index, least, length, node.number,
                     pointer(lowering_.wrong_index()));
}

std::string Operands::index(NodeId node, const std::string& index, std::int64_t length) {
  return checked(node, index, -length, length);
}

std::string Operands::label(NodeId node, const std::string& label, std::int64_t labels) {
  return checked(node, label, 0, labels);
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
  for (std::size_t i = 0; i < reads_.size(); ++i) {
    const bool is_written = lowering_.is_wrong_index(reads_[i].buffer);
    list += fmt::format("{}{}* {}given{}, ", is_written ? "" : "const ",
                        stored_type(reads_[i].type), is_written ? "" : "__restrict__ ", i);
  }
  return list;
}

}  // namespace assay::cuda
