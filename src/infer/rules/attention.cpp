// Attention over a cache of keys and values (domain assay).
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

// Query, key and value of the new tokens, (batch, heads, tokens, width); caches (batch, heads,
// capacity, width); the position of the first new token.
void cached_attention(InferContext& context) {
  const Shape* query = context.shape_of_rank(0, 4);
  const Shape* value = context.shape_of_rank(2, 4);
  for (const std::size_t new_rows : {1u, 2u}) {
    const Shape* cache = context.shape_of_rank(new_rows + 2, 4);
    const Shape* rows = context.shape_of_rank(new_rows, 4);
    if (cache == nullptr || rows == nullptr || query == nullptr) continue;
    Shape expected = *cache;
    expected[2] = (*query)[2];
    check_shape(context, new_rows, expected);
    const bool fits = !(*cache)[2].is_known() || !(*rows)[2].is_known() ||
                      (*rows)[2].value() <= (*cache)[2].value();
    if (!fits)
      context.fail("{} tokens do not fit a cache of {}", (*rows)[2].value(), (*cache)[2].value());
  }
  if (query != nullptr && context.shape(1) != nullptr) check_shape(context, 0, *context.shape(1));
  const Shape* position = context.shape(5);
  if (position != nullptr && position->is_known() && position->elements() != 1)
    context.fail("position is {}, must be one number", position->to_string());
  std::optional<Shape> result;
  if (query != nullptr && value != nullptr) {
    result = *query;
    (*result)[3] = (*value)[3];
  }
  context.set(0, context.element(0), result);
  context.set(1, context.type(3));
  context.set(2, context.type(4));
}

}  // namespace

void add_attention_rules(RuleTable& table) {
  table["CachedAttention"] = cached_attention;
}

}  // namespace assay::infer
