// One candidate of the tuner with memory for its operands, ready to run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/memory_block.h"
#include "execute/cpu/onednn/adapter.h"

namespace assay::cpu {

// Changes of layout, from and to.
using Reorders = std::vector<std::pair<Desc, Desc>>;

// Blocks that trials use one after another, so that pages are requested from the system once.
class SpareBlocks {
 public:
  MemoryBlock take(std::size_t bytes);
  void give(MemoryBlock block);

 private:
  std::vector<MemoryBlock> blocks_;
  std::size_t bytes_ = 0;
};

// Memory for every operand of a choice, filled with harmless numbers: untouched pages would all be
// the same page of zeros, and far too fast.
class Trial {
 public:
  Trial(const Choice& choice, const Reorders& reorders, int threads, SpareBlocks& spare);
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial();

  std::span<const std::byte> weights() const;
  std::size_t bytes() const;  // of all operands
  void run() const;

 private:
  void add(int index, const Desc& desc);
  float* operand(int index) const;
  void run_own() const;
  void add_reorder(const Desc& from, const Desc& to);
  std::function<void()> conversion(const Desc& from);

  struct Reorder {
    std::function<void()> convert = {};
    dnnl::primitive primitive = {};
    dnnl_exec_arg_t arguments[2] = {};
  };

  SpareBlocks& spare_;
  dnnl::primitive primitive_;
  std::shared_ptr<const OwnConvolution> own_;
  int threads_ = 1;
  std::size_t weight_bytes_ = 0;
  std::vector<Reorder> reorders_;
  std::vector<MemoryBlock> blocks_;
  std::vector<dnnl::memory> memories_;
  std::vector<int> indices_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

}  // namespace assay::cpu
