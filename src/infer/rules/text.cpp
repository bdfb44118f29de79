// Ops on strings.
#include <algorithm>

#include "base/checked.h"
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

void normalizer(InferContext& context) {
  const Shape* input = context.shape(0);
  context.leave_open("how many words are left depends on the data");
  if (input == nullptr) return context.set(0, DataType::String);
  Shape result = *input;
  const bool drops_words = context.node().find("stopwords") != nullptr;
  if (drops_words && result.rank() > 0) result[result.rank() - 1] = Dim();
  context.set(0, DataType::String, result);
}

// The largest index of an n-gram tells how long the vector is.
void vectorizer(InferContext& context) {
  const Shape* input = context.shape(0);
  const Dims indexes = context.node().ints_or("ngram_indexes", {});
  const std::int64_t largest = indexes.empty() ? -1 : *std::ranges::max_element(indexes);
  const auto length = checked_add(largest, 1);
  if (!length || *length < 0) context.fail("ngram_indexes hold {}", largest);
  if (input == nullptr) return context.set(0, DataType::Float32);
  Shape result;
  if (input->rank() == 2) result.push_back((*input)[0]);
  result.push_back(Dim(*length));
  context.set(0, DataType::Float32, result);
}

void full_match(InferContext& context) {
  context.set(0, DataType::Bool, context.type(0).shape);
}

void split_words(InferContext& context) {
  const Shape* input = context.shape(0);
  context.leave_open("how many words there are depends on the data");
  context.set(1, DataType::Int64, maybe(input));
  if (input == nullptr) return context.set(0, DataType::String);
  Shape result = *input;
  result.push_back(Dim());
  context.set(0, DataType::String, result);
}

}  // namespace

void add_text_rules(RuleTable& table) {
  table["StringNormalizer"] = normalizer;
  table["TfIdfVectorizer"] = vectorizer;
  table["StringConcat"] = broadcast_all_inputs;
  table["RegexFullMatch"] = full_match;
  table["StringSplit"] = split_words;
}

}  // namespace assay::infer
