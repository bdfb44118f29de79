// What a library can do with the result of a product or convolution before it stores it: add a
// bias, add another tensor, apply an activation. Recognised at the start of the element-wise nodes
// that follow.
#pragma once

#include <optional>
#include <vector>

#include "execute/cuda/epilogue.h"

namespace assay::cuda {

enum class TailActivation { None, Relu, ClippedRelu, Sigmoid, Tanh, Swish, Gelu, GeluTanh };

// activation(x + added + bias), as far as they are there.
struct Tail {
  std::optional<Placement> bias = {};   // a vector
  std::optional<Placement> added = {};  // lies like the result
  TailActivation activation = TailActivation::None;
  double lower = 0;  // of a clipped ReLU
  double upper = 0;
  std::vector<NodeId> nodes = {};  // of the chain
  ValueId value = {};              // that it computes
};

// What a tail may hold.
struct TailRules {
  std::size_t bias_axis = 1;
  bool takes_bias = true;
  bool takes_added = true;
  std::vector<TailActivation> activations = {};
};

// As much of the chain as the rules allow. `result` is the placement of the node that the chain
// follows; `like` is how an added tensor has to lie.
Tail tail_of(Lowering& lowering, const Chain& chain, const TailRules& rules, const Placement& like);

// "relu", for questions.
const char* name(TailActivation activation);

// What is left of a chain once a library has computed the tail: nothing, or a kernel of our own
// that reads the library's result from a workspace.
class Remainder {
 public:
  // `first_added`: what the kernel adds before anything else, because the library did not.
  Remainder(Lowering& lowering, const Epilogue& epilogue, const Tail& tail,
            const Placement& library_result, const std::optional<Placement>& first_added);

  bool is_empty() const { return !kernel_; }
  void add_kernel();  // of those that are compiled
  // Where the library writes, once `prepare` has been called.
  const Placement& library_result() const { return library_result_; }
  std::vector<BufferId> workspace() const;
  Runner bind(const Addresses& at) const;

 private:
  Lowering& lowering_;
  Placement library_result_;
  std::optional<KernelText> kernel_;
  KernelCall call_;
};

// The power of two that an element's address is a multiple of, up to `most` bytes.
std::int64_t alignment_of(const Placement& placement, std::int64_t most);

}  // namespace assay::cuda
