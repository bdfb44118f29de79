// Cast between floating types: conversion is postponed. The value keeps the type in which it was
// stored, and a step that needs another type converts it, usually while reading.
#include "execute/cpu/kernels/chain.h"
#include "execute/cpu/names.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

bool lower_cast(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!node.is("Cast")) return false;
  if (!lowering.is_real(node.inputs[0]) || !lowering.is_real(node.outputs[0]))
    return lower_integer_cast(lowering, id);
  Placement placement = lowering.native(node.inputs[0]);
  const DataType wanted = lowering.type(node.outputs[0]);
  // Whoever reads blocks of floats takes them to be floats.
  if (placement.blocked && wanted == DataType::Float32 && placement.type != wanted) {
    const Placement halves = placement;
    placement = lowering.new_placement(with_type(*halves.blocked, wanted), halves.dims);
    lowering.add_conversion(node.inputs[0], halves, placement);
  }
  lowering.set_placement(node.outputs[0], placement);
  return true;
}

// Blocked layouts of equal shape differ in type alone: all bytes are walked, padding too.
ChainGrid grid_of(const Placement& from, const Placement& to) {
  ChainGrid grid;
  if (to.blocked) {
    const auto size = static_cast<std::int64_t>(bits(to.type) / 8);
    grid.dims = {static_cast<std::int64_t>(bytes_of(*to.blocked)) / size};
    grid.strides = {{1}};
  } else {
    grid.dims = to.dims.empty() ? Dims{1} : to.dims;
    grid.strides = {from.strides.empty() ? Dims{0} : from.strides};
    for (std::size_t axis = 0; axis < from.dims.size(); ++axis) {
      if (from.dims[axis] == 1) grid.strides[0][axis] = 0;
    }
  }
  return merged(std::move(grid));
}

}  // namespace

std::optional<HalfFormat> half_format(DataType type) {
  if (type == DataType::BFloat16) return HalfFormat::Bfloat16;
  if (type == DataType::Float16) return HalfFormat::Float16;
  return {};
}

ChainElements elements_at(const Addresses& at, const Placement& placement) {
  return {at.bytes(placement), half_format(placement.type)};
}

void Lowering::add_conversion(ValueId value, const Placement& from, const Placement& to) {
  PlannedStep step;
  step.info.name = graph().value(value).name + " (convert)";
  step.info.op = "Reorder";
  step.info.algorithm = "convert";
  step.info.precision = execute::precision_name(to.type);
  step.info.device = kDevice;
  const NodeId maker = graph().producer(value);
  if (maker.is_valid()) step.info.layers = origins_of({maker});
  step.info.bytes_read = from.bytes();
  step.info.bytes_written = to.bytes();
  step.touched = {from.buffer, to.buffer};
  const ChainGrid grid = grid_of(from, to);
  const std::int64_t blocks = block_count(grid);
  const int team = threads_for(*this, Rows{1, to.elements()});
  step.bind = [=](const Addresses& at) -> Runner {
    const ChainElements source = elements_at(at, from);
    const ChainElements target = elements_at(at, to);
    return [=] {
      execute::in_parallel(team, blocks, [&](std::int64_t first, std::int64_t last) {
        run_chain({}, grid, std::span(&source, 1), target, first, last);
      });
    };
  };
  steps_.push_back(std::move(step));
}

void add_cast_lowering(LowerTable& table) {
  table["Cast"] = lower_cast;
}

}  // namespace assay::cpu
