// QLinearConcat: parts are copied, or looked up in a table where their scale differs.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "execute/cpu/lower/byte_table.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/simd/byte_table.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

struct Part8 {
  ValueId value;
  Scale8 scale;
};

std::optional<std::vector<Part8>> parts_of(const Lowering& lowering, const Node& node) {
  std::vector<Part8> parts;
  for (std::size_t i = 2; i + 2 < node.inputs.size(); i += 3) {
    if (!is_8_bit(lowering, node.inputs[i])) return {};
    const auto scale = scale8_of(lowering, node.inputs[i + 1], node.inputs[i + 2],
                                 type_of(lowering, node.inputs[i]));
    if (!scale) return {};
    parts.push_back({node.inputs[i], *scale});
  }
  return parts;
}

bool are_alike(const Scale8& a, const Scale8& b) {
  return a.scale == b.scale && a.zero_point == b.zero_point && a.is_signed == b.is_signed;
}

ByteTable conversion(const Scale8& from, const Scale8& to) {
  ByteTable bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  std::array<float, 256> numbers;
  simd().dequantize(bytes.data(), from, numbers.data(), numbers.size());
  simd().quantize(numbers.data(), to, bytes.data(), numbers.size());
  return bytes;
}

// Rows of the result and the stretch of each that a part fills.
struct PartCopy {
  Placement from;
  std::int64_t width = 0;
  std::int64_t at = 0;
  std::optional<ByteTable> table;
};

Binder concat_binder(const std::vector<PartCopy>& parts, const Placement& result, std::int64_t rows,
                     int threads) {
  return [=](const Addresses& at) -> Runner {
    auto* to = reinterpret_cast<std::uint8_t*>(at.bytes(result));
    std::vector<const std::uint8_t*> from;
    std::int64_t stride = 0;
    for (const PartCopy& part : parts) {
      from.push_back(reinterpret_cast<const std::uint8_t*>(at.bytes(part.from)));
      stride += part.width;
    }
    return [=] {
      execute::in_parallel(threads, rows, [&](std::int64_t first, std::int64_t last) {
        for (std::size_t i = 0; i < parts.size(); ++i) {
          const auto width = static_cast<std::size_t>(parts[i].width);
          for (std::int64_t row = first; row < last; ++row) {
            const std::uint8_t* source = from[i] + row * parts[i].width;
            std::uint8_t* target = to + row * stride + parts[i].at;
            if (parts[i].table) {
              look_up(parts[i].table->data(), source, target, width);
            } else {
              std::memcpy(target, source, width);
            }
          }
        }
      });
    };
  };
}

bool lower_quantized_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const ValueId value = node.outputs[0];
  const Dims whole = lowering.dims(value);
  const auto to = scale8_of(lowering, node.inputs[0], node.inputs[1], type_of(lowering, value));
  const auto parts = parts_of(lowering, node);
  const auto axis = axis_of(node.int_or("axis", 1), whole.size());
  if (!to || !parts || !axis || checked_product(whole).value_or(0) == 0) return false;
  const bool is_image = *axis == 1 && std::ranges::all_of(*parts, [&](const Part8& part) {
    return is_dense_image(lowering.native(part.value));
  });
  std::vector<PartCopy> copies;
  StepDraft draft{.nodes = {id}, .algorithm = "copy", .precision = "int8"};
  std::int64_t at = 0;
  for (const Part8& part : *parts) {
    const Placement from = is_image ? lowering.native(part.value) : lowering.row_major(part.value);
    PartCopy copy{.from = from, .at = at, .table = {}};
    copy.width =
        is_image ? from.dims[1] : checked_product(std::span(from.dims).subspan(*axis)).value_or(0);
    if (!are_alike(part.scale, *to)) copy.table = conversion(part.scale, *to);
    at += copy.width;
    draft.reads.push_back(from);
    copies.push_back(std::move(copy));
  }
  const Placement result = new_dense(lowering, is_image, whole, type_of(lowering, value));
  draft.writes.push_back(result);
  lowering.add_step(draft, concat_binder(copies, result, result.elements() / at,
                                         threads_for_bytes(lowering, result.elements())));
  lowering.set_placement(value, result);
  return true;
}

}  // namespace

void add_quantized_concat_lowering(LowerTable& table) {
  table["com.microsoft.QLinearConcat"] = lower_quantized_concat;
}

}  // namespace assay::cpu
