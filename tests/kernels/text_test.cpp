// Strings: moved, compared, read and written as numbers, normalised, joined, split, counted.
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

using Texts = std::vector<std::string>;

Tensor words(const Texts& texts) {
  return Tensor({static_cast<std::int64_t>(texts.size())}, texts);
}

TEST(TextKernels, StringsMoveLikeAnyElement) {
  const Tensor three = words({"a", "b", "c"});
  EXPECT_EQ(result_of({"Gather", {three, long_tensor({2}, {2, 0})}}), words({"c", "a"}));
  EXPECT_EQ(result_of({"Concat", {three, words({"d"})}, {number("axis", 0)}}),
            words({"a", "b", "c", "d"}));
  EXPECT_EQ(result_of({"Expand", {words({"a"}), long_tensor({1}, {2})}}), words({"a", "a"}));
  EXPECT_EQ(result_of({"Equal", {three, words({"b"})}}).to_int64(), (Sizes{0, 1, 0}));
}

TEST(TextKernels, NumbersAreReadBackAsTheyWereWritten) {
  const float third = 1.0f / 3;
  const float infinity = std::numeric_limits<float>::infinity();
  const Tensor numbers = real_tensor({4}, {third, -2.5f, infinity, 0});
  const Tensor written = result_of({"Cast", {numbers}, {number("to", 8)}});
  EXPECT_EQ(written, words({"0.33333334", "-2.5", "INF", "0"}));
  EXPECT_EQ(result_of({"Cast", {written}, {number("to", 1)}}), numbers);
  EXPECT_EQ(result_of({"Cast", {words({"+7", "-8"})}, {number("to", 7)}}),
            long_tensor({2}, {7, -8}));
  EXPECT_THROW(result_of({"Cast", {words({"seven"})}, {number("to", 7)}}), Error);
  EXPECT_THROW(result_of({"Cast", {words({"1.5"})}, {number("to", 7)}}), Error);
}

TEST(TextKernels, NormalizerDropsStopwordsAndChangesCase) {
  const Tensor days = words({"monday", "Tuesday", "friday"});
  const Attribute stop{"stopwords", Texts{"MONDAY"}};
  EXPECT_EQ(result_of({"StringNormalizer", {days}, {stop, text("case_change_action", "UPPER")}}),
            words({"TUESDAY", "FRIDAY"}));
  EXPECT_EQ(result_of({"StringNormalizer", {days}, {stop, number("is_case_sensitive", 1)}}), days);
  EXPECT_EQ(result_of({"StringNormalizer", {words({"Monday"})}, {stop}}), words({""}));
  EXPECT_THROW(result_of({"StringNormalizer", {long_tensor({1}, {1})}}), Error);
}

TEST(TextKernels, ConcatBroadcasts) {
  EXPECT_EQ(result_of({"StringConcat", {words({"a", "b"}), words({"!"})}}), words({"a!", "b!"}));
}

TEST(TextKernels, SplitFillsShortRowsWithNothing) {
  const auto outputs = outputs_of(
      {.op = "StringSplit", .inputs = {words({" one  two ", "", "three"})}, .outputs = 2});
  EXPECT_EQ(outputs[0], Tensor({3, 2}, Texts{"one", "two", "", "", "three", ""}));
  EXPECT_EQ(outputs[1].to_int64(), (Sizes{2, 0, 1}));
  const auto by_comma = outputs_of({.op = "StringSplit",
                                    .inputs = {words({"a,,b,c"})},
                                    .attributes = {text("delimiter", ","), number("maxsplit", 2)},
                                    .outputs = 2});
  EXPECT_EQ(by_comma[0], Tensor({1, 3}, Texts{"a", "", "b,c"}));
}

// A pool of the words 2 and 3 and the pairs (5, 6) and (7, 8), in that order.
Case counting(const char* mode, Sizes row, std::int64_t skips) {
  const auto length = static_cast<std::int64_t>(row.size());
  return {"TfIdfVectorizer",
          {long_tensor({length}, row)},
          {text("mode", mode), number("min_gram_length", 1), number("max_gram_length", 2),
           number("max_skip_count", skips), list("pool_int64s", {2, 3, 5, 6, 7, 8}),
           list("ngram_counts", {0, 2}), list("ngram_indexes", {0, 1, 2, 3}),
           Attribute{"weights", std::vector<float>{1, 2, 3, 4}}}};
}

TEST(TextKernels, NGramsAreCountedAndWeighed) {
  expect_near(result_of(counting("TF", {2, 3, 2, 5, 6}, 0)), {2, 1, 1, 0});
  expect_near(result_of(counting("TFIDF", {2, 3, 2, 5, 6}, 0)), {2, 2, 3, 0});
  expect_near(result_of(counting("IDF", {2, 3, 2, 5, 6}, 0)), {1, 2, 3, 0});
  // 5 and 6 stand one apart, 7 and 8 two apart.
  expect_near(result_of(counting("TF", {5, 7, 6, 0, 8}, 1)), {0, 0, 1, 0});
  expect_near(result_of(counting("TF", {5, 7, 6, 0, 8}, 2)), {0, 0, 1, 1});
}

TEST(TextKernels, NGramTablesThatDoNotFitAreRefused) {
  Case bad = counting("TF", {2}, 0);
  bad.attributes[5] = list("ngram_counts", {0, 7});
  EXPECT_THROW(result_of(bad), Error);
  bad.attributes[5] = list("ngram_counts", {std::numeric_limits<std::int64_t>::min(), 2});
  EXPECT_THROW(result_of(bad), Error);
  bad = counting("TF", {2}, 0);
  bad.attributes[6] = list("ngram_indexes", {0, 1, 2, -3});
  EXPECT_THROW(result_of(bad), Error);
  bad.attributes[6] = list("ngram_indexes", {0, 1});
  EXPECT_THROW(result_of(bad), Error);
}

}  // namespace
}  // namespace assay
