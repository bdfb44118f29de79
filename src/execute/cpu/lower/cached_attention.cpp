// Attention of new tokens over a cache of keys and values: new rows are written into the cache
// where they belong, and only rows that are filled are read.
#include <algorithm>
#include <cstring>

#include "base/fail.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/steps.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

struct CachedAttentionSizes {
  std::int64_t batch = 0;
  std::int64_t heads = 0;
  std::int64_t tokens = 0;
  std::int64_t capacity = 0;
  std::int64_t key_width = 0;
  std::int64_t value_width = 0;
  float scale = 1;
};

// [batch, heads, tokens, width] with rows that are contiguous.
struct HeadRows {
  float* first = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;

  float* row(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    return first + batch * batch_stride + head * head_stride + row * row_stride;
  }
};

HeadRows head_rows(const Addresses& at, const Placement& placement) {
  return {at.floats(placement), placement.strides[0], placement.strides[1], placement.strides[2]};
}

bool has_whole_rows(const Placement& placement) {
  return placement.dims[3] == 1 || placement.strides[3] == 1;
}

Placement readable_rows(Lowering& lowering, ValueId value) {
  const Placement placement = lowering.strided(value);
  return has_whole_rows(placement) ? placement : lowering.row_major(value);
}

struct BoundAttention {
  CachedAttentionSizes sizes;
  std::string name;
  int threads = 1;
  HeadRows query = {}, key = {}, value = {}, keys = {}, values = {}, result = {};
  const std::int64_t* position = nullptr;
  float* scores = nullptr;  // `capacity` floats for each thread

  std::int64_t checked_position() const {
    if (*position >= 0 && *position <= sizes.capacity - sizes.tokens) return *position;
    fail_bad_input("CachedAttention '{}': position {} and {} new tokens do not fit a cache of {}",
                   name, *position, sizes.tokens, sizes.capacity);
  }

  void append(std::int64_t batch, std::int64_t head, std::int64_t start) const {
    for (std::int64_t token = 0; token < sizes.tokens; ++token) {
      std::memcpy(keys.row(batch, head, start + token), key.row(batch, head, token),
                  static_cast<std::size_t>(sizes.key_width) * sizeof(float));
      std::memcpy(values.row(batch, head, start + token), value.row(batch, head, token),
                  static_cast<std::size_t>(sizes.value_width) * sizeof(float));
    }
  }

  void attend(std::int64_t batch, std::int64_t head, std::int64_t token, std::int64_t rows,
              float* shares) const {
    const auto count = static_cast<std::size_t>(rows);
    const auto width = static_cast<std::size_t>(sizes.value_width);
    simd().dot_products(query.row(batch, head, token), keys.row(batch, head, 0), count,
                        static_cast<std::size_t>(sizes.key_width), shares);
    if (sizes.scale != 1.0f) simd().unary(UnaryOp::Affine, sizes.scale, 0, shares, shares, count);
    simd().softmax(shares, shares, count);
    float* to = result.row(batch, head, token);
    std::fill_n(to, width, 0.0f);
    simd().add_vector_matrix(shares, count, values.row(batch, head, 0), width, to, width);
  }

  void run() const {
    const std::int64_t start = checked_position();
    const std::int64_t heads = sizes.batch * sizes.heads;
    constexpr std::int64_t kMacsWorthThreads = 1 << 16;
    const std::int64_t macs =
        heads * sizes.tokens * (start + sizes.tokens) * (sizes.key_width + sizes.value_width);
    const int team = macs < kMacsWorthThreads ? 1 : threads;
    execute::in_parallel(team, team, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t thread = begin; thread < end; ++thread) {
        float* shares = scores + thread * sizes.capacity;
        for (std::int64_t h = heads * thread / team; h < heads * (thread + 1) / team; ++h) {
          append(h / sizes.heads, h % sizes.heads, start);
          for (std::int64_t token = 0; token < sizes.tokens; ++token)
            attend(h / sizes.heads, h % sizes.heads, token, start + token + 1, shares);
        }
      }
    });
  }
};

bool lower_cached_attention(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  for (std::size_t i = 0; i < 5; ++i) {
    if (!lowering.is_float(node.inputs[i]) || lowering.dims(node.inputs[i]).size() != 4)
      return false;
  }
  // A cache that is not state would have to be copied: that is what the plain kernel does.
  for (const std::size_t cache : {3u, 4u}) {
    if (!lowering.may_replace(node.inputs[cache], id)) return false;
  }
  const Dims query_dims = lowering.dims(node.inputs[0]);
  const Dims cache_dims = lowering.dims(node.inputs[4]);
  BoundAttention what{.sizes = {.batch = query_dims[0],
                                .heads = query_dims[1],
                                .tokens = query_dims[2],
                                .capacity = cache_dims[2],
                                .key_width = query_dims[3],
                                .value_width = cache_dims[3],
                                .scale = node.float_or("scale", 1)},
                      .name = lowering.graph().display_name(id),
                      .threads = lowering.threads()};
  if (lowering.dims(node.outputs[0]) !=
          Dims{what.sizes.batch, what.sizes.heads, what.sizes.tokens, what.sizes.value_width} ||
      lowering.dims(node.inputs[3])[2] != what.sizes.capacity)
    return false;
  const Placement query = readable_rows(lowering, node.inputs[0]);
  const Placement key = readable_rows(lowering, node.inputs[1]);
  const Placement value = readable_rows(lowering, node.inputs[2]);
  const Placement keys = lowering.row_major(node.inputs[3]);
  const Placement values = lowering.row_major(node.inputs[4]);
  const Placement position = lowering.row_major(node.inputs[5]);
  const Placement result = lowering.new_row_major(node.outputs[0]);
  const BufferId scores = lowering.new_buffer(what.threads * what.sizes.capacity *
                                              static_cast<std::int64_t>(sizeof(float)));
  // Counted as if the cache were full. Of the caches, as much is written as keys and values bring.
  const std::int64_t macs = (query.elements() + result.elements()) * what.sizes.capacity;
  lowering.add_step({.nodes = {id},
                     .algorithm = "in place",
                     .executed_flops = 2 * macs,
                     .reads = {query, key, value, keys, values, position},
                     .writes = {result, key, value},
                     .workspace = {scores, keys.buffer, values.buffer}},
                    [=](const Addresses& at) -> Runner {
                      const auto step = std::make_shared<BoundAttention>(what);
                      step->query = head_rows(at, query);
                      step->key = head_rows(at, key);
                      step->value = head_rows(at, value);
                      step->keys = head_rows(at, keys);
                      step->values = head_rows(at, values);
                      step->result = head_rows(at, result);
                      step->position = reinterpret_cast<const std::int64_t*>(at.bytes(position));
                      step->scores = reinterpret_cast<float*>(at.start(scores));
                      return [step] { step->run(); };
                    });
  lowering.set_placement(node.outputs[0], result);
  lowering.set_placement(node.outputs[1], keys);
  lowering.set_placement(node.outputs[2], values);
  return true;
}

}  // namespace

void add_cached_attention_lowering(LowerTable& table) {
  table["assay.CachedAttention"] = lower_cached_attention;
}

}  // namespace assay::cpu
