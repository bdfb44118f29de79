// What the options of `assay study` say.
#pragma once

#include <string>
#include <vector>

#include "assay/study.h"
#include "cli/engine_options.h"
#include "cli/model_options.h"
#include "cli/output_format.h"

namespace assay::cli {

struct StudyArguments {
  ModelArguments model;
  EngineArguments engine;
  std::string warmup;
  std::string runs;
  std::string rounds;
  std::string folder;
  std::string html;
  OutputFormat format;
  // Of single studies:
  std::string parameter;
  std::string values;
  std::string max_mb;
  std::string sizes;
  std::string tokens;
  std::string prompt;
  std::string cached;
  std::string precisions;
};

// What all studies share; those of the model only if `takes_shapes`.
void add_study_options(Command& command, StudyArguments& arguments, bool takes_shapes);

// How to measure, without the machine.
StudyOptions study_options(const StudyArguments& arguments);

// "1,8,32": whole numbers of at least `smallest`, for the flag named.
std::vector<std::int64_t> parse_list(const std::string& flag, const std::string& text,
                                     std::int64_t smallest);

}  // namespace assay::cli
