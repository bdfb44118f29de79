# Cross-compiles for 64-bit ARM with Debian's packages, as scripts/build_arm64 does. What is built runs under an
# emulated Cortex-A72, the processor of a Raspberry Pi 4: qemu's default processor has 512-bit SVE, for which oneDNN
# would choose kernels that no Pi can run. ASSAY_ARM64_CPU names another one.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

set(ASSAY_ARM64_CPU cortex-a72 CACHE STRING "The processor that qemu emulates for the tests")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ASSAY_ARM64_CPU)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -cpu ${ASSAY_ARM64_CPU})
