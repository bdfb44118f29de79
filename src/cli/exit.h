// Exit codes of the program.
#pragma once

namespace assay::cli {

enum class Exit : int {
  Fine = 0,
  GateFailed = 1,
  Usage = 2,
  BadInput = 3,
  Failed = 4,
  Interrupted = 130,
};

}  // namespace assay::cli
