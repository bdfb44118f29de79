#include "assay/decode.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "assay/bind.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "base/random_numbers.h"
#include "stats/order_statistics.h"
#include "transform/key_value_cache.h"

namespace assay {

namespace {

double milliseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-6;
}

void check_request(std::span<const std::int64_t> prompt, const DecodeOptions& options) {
  if (prompt.empty()) fail_usage("decoding needs a prompt of at least one token");
  if (options.steps == 0) fail_usage("decoding needs at least one step");
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature))
    fail_usage("a temperature of {} cannot be drawn with; choose 0 or more", options.temperature);
}

// Chooses the next token by the scores of all.
class TokenChoice {
 public:
  explicit TokenChoice(const DecodeOptions& options)
      : temperature_(options.temperature), random_(options.seed, "token") {}

  std::int64_t operator()(std::span<const float> scores) {
    const auto greatest = std::ranges::max_element(scores);
    if (temperature_ == 0) return greatest - scores.begin();
    std::vector<double> sums;
    double sum = 0;
    for (const float score : scores) {
      sum += std::exp(static_cast<double>(score - *greatest) / temperature_);
      sums.push_back(sum);
    }
    const auto drawn = std::ranges::upper_bound(sums, random_.uniform() * sum);
    return std::min<std::int64_t>(drawn - sums.begin(), static_cast<std::int64_t>(sums.size()) - 1);
  }

 private:
  double temperature_ = 0;
  RandomNumbers random_;
};

std::size_t position_of(const std::vector<Value>& values, const std::string& name) {
  const auto found = std::ranges::find(values, name, &Value::name);
  if (found == values.end()) fail_running("the compiled decoder has no '{}'", name);
  return static_cast<std::size_t>(found - values.begin());
}

// The scores after the last row of a [1, rows, vocabulary] tensor, or after another row.
std::span<const float> row_of_scores(const Tensor& logits, std::int64_t row) {
  if (logits.type() != DataType::Float32 || logits.dims().size() != 3)
    fail_bad_input("a decoder's output must be float32 [1, tokens, vocabulary], this is {}",
                   logits.shape().to_string());
  const auto width = static_cast<std::size_t>(logits.dims()[2]);
  const auto* floats = reinterpret_cast<const float*>(logits.bytes().data());
  return {floats + static_cast<std::size_t>(row) * width, width};
}

// Between two tokens.
void report_tokens(const Decoded& result, const DecodeOptions& options, Progress* progress) {
  if (progress == nullptr) return;
  progress->report(static_cast<double>(result.tokens.size()) / static_cast<double>(options.steps),
                   "decoding");
  if (progress->cancelled()) throw Error(ErrorKind::Cancelled, "interrupted while decoding");
}

// A compiled decoder whose caches are its state.
class CachedProgram {
 public:
  CachedProgram(const Graph& model, std::int64_t capacity, std::int64_t tokens,
                const DecodeOptions& options, Progress* progress)
      : decoder_(transform::with_key_value_cache(model, {capacity, tokens})), tokens_(tokens) {
    BoundGraph bound = bind_inputs(decoder_.graph, {});
    program_ = compile(infer_shapes(std::move(bound.graph)), options.program, progress);
    ids_ = position_of(program_->inputs(), decoder_.ids);
    position_ = position_of(program_->inputs(), decoder_.position);
    logits_ = position_of(program_->outputs(), decoder_.logits);
  }

  Program& program() { return *program_; }

  void set_empty_caches() {
    std::vector<Tensor> caches;
    for (const Value& cache : program_->state()) {
      const auto elements = static_cast<std::size_t>(*cache.type.shape->elements());
      caches.push_back(
          Tensor::of_float(cache.type.shape->values(), std::vector<float>(elements, 0.0f)));
    }
    program_->set_state(caches);
  }

  std::int64_t cache_bytes() const {
    std::int64_t bytes = 0;
    for (const Value& cache : program_->state())
      bytes += byte_size(cache.type.element, *cache.type.shape->elements()).value_or(0);
    return bytes;
  }

  // Scores of what follows the last of the tokens.
  Tensor run(std::span<const std::int64_t> tokens, std::int64_t position) {
    std::vector<Tensor> inputs(program_->inputs().size());
    inputs[ids_] = Tensor::of_int64({1, tokens_}, {tokens.begin(), tokens.end()});
    inputs[position_] = Tensor::of_int64({1}, {position});
    program_->set_inputs(inputs);
    program_->run();
    return program_->results()[logits_];
  }

 private:
  transform::CachedDecoder decoder_;
  std::int64_t tokens_ = 1;
  std::unique_ptr<Program> program_;
  std::size_t ids_ = 0;
  std::size_t position_ = 0;
  std::size_t logits_ = 0;
};

void take_scores(std::span<const float> scores, Decoded& result) {
  result.last_scores.assign(scores.begin(), scores.end());
}

// A program for the whole prompt comes first, and is gone before the one for single tokens is made:
// weights are in memory once.
Decoded decode_with_cache(const Graph& model, std::span<const std::int64_t> prompt,
                          const DecodeOptions& options, Progress* progress) {
  Clock& clock = steady_clock();
  TokenChoice choose(options);
  Decoded result;
  result.has_cache = true;
  const auto length = static_cast<std::int64_t>(prompt.size());
  const std::int64_t capacity = length + static_cast<std::int64_t>(options.steps) - 1;
  std::vector<Tensor> caches;
  {
    std::int64_t start = clock.nanoseconds();
    CachedProgram whole(model, capacity, length, options, progress);
    result.compile_ms = milliseconds(clock.nanoseconds() - start);
    whole.set_empty_caches();
    start = clock.nanoseconds();
    const Tensor logits = whole.run(prompt, 0);
    const auto scores = row_of_scores(logits, logits.dims()[1] - 1);
    result.tokens.push_back(choose(scores));
    result.prompt_ms = milliseconds(clock.nanoseconds() - start);
    take_scores(scores, result);
    caches = whole.program().state_values();
    result.weight_bytes = whole.program().memory().weight_bytes;
    result.cache_bytes = whole.cache_bytes();
    result.threads = whole.program().threads();
  }
  if (options.steps == 1) return result;
  std::int64_t start = clock.nanoseconds();
  CachedProgram single(model, capacity, 1, options, progress);
  result.compile_ms += milliseconds(clock.nanoseconds() - start);
  single.program().set_state(caches);
  caches.clear();
  result.weight_bytes = single.program().memory().weight_bytes;
  for (std::int64_t position = length; position < capacity; ++position) {
    start = clock.nanoseconds();
    const Tensor logits = single.run(std::span(&result.tokens.back(), 1), position);
    const auto scores = row_of_scores(logits, logits.dims()[1] - 1);
    result.tokens.push_back(choose(scores));
    result.steps_ms.push_back(milliseconds(clock.nanoseconds() - start));
    result.computed.push_back(1);
    report_tokens(result, options, progress);
    if (position + 1 == capacity) take_scores(scores, result);
  }
  return result;
}

// A model without a cache, compiled for some number of tokens. Those that are not there yet are
// zeros, which the ones before them do not see.
class PlainProgram {
 public:
  PlainProgram(const Graph& model, std::size_t length, const DecodeOptions& options,
               Progress* progress)
      : length_(static_cast<std::int64_t>(length)) {
    const std::string ids = model.inputs().empty() ? "" : model.value(model.inputs()[0]).name;
    BoundGraph bound = bind_inputs(model, {.input_shapes = {{ids, Shape{1, length_}}}});
    program_ = compile(infer_shapes(std::move(bound.graph)), options.program, progress);
    if (program_->inputs().size() != 1 || program_->inputs()[0].type.element != DataType::Int64)
      fail_bad_input("decoding needs a model whose one input is token ids, or one with a cache");
    program_->on_output([this](const OutputView& view) { take_row(view); });
  }

  const Program& program() const { return *program_; }
  std::int64_t length() const { return length_; }

  // Scores of what follows the last of the tokens. Those of the others are not copied.
  std::span<const float> run(std::vector<std::int64_t> tokens) {
    last_ = tokens.size() - 1;
    tokens.resize(static_cast<std::size_t>(length_), 0);
    program_->set_inputs(std::vector<Tensor>{Tensor::of_int64({1, length_}, std::move(tokens))});
    program_->run();
    if (scores_.empty())
      fail_bad_input(
          "decoding without a cache needs float32 scores of every token, [1, {}, vocabulary]",
          length_);
    return scores_;
  }

 private:
  void take_row(const OutputView& view) {
    const bool is_scores = view.output == 0 && view.type == DataType::Float32 &&
                           view.channel_block == 0 && view.dims.size() == 3 &&
                           view.dims[1] == length_;
    if (!is_scores) return;
    const auto width = static_cast<std::size_t>(view.dims[2]);
    const auto* row = reinterpret_cast<const float*>(view.bytes.data()) + last_ * width;
    scores_.assign(row, row + width);
  }

  std::size_t last_ = 0;
  std::vector<float> scores_ = {};
  std::int64_t length_ = 0;
  std::unique_ptr<Program> program_;
};

// How many tokens the next program is compiled for: first the prompt alone, then blocks more.
std::size_t next_length(std::size_t tokens, std::size_t prompt, std::size_t steps) {
  constexpr std::size_t kSmallestBlock = 8;
  constexpr std::size_t kBlocks = 8;
  if (tokens <= prompt) return prompt;
  const std::size_t block = std::max(kSmallestBlock, (steps + kBlocks - 1) / kBlocks);
  const std::size_t blocks = (tokens - prompt + block - 1) / block;
  return std::min(prompt + blocks * block, prompt + steps - 1);
}

// A program for more tokens replaces the one before: weights are in memory once. All but the first,
// which the prompt's time includes as it does with a cache, run once before they are timed.
Decoded decode_without_cache(const Graph& model, std::span<const std::int64_t> prompt,
                             const DecodeOptions& options, Progress* progress) {
  Clock& clock = steady_clock();
  TokenChoice choose(options);
  Decoded result;
  std::vector<std::int64_t> tokens(prompt.begin(), prompt.end());
  std::unique_ptr<PlainProgram> plain;
  while (result.tokens.size() < options.steps) {
    std::int64_t start = clock.nanoseconds();
    if (!plain || std::cmp_greater(tokens.size(), plain->length())) {
      const bool is_first = plain == nullptr;
      plain.reset();
      plain = std::make_unique<PlainProgram>(
          model, next_length(tokens.size(), prompt.size(), options.steps), options, progress);
      if (!is_first) plain->run(tokens);
      result.compile_ms += milliseconds(clock.nanoseconds() - start);
      result.weight_bytes = plain->program().memory().weight_bytes;
      result.threads = plain->program().threads();
    }
    start = clock.nanoseconds();
    const auto scores = plain->run(tokens);
    result.tokens.push_back(choose(scores));
    const double taken = milliseconds(clock.nanoseconds() - start);
    if (result.tokens.size() == 1) {
      result.prompt_ms = taken;
    } else {
      result.steps_ms.push_back(taken);
      result.computed.push_back(plain->length());
    }
    report_tokens(result, options, progress);
    tokens.push_back(result.tokens.back());
    take_scores(scores, result);
  }
  return result;
}

}  // namespace

double Decoded::tokens_per_second() const {
  if (steps_ms.empty()) return 0;
  return 1e3 / stats::median(steps_ms);
}

Decoded decode(const Graph& model, std::span<const std::int64_t> prompt,
               const DecodeOptions& options, Progress* progress) {
  check_request(prompt, options);
  if (transform::takes_past(model)) return decode_with_cache(model, prompt, options, progress);
  return decode_without_cache(model, prompt, options, progress);
}

}  // namespace assay
