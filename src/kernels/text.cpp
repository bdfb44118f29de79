// StringNormalizer, StringConcat, StringSplit. Only ASCII letters have another case here.
#include <algorithm>
#include <cctype>
#include <unordered_set>

#include "kernels/broadcast.h"
#include "kernels/families.h"

namespace assay::kernels {

namespace {

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::vector<std::string> without_stopwords(const KernelCall& call,
                                           const std::vector<std::string>& texts) {
  const bool minds_case = call.node.int_or("is_case_sensitive", 0) != 0;
  const auto key = [&](const std::string& text) { return minds_case ? text : lower(text); };
  std::unordered_set<std::string> stopwords;
  if (const auto* words = call.node.get<std::vector<std::string>>("stopwords")) {
    for (const std::string& word : *words) stopwords.insert(key(word));
  }
  std::vector<std::string> kept;
  std::ranges::copy_if(texts, std::back_inserter(kept),
                       [&](const std::string& text) { return !stopwords.contains(key(text)); });
  return kept;
}

// Words without stopwords, in one case; when none is left, one empty word.
std::vector<Tensor> string_normalizer(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Dims& dims = input.dims();
  const bool is_row = dims.size() == 2 && dims[0] == 1;
  if (input.type() != DataType::String || (dims.size() != 1 && !is_row))
    call.fail("needs a row of strings, got {} of {}", name(input.type()), join_dims(dims));
  auto words = without_stopwords(call, input.strings());
  if (words.empty()) words.emplace_back();
  const std::string action = call.node.string_or("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    call.fail("case_change_action '{}' is not known", action);
  for (std::string& word : words) {
    if (action == "LOWER") word = lower(std::move(word));
    if (action == "UPPER") word = upper(std::move(word));
  }
  const auto count = static_cast<std::int64_t>(words.size());
  return {Tensor(is_row ? Dims{1, count} : Dims{count}, std::move(words))};
}

std::vector<Tensor> string_concat(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  if (a.type() != DataType::String || b.type() != DataType::String) call.fail("needs strings");
  const Broadcast pairs(call, a.dims(), b.dims());
  std::vector<std::string> texts(pairs.elements());
  pairs.for_each([&](std::size_t i, std::size_t left, std::size_t right) {
    texts[i] = a.strings()[left] + b.strings()[right];
  });
  return {Tensor(pairs.dims(), std::move(texts))};
}

// Without a delimiter, words are separated by white space.
std::vector<std::string> words_of(const std::string& text, const std::string& delimiter,
                                  std::int64_t most_splits) {
  std::vector<std::string> words;
  const bool by_space = delimiter.empty();
  const char* spaces = " \t\n\v\f\r";
  std::size_t at = by_space ? text.find_first_not_of(spaces) : 0;
  while (at != std::string::npos && (!by_space || at < text.size())) {
    const bool is_last = most_splits >= 0 && static_cast<std::int64_t>(words.size()) >= most_splits;
    std::size_t end = by_space ? text.find_first_of(spaces, at) : text.find(delimiter, at);
    if (is_last) end = std::string::npos;
    words.push_back(text.substr(at, end == std::string::npos ? end : end - at));
    if (end == std::string::npos) break;
    at = by_space ? text.find_first_not_of(spaces, end) : end + delimiter.size();
  }
  return words;
}

// The words of every string along a new axis, filled up with empty ones; and their number.
std::vector<Tensor> string_split(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.type() != DataType::String) call.fail("needs strings");
  const std::string delimiter = call.node.string_or("delimiter", "");
  const std::int64_t most_splits = call.node.int_or("maxsplit", -1);
  std::vector<std::vector<std::string>> split;
  std::vector<std::int64_t> counts;
  for (const std::string& text : input.strings()) {
    split.push_back(words_of(text, delimiter, most_splits));
    counts.push_back(static_cast<std::int64_t>(split.back().size()));
  }
  const std::int64_t most = counts.empty() ? 0 : std::ranges::max(counts);
  std::vector<std::string> words;
  for (auto& list : split) {
    list.resize(static_cast<std::size_t>(most));
    std::ranges::move(list, std::back_inserter(words));
  }
  Dims dims = input.dims();
  dims.push_back(most);
  return {Tensor(std::move(dims), std::move(words)), Tensor::of_int64(input.dims(), counts)};
}

}  // namespace

void add_text_kernels(KernelTable& table) {
  table["StringNormalizer"] = string_normalizer;
  table["StringConcat"] = string_concat;
  table["StringSplit"] = string_split;
}

}  // namespace assay::kernels
