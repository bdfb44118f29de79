// Algorithms that were chosen by measurement, kept in a file: the next process compiles the same
// program at once. Choices of other machines, other processors' instruction sets, other GPUs and
// other versions of assay or of the libraries share the file and do not touch each other.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "assay/program.h"

namespace assay::execute {

struct TuningPlace {
  std::filesystem::path file = {};  // empty: choices are kept for this process alone
  bool is_cache = false;            // what is wrong with the file is no error
};
TuningPlace tuning_place(const ProgramOptions& options);

class TuningFile {
 public:
  // `machine` names all that choices depend on beside the question: the device, the versions of
  // the libraries. Throws an Error if a file is there that is no tuning file, unless it is a cache.
  TuningFile(TuningPlace place, std::string machine);

  std::optional<std::string> find(const std::string& question) const;
  void add(const std::string& question, const std::string& answer);
  // Writes what was added, beside what another process wrote meanwhile. A cache that has grown too
  // large loses the choices of other machines, then those of other processes.
  void save();

 private:
  using Answers = std::map<std::string, std::string>;  // by machine and question

  void write_file() const;
  void limit_size();

  TuningPlace place_;
  std::string machine_;
  Answers answers_;
  Answers news_;  // of answers_: what save() has to write
};

}  // namespace assay::execute
