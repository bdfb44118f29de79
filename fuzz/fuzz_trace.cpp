// Whatever the bytes, reading a profile of another runtime ends with a trace or with an
// assay::Error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "assay/error.h"
#include "assay/runtime_trace_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    assay::parse_runtime_trace({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const assay::Error&) {
    // A refusal is an answer.
  }
  return 0;
}
