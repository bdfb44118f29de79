// NVML, the library of NVIDIA's driver that tells clocks, power and energy: opened at run time, no
// header, no link. Functions are declared as in its documentation.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace assay::machine {

// The address of a function in a shared library, null if there is none of that name.
using FindSymbol = std::function<void*(const char* name)>;

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

struct Nvml {
  using Device = void*;
  using Code = int;  // 0 is success
  struct ViolationTime {
    unsigned long long until = 0;        // microseconds
    unsigned long long nanoseconds = 0;  // in which the limit applied
  };

  FindSymbol keep = {};  // holds the library open
  Code (*init)() = nullptr;
  Code (*count)(unsigned*) = nullptr;
  Code (*device)(unsigned, Device*) = nullptr;
  Code (*energy)(Device, unsigned long long*) = nullptr;
  // Any of the following may be null.
  const char* (*words)(Code) = nullptr;
  Code (*device_at)(const char*, Device*) = nullptr;
  Code (*index)(Device, unsigned*) = nullptr;
  Code (*clock)(Device, int, unsigned*) = nullptr;
  Code (*top_clock)(Device, int, unsigned*) = nullptr;
  Code (*power)(Device, unsigned*) = nullptr;
  Code (*power_limit)(Device, unsigned*) = nullptr;
  Code (*temperature)(Device, int, unsigned*) = nullptr;
  Code (*violation)(Device, int, ViolationTime*) = nullptr;
  Code (*processes)(Device, unsigned*, void*) = nullptr;

  std::string why(Code code) const;
};

// Nothing if the library counts no energy, which drivers have done for long.
std::optional<Nvml> bound_nvml(FindSymbol find);

// That of this machine, started; null if there is none.
const Nvml* this_nvml();

}  // namespace assay::machine
