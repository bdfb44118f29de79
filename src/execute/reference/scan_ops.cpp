// Scan: a body run over slices of tensors while it carries states. Since opset 9 every scanned
// tensor has an axis and a direction of its own; in opset 8 the first axis is a batch, every sample
// of which is scanned for itself.
#include <algorithm>

#include "execute/reference/stacking.h"
#include "execute/reference/value_ops.h"
#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::reference {

using kernels::evaluate;
using kernels::normalized_axis;

namespace {

struct ScanLane {
  std::int64_t axis = 0;
  bool is_reversed = false;
};

struct ScanSettings {
  const Graph& body;
  std::size_t states = 0;
  std::vector<ScanLane> inputs = {};
  std::vector<ScanLane> outputs = {};
};

std::vector<ScanLane> lanes(const ValueCall& call, std::size_t count, const char* axes_name,
                            const char* directions_name) {
  const Dims axes = call.node.ints_or(axes_name, Dims(count, 0));
  const Dims directions = call.node.ints_or(directions_name, Dims(count, 0));
  if (axes.size() != count || directions.size() != count)
    call.fail("{} and {} need {} numbers each", axes_name, directions_name, count);
  std::vector<ScanLane> result;
  for (std::size_t i = 0; i < count; ++i) result.push_back({axes[i], directions[i] != 0});
  return result;
}

// `given` is how many states and scanned inputs the node has.
ScanSettings settings_of(const ValueCall& call, std::size_t given, bool has_batches) {
  ScanSettings scan{.body = call.body("body")};
  const std::int64_t scanned = call.node.int_or("num_scan_inputs", 0);
  const bool fits = scanned > 0 && static_cast<std::size_t>(scanned) <= given &&
                    scan.body.inputs().size() == given;
  if (!fits) {
    call.fail("scans {} of {} inputs, its body takes {}", scanned, given,
              scan.body.inputs().size());
  }
  scan.states = given - static_cast<std::size_t>(scanned);
  if (scan.body.outputs().size() < scan.states)
    call.fail("carries {} states, its body gives {}", scan.states, scan.body.outputs().size());
  const auto count = static_cast<std::size_t>(scanned);
  const std::size_t outputs = scan.body.outputs().size() - scan.states;
  if (has_batches) {
    scan.inputs = lanes(call, count, "", "directions");
    scan.outputs.resize(outputs);
  } else {
    scan.inputs = lanes(call, count, "scan_input_axes", "scan_input_directions");
    scan.outputs = lanes(call, outputs, "scan_output_axes", "scan_output_directions");
  }
  return scan;
}

const Tensor& tensor_of(const ValueCall& call, const RuntimeValue& value) {
  if (value.tensor() == nullptr) call.fail("scans tensors only");
  return *value.tensor();
}

std::int64_t length_of(const ValueCall& call, const ScanSettings& scan,
                       std::span<const RuntimeValue> inputs) {
  std::optional<std::int64_t> length;
  for (std::size_t i = 0; i < scan.inputs.size(); ++i) {
    const Dims& dims = tensor_of(call, inputs[scan.states + i]).dims();
    const auto axis = normalized_axis(scan.inputs[i].axis, dims.size());
    if (!axis) call.fail("scan axis {} is out of range", scan.inputs[i].axis);
    if (length && *length != dims[*axis])
      call.fail("scanned inputs have {} and {} slices", *length, dims[*axis]);
    length = dims[*axis];
  }
  return length.value_or(0);
}

struct Scanned {
  std::vector<RuntimeValue> states;
  std::vector<std::vector<Tensor>> slices;  // by scanned output
};

// Runs the body for `rounds` slices of inputs that are `length` long.
Scanned scan_rounds(const ValueCall& call, const ScanSettings& scan,
                    std::span<const RuntimeValue> inputs, std::int64_t length,
                    std::int64_t rounds) {
  Scanned result;
  result.states.assign(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(scan.states));
  result.slices.resize(scan.outputs.size());
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<RuntimeValue> given = std::move(result.states);
    for (std::size_t i = 0; i < scan.inputs.size(); ++i) {
      const ScanLane& lane = scan.inputs[i];
      const std::int64_t at = lane.is_reversed ? length - 1 - round : round;
      given.emplace_back(slice_at(call, tensor_of(call, inputs[scan.states + i]), lane.axis, at));
    }
    auto outputs = call.run_body(scan.body, std::move(given));
    for (std::size_t i = 0; i < scan.outputs.size(); ++i) {
      result.slices[i].push_back(tensor_of(call, outputs[scan.states + i]));
    }
    outputs.resize(scan.states);
    result.states = std::move(outputs);
  }
  return result;
}

Tensor stacked_output(const ValueCall& call, const ScanSettings& scan, std::vector<Tensor> slices,
                      std::size_t i) {
  if (slices.empty()) {
    return empty_stack(call, scan.body.value(scan.body.outputs()[scan.states + i]).type);
  }
  if (scan.outputs[i].is_reversed) std::ranges::reverse(slices);
  return stacked(call, std::move(slices), scan.outputs[i].axis);
}

std::vector<RuntimeValue> scan_once(const ValueCall& call) {
  const ScanSettings scan = settings_of(call, call.inputs.size(), false);
  const std::int64_t length = length_of(call, scan, call.inputs);
  Scanned scanned = scan_rounds(call, scan, call.inputs, length, length);
  std::vector<RuntimeValue> results = std::move(scanned.states);
  for (std::size_t i = 0; i < scanned.slices.size(); ++i) {
    results.emplace_back(stacked_output(call, scan, std::move(scanned.slices[i]), i));
  }
  return results;
}

// A sample shorter than the others ends in zeros.
Tensor padded(const Tensor& tensor, std::int64_t length) {
  std::vector<std::int64_t> pads(2 * tensor.dims().size(), 0);
  pads[tensor.dims().size()] = length - tensor.dims()[0];
  const Node node{.name = "", .op = "Pad", .domain = "", .attributes = {{"pads", pads}}};
  return evaluate(node, std::span(&tensor, 1), 10).front();
}

std::int64_t rounds_of(const ValueCall& call, std::int64_t sample, std::int64_t length) {
  if (!call.has(0)) return length;
  const auto lengths = call.tensor(0).to_int64();
  const auto at = static_cast<std::size_t>(sample);
  if (at >= lengths.size() || lengths[at] < 0 || lengths[at] > length)
    call.fail("sequence_lens do not fit a sequence of {}", length);
  return lengths[at];
}

std::vector<RuntimeValue> slices_of_sample(const ValueCall& call,
                                           std::span<const RuntimeValue> inputs,
                                           std::int64_t sample) {
  std::vector<RuntimeValue> slices;
  for (const RuntimeValue& input : inputs) {
    slices.emplace_back(slice_at(call, tensor_of(call, input), 0, sample));
  }
  return slices;
}

std::int64_t batch_of(const ValueCall& call, std::span<const RuntimeValue> inputs) {
  const Tensor& first = tensor_of(call, inputs.front());
  if (first.dims().empty() || first.dims()[0] == 0) call.fail("has no batch to scan");
  return first.dims()[0];
}

std::vector<RuntimeValue> scan_batches(const ValueCall& call) {
  if (call.inputs.size() < 2) call.fail("has {} inputs, needs 2 at least", call.inputs.size());
  const auto inputs = call.inputs.subspan(1);
  const ScanSettings scan = settings_of(call, inputs.size(), true);
  std::vector<std::vector<Tensor>> samples(scan.body.outputs().size());
  for (std::int64_t sample = 0, batch = batch_of(call, inputs); sample < batch; ++sample) {
    const auto own = slices_of_sample(call, inputs, sample);
    const std::int64_t length = length_of(call, scan, own);
    Scanned scanned = scan_rounds(call, scan, own, length, rounds_of(call, sample, length));
    for (std::size_t i = 0; i < scan.states; ++i) {
      samples[i].push_back(tensor_of(call, scanned.states[i]));
    }
    for (std::size_t i = 0; i < scanned.slices.size(); ++i) {
      samples[scan.states + i].push_back(
          padded(stacked_output(call, scan, std::move(scanned.slices[i]), i), length));
    }
  }
  std::vector<RuntimeValue> results;
  for (auto& parts : samples) results.emplace_back(stacked(call, std::move(parts), 0));
  return results;
}

std::vector<RuntimeValue> scan(const ValueCall& call) {
  return call.opset < 9 ? scan_batches(call) : scan_once(call);
}

}  // namespace

void add_scan_ops(ValueOpTable& table) {
  table["Scan"] = scan;
}

}  // namespace assay::reference
