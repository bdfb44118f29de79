// NVML of the fake GPU. FAKE_NVML_HEAT says how many milliseconds of throttling each question finds
// more than the last, FAKE_NVML_PROCESSES how many processes use the GPU.
#include <cstdlib>

namespace {

unsigned long long number(const char* variable, unsigned long long otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct ViolationTime {
  unsigned long long until;
  unsigned long long nanoseconds;
};

unsigned long long millijoules = 0;
unsigned long long hot_nanoseconds = 0;

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned, void** device) {
  *device = &millijoules;
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
  *device = &millijoules;
  return bus[6] == '1' ? 0 : 6;  // "0000:01:00.0"
}
int nvmlDeviceGetIndex(void*, unsigned* index) {
  *index = 1;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* energy) {
  *energy = millijoules += 500;
  return 0;
}
int nvmlDeviceGetClockInfo(void*, int type, unsigned* mhz) {
  *mhz = type == 1 ? 1755 : 3201;
  return 0;
}
int nvmlDeviceGetMaxClockInfo(void*, int, unsigned* mhz) {
  *mhz = 1980;
  return 0;
}
int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 412000;
  return 0;
}
int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}
int nvmlDeviceGetTemperature(void*, int, unsigned* celsius) {
  *celsius = 54;
  return 0;
}
int nvmlDeviceGetViolationStatus(void*, int policy, ViolationTime* time) {
  if (policy == 1) hot_nanoseconds += number("FAKE_NVML_HEAT", 0) * 1000000;
  *time = {0, policy == 1 ? hot_nanoseconds : 0};
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void*) {
  *count = static_cast<unsigned>(number("FAKE_NVML_PROCESSES", 1));
  return *count == 0 ? 0 : 7;
}

}  // extern "C"
