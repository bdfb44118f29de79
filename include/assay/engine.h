// The engines that run a compiled model: which there are, and whether each can run here.
//
// An engine that cannot run on this machine is still listed, with the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct EngineInfo {
  std::string name;                       // as ProgramOptions and --engine take it
  std::vector<std::string> aliases = {};  // names it used to have: taken, never written
  std::string device = "";                // that its steps run on: "cpu", …
  // Plain kernels, written to be right rather than fast: other engines are compared with them.
  bool is_reference = false;
  // Chooses algorithms by timing them, and keeps its choices in a tuning file.
  bool tunes_algorithms = false;
  std::string library = "";  // that it is built on: "oneDNN 2.6.3"; empty: none
  bool available = true;
  std::string why_not = "";  // empty where it is available
};

// All there are, the default one first.
std::vector<EngineInfo> engines();
const std::string& default_engine();
std::vector<std::string> engine_names();  // without asking whether they are available

// By its name or an alias. Throws an Error that lists the engines if there is none of this name, or
// if it is not available here.
EngineInfo find_engine(std::string_view name);

}  // namespace assay
