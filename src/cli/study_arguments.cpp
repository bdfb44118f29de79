#include "cli/study_arguments.h"

#include "base/text.h"
#include "cli/model_argument.h"
#include "cli/page.h"

namespace assay::cli {

void add_study_options(Command& command, StudyArguments& arguments, bool takes_shapes) {
  if (takes_shapes) add_shape_options(command, arguments.model);
  add_engine_options(command, arguments.engine);
  command.heading("Measurement");
  command.add_option("--warmup N", arguments.warmup, "warm-up runs of each setting; default 3");
  command.add_option("--runs N", arguments.runs,
                     "samples of each setting in a round, at least; default 10");
  command.add_option("--rounds N", arguments.rounds,
                     "rounds over all settings; a row is its median round; default 5");
  command.heading("Output");
  command.add_option("--out FOLDER", arguments.folder,
                     "write the table as CSV, the picture as PNG and SVG, and the JSON there");
  add_output_format(command, arguments.format, "print the rows as CSV");
  add_page_option(command, arguments.html);
}

StudyOptions study_options(const StudyArguments& arguments) {
  RunOptions run;
  apply_engine_options(arguments.engine, run);
  StudyOptions options;
  options.program = run.program;
  options.seed = run.seed;
  const auto set = [](const char* flag, const std::string& text, std::int64_t smallest,
                      std::size_t& number) {
    if (!text.empty())
      number = static_cast<std::size_t>(parse_count(flag, text, smallest, 100'000));
  };
  set("--warmup", arguments.warmup, 0, options.warmup);
  set("--runs", arguments.runs, 1, options.runs);
  set("--rounds", arguments.rounds, 1, options.rounds);
  return options;
}

std::vector<std::int64_t> parse_list(const std::string& flag, const std::string& text,
                                     std::int64_t smallest) {
  std::vector<std::int64_t> numbers;
  for (const std::string& word : split(text, ',')) {
    numbers.push_back(parse_count(flag, word, smallest));
  }
  return numbers;
}

}  // namespace assay::cli
