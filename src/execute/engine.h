// What an engine's folder tells the registry. To add one: a folder with a function `engine()` in a
// namespace of its name, and a line in engines.cpp.
#pragma once

#include "assay/program.h"

namespace assay::execute {

struct Engine {
  EngineInfo info;  // but for availability, which is asked for when somebody wants to know
  // What is missing for it to run here, empty if nothing is; null: it runs everywhere.
  std::string (*what_is_missing)() = nullptr;
  std::unique_ptr<Program> (*compile)(Inferred model, const ProgramOptions& options,
                                      Progress* progress) = nullptr;
};

// By its name or an alias; throws as `find_engine` does.
const Engine& usable_engine(std::string_view name);
const Engine& usable_engine(std::span<const Engine> all, std::string_view name);

}  // namespace assay::execute
