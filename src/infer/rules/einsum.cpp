// Einsum: letters name axes, "..." stands for axes that broadcast.
#include <map>

#include "base/text.h"
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

struct Term {
  std::string letters;              // without the ellipsis
  std::optional<std::size_t> dots;  // how many letters come before it
};

Term parsed_term(const InferContext& context, std::string_view text) {
  Term term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_letter(text[i])) {
      term.letters += text[i];
      continue;
    }
    if (text.substr(i, 3) != "..." || term.dots)
      context.fail("cannot read '{}' in the equation", text);
    term.dots = term.letters.size();
    i += 2;
  }
  return term;
}

class Equation {
 public:
  explicit Equation(const InferContext& context) : context_(context) {
    std::string text;
    for (const char c : context.node().string_or("equation", "")) {
      if (c != ' ') text += c;
    }
    const std::size_t arrow = text.find("->");
    for (const auto& part : split(text.substr(0, arrow), ','))
      terms_.push_back(parsed_term(context, part));
    if (terms_.size() != context.input_count())
      context.fail("the equation names {} inputs, {} are given", terms_.size(),
                   context.input_count());
    if (arrow != std::string::npos)
      result_ = parsed_term(context, std::string_view(text).substr(arrow + 2));
    else
      result_ = implied_result();
  }

  std::optional<Shape> shape() {
    bool is_complete = true;
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      const Shape* input = context_.shape(i);
      if (input != nullptr)
        match(terms_[i], *input);
      else
        is_complete = false;
    }
    if (!is_complete && result_.dots) return std::nullopt;
    return result();
  }

 private:
  // Letters that occur once, in alphabetical order, after the ellipsis.
  Term implied_result() const {
    std::map<char, int> times;
    Term result;
    for (const Term& term : terms_) {
      if (term.dots) result.dots = 0;
      for (const char letter : term.letters) ++times[letter];
    }
    for (const auto& [letter, count] : times) {
      if (count == 1) result.letters += letter;
    }
    return result;
  }

  void match(const Term& term, const Shape& input) {
    const std::size_t letters = term.letters.size();
    if (input.rank() < letters || (!term.dots && input.rank() != letters)) {
      context_.fail("an input of shape {} does not fit '{}'", input.to_string(), term.letters);
    }
    const std::size_t dotted = input.rank() - letters;
    const std::size_t before = term.dots.value_or(letters);
    Shape middle;
    for (std::size_t i = 0; i < dotted; ++i) middle.push_back(input[before + i]);
    dots_ = broadcast(context_, dots_, middle);
    for (std::size_t i = 0; i < letters; ++i)
      bind(term.letters[i], input[i < before ? i : i + dotted]);
  }

  void bind(char letter, const Dim& dim) {
    const auto [found, is_new] = sizes_.emplace(letter, dim);
    if (is_new || dim.value() == 1) return;
    if (found->second.value() == 1)
      found->second = dim;
    else
      found->second =
          equal_dims(context_, found->second, dim, "a letter of the equation has two sizes");
  }

  Shape result() const {
    Shape shape;
    for (std::size_t i = 0; i <= result_.letters.size(); ++i) {
      if (result_.dots == i) {
        for (const Dim& dim : dots_) shape.push_back(dim);
      }
      if (i == result_.letters.size()) break;
      const auto found = sizes_.find(result_.letters[i]);
      shape.push_back(found == sizes_.end() ? Dim() : found->second);
    }
    return shape;
  }

  const InferContext& context_;
  std::vector<Term> terms_;
  Term result_;
  std::map<char, Dim> sizes_;
  Shape dots_;
};

void einsum(InferContext& context) {
  context.set(0, context.element(0), Equation(context).shape());
}

}  // namespace

void add_einsum_rules(RuleTable& table) {
  table["Einsum"] = einsum;
}

}  // namespace assay::infer
