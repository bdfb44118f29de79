// Ops that only move elements: Concat, Pad and SliceGradient.
#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "execute/cpu/lower/growing_concat.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Several copies, one step.
void add_copies(Lowering& lowering, NodeId id,
                const std::vector<std::pair<Placement, Placement>>& copies) {
  std::vector<Binder> binders;
  StepDraft draft{.nodes = {id}, .algorithm = "copy"};
  for (const auto& [from, to] : copies) {
    draft.reads.push_back(from);
    draft.writes.push_back(to);
    binders.push_back(copy_binder(lowering, from, to));
  }
  lowering.add_step(draft, [binders](const Addresses& at) -> Runner {
    std::vector<Runner> runners;
    for (const Binder& bind : binders) runners.push_back(bind(at));
    return [runners] {
      for (const Runner& run : runners) run();
    };
  });
}

// Blocks of channels lie one after another: joining channels joins stretches of memory.
bool lower_blocked_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims whole = lowering.dims(node.outputs[0]);
  if (whole.size() != 4 || !lowering.is_real(node.outputs[0])) return false;
  const DataType type = lowering.type(node.outputs[0]);
  for (const std::int64_t block : {16, 8}) {
    const auto fits = [&](ValueId input) {
      const Dims dims = lowering.dims(input);
      const Placement placement = lowering.native(input);
      return placement.blocked && dims[1] % block == 0 &&
             *placement.blocked == image_desc(dims, block, type);
    };
    if (!std::ranges::all_of(node.inputs, fits)) continue;
    const Placement result = lowering.new_placement(image_desc(whole, block, type), whole);
    const std::int64_t pixels = whole[2] * whole[3];
    const auto as_rows = [&](const Placement& placement, std::int64_t channels) {
      Placement rows = row_major_placement(placement.buffer, type, {whole[0], channels * pixels});
      rows.offset = placement.offset;
      return rows;
    };
    std::vector<std::pair<Placement, Placement>> copies;
    std::int64_t first = 0;
    for (const ValueId input : node.inputs) {
      const Placement from = lowering.native(input);
      const Placement to =
          sliced(as_rows(result, whole[1]), 1, first * pixels, 1, from.dims[1] * pixels);
      copies.emplace_back(as_rows(from, from.dims[1]), to);
      first += from.dims[1];
    }
    add_copies(lowering, id, copies);
    lowering.set_placement(node.outputs[0], result);
    return true;
  }
  return false;
}

bool is_convolved(const Lowering& lowering, ValueId value) {
  return std::ranges::any_of(lowering.readers(value),
                             [&](NodeId reader) { return lowering.node(reader).is("Conv"); });
}

// Pixels with all their channels side by side: rows of channels are joined. Where only some inputs
// lie so, the others are brought into that layout: results of convolutions because it is most
// likely another convolution that reads the whole, which the plain layout would cost a reorder;
// plain ones where a convolution does read it.
bool lower_channels_last_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims whole = lowering.dims(node.outputs[0]);
  if (whole.size() < 3 || whole.size() > 5 || !lowering.is_real(node.outputs[0])) return false;
  const DataType type = lowering.type(node.outputs[0]);
  const auto channels_last = [&](ValueId input) {
    return image_desc(lowering.dims(input), 0, type);
  };
  const auto fits = [&](ValueId input) {
    const Placement placement = lowering.native(input);
    return placement.blocked && *placement.blocked == channels_last(input);
  };
  const bool may_be_plain = is_convolved(lowering, node.outputs[0]);
  const auto can_be_brought = [&](ValueId input) {
    return (may_be_plain || lowering.native(input).blocked) && lowering.type(input) == type;
  };
  if (std::ranges::none_of(node.inputs, fits) || !std::ranges::all_of(node.inputs, can_be_brought))
    return false;
  const JoinedPixels joined = place_joined_pixels(lowering, id);
  const std::int64_t distance = pixel_distance(joined.result).value_or(whole[1]);
  const auto as_pixels = [&](const Placement& placement, std::int64_t channels, std::int64_t step) {
    Placement rows =
        row_major_placement(placement.buffer, type, {placement.elements() / channels, channels});
    rows.strides[0] = step;
    rows.offset = placement.offset;
    return rows;
  };
  std::vector<std::pair<Placement, Placement>> copies;
  std::int64_t first = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::int64_t channels = lowering.dims(node.inputs[i])[1];
    if (i >= joined.inputs_there) {
      const Placement from = lowering.in_layout(node.inputs[i], channels_last(node.inputs[i]));
      copies.emplace_back(
          as_pixels(from, channels, channels),
          sliced(as_pixels(joined.result, whole[1], distance), 1, first, 1, channels));
    }
    first += channels;
  }
  add_copies(lowering, id, copies);
  lowering.set_placement(node.outputs[0], joined.result);
  return true;
}

bool lower_concat(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims whole = lowering.dims(node.outputs[0]);
  const auto axis = axis_of(node.int_or("axis", 1), whole.size());
  if (!axis || checked_product(whole).value_or(0) == 0) return false;
  if (*axis == 1 &&
      (lower_blocked_concat(lowering, id) || lower_channels_last_concat(lowering, id)))
    return true;
  std::vector<Placement> sources;
  for (const ValueId input : node.inputs) sources.push_back(lowering.strided(input));
  const Placement result = lowering.new_row_major(node.outputs[0]);
  std::vector<std::pair<Placement, Placement>> copies;
  std::int64_t first = 0;
  for (const Placement& source : sources) {
    const std::int64_t count = source.dims[*axis];
    if (source.elements() > 0) copies.emplace_back(source, sliced(result, *axis, first, 1, count));
    first += count;
  }
  add_copies(lowering, id, copies);
  lowering.set_placement(node.outputs[0], result);
  return true;
}

Binder fill_binder(const Placement& placement, float number) {
  return [=](const Addresses& at) -> Runner {
    std::byte* to = at.bytes(placement);
    const auto count = static_cast<std::size_t>(placement.elements());
    const auto half = half_format(placement.type);
    if (!half) return [=] { std::fill_n(reinterpret_cast<float*>(to), count, number); };
    std::uint16_t rounded = 0;
    simd().narrow(*half, &number, &rounded, 1);
    return [=] { std::fill_n(reinterpret_cast<std::uint16_t*>(to), count, rounded); };
  };
}

bool lower_constant_pad(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.string_or("mode", "constant") != "constant" || !lowering.is_real(node.inputs[0]))
    return false;
  const auto pads = ints_of(lowering, node, "pads", 1);
  const Dims dims = lowering.dims(node.inputs[0]);
  if (!pads || node.has_input(3) || pads->size() != 2 * dims.size()) return false;
  if (std::ranges::any_of(*pads, [](std::int64_t pad) { return pad < 0; })) return false;
  float number = node.float_or("value", 0.0f);
  if (node.has_input(2)) {
    const auto given = lowering.number(node.inputs[2]);
    if (!given) return false;
    number = static_cast<float>(*given);
  }
  const Placement source = lowering.strided(node.inputs[0]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  if (source.elements() == 0) return false;
  Placement inside = result;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    inside = sliced(inside, axis, (*pads)[axis], 1, dims[axis]);
  }
  const Binder fill = fill_binder(result, number);
  const Binder copy = copy_binder(lowering, source, inside);
  lowering.add_step({.nodes = {id}, .algorithm = "copy", .reads = {source}, .writes = {result}},
                    [=](const Addresses& at) -> Runner {
                      return [fill = fill(at), copy = copy(at)] {
                        fill();
                        copy();
                      };
                    });
  lowering.set_placement(node.outputs[0], result);
  return true;
}

bool lower_pad(Lowering& lowering, NodeId id) {
  return lower_constant_pad(lowering, id) || lower_pad_directly(lowering, id);
}

// The part of `whole` that a slice took, if it lies inside and goes forward.
std::optional<Placement> part_taken(const Node& node, const Placement& whole, const Dims& taken) {
  const Dims starts = node.ints_or("starts", {});
  const Dims steps = node.ints_or("steps", {});
  if (starts.size() != whole.dims.size() || steps.size() != starts.size()) return {};
  if (taken.size() != starts.size()) return {};
  Placement part = whole;
  for (std::size_t axis = 0; axis < taken.size(); ++axis) {
    const bool is_forward = starts[axis] >= 0 && steps[axis] > 0 && taken[axis] > 0;
    if (!is_forward || starts[axis] >= whole.dims[axis]) return {};
    if (taken[axis] - 1 > (whole.dims[axis] - 1 - starts[axis]) / steps[axis]) return {};
    part = sliced(part, axis, starts[axis], steps[axis], taken[axis]);
  }
  return part;
}

bool lower_slice_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0])) return false;
  const Dims taken = lowering.dims(node.inputs[0]);
  const Placement whole = lowering.new_row_major(node.outputs[0]);
  const auto part = part_taken(node, whole, taken);
  if (!part) return false;
  const Placement gradient = lowering.strided(node.inputs[0]);
  const Binder copy = copy_binder(lowering, gradient, *part);
  lowering.add_step({.nodes = {id}, .algorithm = "copy", .reads = {gradient}, .writes = {whole}},
                    [=](const Addresses& at) -> Runner {
                      const Runner run = copy(at);
                      std::byte* to = at.bytes(whole);
                      return [=, bytes = static_cast<std::size_t>(whole.bytes())] {
                        std::memset(to, 0, bytes);
                        run();
                      };
                    });
  lowering.set_placement(node.outputs[0], whole);
  return true;
}

}  // namespace

void add_movement_lowering(LowerTable& table) {
  table["assay.SliceGradient"] = lower_slice_gradient;
  table["Concat"] = lower_concat;
  table["Pad"] = lower_pad;
}

}  // namespace assay::cpu
