#include <algorithm>
#include <tuple>

#include "infer/operators/signature.h"

namespace assay::infer {

namespace {

constexpr Signature kOnnxSignatures[] = {
#include "infer/operators/onnx_signatures.inc"
};

auto key_of(const Signature& signature) {
  return std::tuple(signature.domain, signature.op);
}

std::span<const Signature> versions_in(std::span<const Signature> table, std::string_view domain,
                                       std::string_view op) {
  const auto [first, last] = std::ranges::equal_range(table, std::tuple(domain, op), {}, key_of);
  return {first, last};
}

const Signature* newest_until(std::span<const Signature> versions, std::int64_t opset) {
  const Signature* newest = nullptr;
  for (const Signature& version : versions) {
    if (version.since <= opset) newest = &version;
  }
  return newest;
}

}  // namespace

std::span<const Signature> onnx_signatures() {
  return kOnnxSignatures;
}

const Signature* find_signature(const Node& node, std::int64_t opset) {
  const std::string_view domain = node.domain == "ai.onnx" ? "" : std::string_view(node.domain);
  const auto others = versions_in(other_signatures(), domain, node.op);
  const auto standard = versions_in(onnx_signatures(), domain, node.op);
  if (const Signature* found = newest_until(others, opset)) return found;
  if (const Signature* found = newest_until(standard, opset)) return found;
  if (!standard.empty()) return &standard.front();
  return others.empty() ? nullptr : &others.front();
}

}  // namespace assay::infer
