#include "execute/cpu/onednn/trial.h"

#include <algorithm>
#include <bit>

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// More than this is given back to the system at once.
constexpr std::size_t kMostSpareBytes = std::size_t{64} << 20;

}  // namespace

// New ones are larger than needed, so that they serve for more operands: pages that are not touched
// take no memory.
MemoryBlock SpareBlocks::take(std::size_t bytes) {
  auto best = blocks_.end();
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->size() < bytes) continue;
    if (best == blocks_.end() || block->size() < best->size()) best = block;
  }
  if (best == blocks_.end()) return MemoryBlock(std::bit_ceil(bytes), "choosing an algorithm");
  MemoryBlock taken = std::move(*best);
  bytes_ -= taken.size();
  blocks_.erase(best);
  return taken;
}

void SpareBlocks::give(MemoryBlock block) {
  if (bytes_ + block.size() > kMostSpareBytes) return;
  bytes_ += block.size();
  blocks_.push_back(std::move(block));
}

Trial::Trial(const Choice& choice, const Reorders& reorders, int threads, SpareBlocks& spare)
    : spare_(spare),
      primitive_(choice.primitive),
      own_(choice.own),
      threads_(threads),
      weight_bytes_(bytes_of(choice.weights)) {
  add(choice.indices.weights, choice.weights);
  add(choice.indices.source, choice.source);
  add(choice.indices.bias, choice.bias);
  add(choice.indices.result, choice.result);
  add(argument::kScratchpad, choice.scratchpad);
  for (const auto& [index, desc] : choice.operands) add(index, desc);
  for (std::size_t i = 0; i < memories_.size(); ++i) {
    arguments_.push_back({indices_[i], memories_[i].get()});
  }
  for (const auto& [from, to] : reorders) add_reorder(from, to);
}

Trial::~Trial() {
  for (MemoryBlock& block : blocks_) spare_.give(std::move(block));
}

std::span<const std::byte> Trial::weights() const {
  return {blocks_.front().data(), weight_bytes_};
}

std::size_t Trial::bytes() const {
  std::size_t sum = 0;
  for (const MemoryBlock& block : blocks_) sum += block.size();
  return sum;
}

void Trial::run() const {
  for (const Reorder& reorder : reorders_) {
    if (reorder.convert) reorder.convert();
    if (!reorder.primitive) continue;
    dnnl_primitive_execute(reorder.primitive.get(), dnnl_stream().get(), 2, reorder.arguments);
  }
  if (own_ != nullptr) return run_own();
  dnnl_primitive_execute(primitive_.get(), dnnl_stream().get(), static_cast<int>(arguments_.size()),
                         arguments_.data());
}

void Trial::add(int index, const Desc& desc) {
  const std::size_t bytes = bytes_of(desc);
  if (bytes == 0) return;
  blocks_.push_back(spare_.take(bytes));
  auto* floats = reinterpret_cast<float*>(blocks_.back().data());
  std::fill_n(floats, bytes / sizeof(float), 0.001f);
  memories_.emplace_back(desc, dnnl_engine(), floats);
  indices_.push_back(index);
}

float* Trial::operand(int index) const {
  const auto found = std::ranges::find(indices_, index);
  if (found == indices_.end()) return nullptr;
  return reinterpret_cast<float*>(
      blocks_[static_cast<std::size_t>(found - indices_.begin())].data());
}

void Trial::run_own() const {
  float* result = operand(argument::kResult);
  own_->run({.source = operand(argument::kSource),
             .weights = operand(argument::kWeights),
             .bias = operand(argument::kBias),
             .addend = own_->adds() ? result : nullptr,
             .result = result,
             .workspace = operand(argument::kScratchpad)});
}

void Trial::add_reorder(const Desc& from, const Desc& to) {
  Reorder reorder;
  add(argument::kFrom, from);
  const bool changes_float16 =
      (element_of(from) == DataType::Float16) != (element_of(to) == DataType::Float16);
  if (changes_float16) {
    reorder.convert = conversion(from);
    if (with_type(from, element_of(to)) == to) {
      reorders_.push_back(std::move(reorder));
      return;
    }
  }
  const Desc moved = changes_float16 ? with_type(from, element_of(to)) : from;
  reorder.primitive = reorder_primitive(moved, to);
  reorder.arguments[0] = {argument::kFrom, memories_.back().get()};
  add(argument::kTo, to);
  reorder.arguments[1] = {argument::kTo, memories_.back().get()};
  reorders_.push_back(std::move(reorder));
}

// The last operand added, in the layout it has, to or from float16.
std::function<void()> Trial::conversion(const Desc& from) {
  const bool widens = element_of(from) == DataType::Float16;
  const DataType type = widens ? DataType::Float32 : DataType::Float16;
  const std::byte* source = blocks_.back().data();
  add(argument::kTo, with_type(from, type));
  std::byte* target = blocks_.back().data();
  const auto numbers = static_cast<std::int64_t>(bytes_of(from) / (widens ? 2 : 4));
  return [=, threads = threads_] {
    execute::in_parallel(threads, numbers, [&](std::int64_t first, std::int64_t last) {
      const auto count = static_cast<std::size_t>(last - first);
      if (widens)
        simd().widen(HalfFormat::Float16, reinterpret_cast<const std::uint16_t*>(source) + first,
                     reinterpret_cast<float*>(target) + first, count);
      else
        simd().narrow(HalfFormat::Float16, reinterpret_cast<const float*>(source) + first,
                      reinterpret_cast<std::uint16_t*>(target) + first, count);
    });
  };
}

}  // namespace assay::cpu
