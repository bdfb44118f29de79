// The hosts of a sweep, from a file as GNU parallel's --sshloginfile takes it.
#pragma once

#include <string>
#include <vector>

namespace assay::cli {

struct SweepHostLogin {
  std::string login =
      "";  // as in the file, without a number of jobs: "user@board", "ssh -p 22 board"
  std::string command = "";  // that runs what follows it there: "ssh user@board"
  std::string name = "";     // for files: letters, digits, '.', '_' and '-'
};

// Each host once, whatever number of jobs its line asks for: measurements need a machine alone.
std::vector<SweepHostLogin> read_hosts(const std::string& file);

}  // namespace assay::cli
