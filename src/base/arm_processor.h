// The name of a 64-bit ARM processor. The system has none for it: a core identifies itself by
// numbers (its register MIDR_EL1), a board by a line in its device tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

// "Cortex-A72" for 0x410fd083; "ARM core 0x41/0xfff" for one that is not known here.
std::string arm_core_name(std::uint32_t midr);

// "Raspberry Pi 4 Model B Rev 1.4, Cortex-A72"; the core alone where the board has no name, and
// every kind of core where there are several. Nothing on other architectures. Under an emulator,
// which shows the files of the machine below it, the core that the emulator stands for. `root`
// stands in for "/" in tests.
std::optional<std::string> arm_processor_name(const std::string& root = "");

}  // namespace assay
