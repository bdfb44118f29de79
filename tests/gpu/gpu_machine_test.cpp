// The limits and the state of a GPU, found out on the fake one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "assay/machine.h"
#include "assay/machine_report.h"
#include "assay/roofline.h"
#include "assay/stored_machine.h"
#include "gpu/fake_device.h"
#include "machine/gpu/gpu_rates.h"
#include "machine/gpu/library_products.h"
#include "machine/gpu/traffic_kernel.h"
#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A small one: every thread is emulated.
class SmallGpu : public testing::Test {
 protected:
  void SetUp() override { fake_device(); }

 private:
  FakeSetting multiprocessors_{"FAKE_CUDA_MULTIPROCESSORS", "1"};
  FakeSetting cache_{"FAKE_CUDA_CACHE", "65536"};
};

// 1 multiprocessor · 2 blocks · 8 warps, each with the sums that were worked out here.
TEST_F(SmallGpu, EveryProductKernelAddsUpWhatItShould) {
  Progress silent;
  const machine::GpuStopwatch watch(gpu::device(), silent);
  for (const machine::ProductKernel& kernel : machine::product_kernels()) {
    SCOPED_TRACE(kernel.precision);
    EXPECT_NE(kernel.sum_of_warp, 0);
    const Peak peak = machine::measure_product(watch, kernel, 0);
    EXPECT_EQ(peak.precision, kernel.precision);
    EXPECT_GT(peak.gflops, 0);
  }
}

TEST_F(SmallGpu, AWrongSumIsNoPeak) {
  Progress silent;
  const machine::GpuStopwatch watch(gpu::device(), silent);
  machine::ProductKernel kernel = machine::product_kernels().front();
  kernel.sum_of_warp += 1;
  EXPECT_EQ(error_message([&] { machine::measure_product(watch, kernel, 0); }),
            "fp32 on CUDA cores of the GPU gave wrong sums");
}

// 0 + 1 + … + 11.
TEST(GpuTraffic, WordsSumUpToWhatTheirPositionsDo) {
  EXPECT_EQ(machine::sum_of_words(3), 66u);
}

TEST_F(SmallGpu, CeilingsAreThoseOfEveryPrecisionAndLevel) {
  const FakeSetting libraries("FAKE_CUDA_LIBRARIES", "1");
  const std::int64_t before = fake_live_bytes();
  Gpu gpu = *find_gpu();
  gpu.ceilings = measure_gpu_ceilings({.quick = true});
  EXPECT_THAT(gpu.ceilings.warnings, IsEmpty());
  for (const char* precision : {"fp32", "tf32", "fp16", "bf16", "fp8", "int8"})
    EXPECT_TRUE(peak_gflops(gpu.ceilings, precision, 1)) << precision;
  for (const char* access : {"read", "write", "copy"})
    EXPECT_TRUE(bandwidth_gbps(gpu.ceilings, "HBM", access, 1)) << access;
  EXPECT_EQ(fake_live_bytes(), before);
  const auto roofline = roofline_of(gpu);
  ASSERT_TRUE(roofline);
  EXPECT_EQ(roofline->device, "cuda");
  EXPECT_EQ(roofline->levels.front().level, "L2");
  EXPECT_EQ(roofline->levels.back().level, "HBM");
  EXPECT_TRUE(peak_gflops(*roofline, "tf32"));
}

TEST_F(SmallGpu, ProductsOfTheLibraryAreRight) {
  const FakeSetting libraries("FAKE_CUDA_LIBRARIES", "1");
  Progress silent;
  const machine::GpuStopwatch watch(gpu::device(), silent);
  const auto products = machine::library_products(gpu::device());
  EXPECT_EQ(products.size(), 5u);
  for (const machine::LibraryProduct& product : products) {
    SCOPED_TRACE(product.precision);
    const auto peak = machine::measure_library_product(watch, product, 0);
    ASSERT_TRUE(peak);
    EXPECT_EQ(peak->instruction_set, "cuBLASLt");
    EXPECT_GT(peak->gflops, 0);
  }
}

TEST_F(SmallGpu, CeilingsAreGivenUpWhenTheUserWants) {
  struct Impatient : Progress {
    bool cancelled() const override { return true; }
  } impatient;
  const std::int64_t before = fake_live_bytes();
  EXPECT_THAT(error_message(ErrorKind::Cancelled, [&] { measure_gpu_ceilings({}, &impatient); }),
              HasSubstr("interrupted"));
  EXPECT_EQ(fake_live_bytes(), before);
}

TEST_F(SmallGpu, WhatThereIsNoMemoryForIsMissingAndSaysSo) {
  const FakeSetting none("FAKE_CUDA_MEMORY", std::to_string(fake_live_bytes() + 4096));
  const Ceilings ceilings = measure_gpu_ceilings({.quick = true, .precision = "fp32"});
  EXPECT_THAT(ceilings.bandwidths, IsEmpty());
  ASSERT_FALSE(ceilings.warnings.empty());
  EXPECT_THAT(ceilings.warnings.front(), HasSubstr("MB on the GPU"));
}

Gpu some_gpu() {
  Gpu gpu{.measured_at = "2026-11-19T20:00:00Z",
          .name = "Some GPU",
          .libraries = "CUDA 13.0",
          .compute_capability = 90,
          .multiprocessors = 132,
          .clock_mhz = 1980,
          .cache_bytes = 50 << 20,
          .memory_bytes = std::int64_t{140} << 30};
  gpu.ceilings.peaks = {{.precision = "fp32", .instruction_set = "CUDA cores", .gflops = 60000},
                        {.precision = "fp16", .instruction_set = "tensor cores", .gflops = 8e5}};
  gpu.ceilings.bandwidths = {{.level = "HBM", .access = "read", .bytes = 1 << 30, .gbps = 4400},
                             {.level = "HBM", .access = "write", .bytes = 1 << 30, .gbps = 4300}};
  gpu.ceilings.seconds = 2;
  return gpu;
}

TEST(GpuReport, IsReadAsItWasWritten) {
  const Machine machine{.gpu = some_gpu()};
  const auto read = parse_machine_json(machine_json(machine), "machine.json").gpu;
  ASSERT_TRUE(read);
  EXPECT_EQ(fingerprint(*read), fingerprint(*machine.gpu));
  EXPECT_EQ(read->measured_at, machine.gpu->measured_at);
  EXPECT_EQ(peak_gflops(read->ceilings, "fp16", 1), 8e5);
  EXPECT_EQ(bandwidth_gbps(read->ceilings, "HBM", "write", 1), 4300);
}

TEST(GpuReport, TheTableHasNoThreadsOfAGpu) {
  const std::string text = machine_table({.gpu = some_gpu()});
  const std::string of_gpu = text.substr(text.find("Some GPU"));
  EXPECT_THAT(of_gpu, HasSubstr("140 GiB of memory, 50.0 MiB L2, compute capability 9.0"));
  EXPECT_THAT(of_gpu, HasSubstr("tensor cores"));
  EXPECT_EQ(of_gpu.find("thread"), std::string::npos) << of_gpu;
}

TEST_F(SmallGpu, ItsStateIsReadAroundAMeasurement) {
  const auto times = machine_state_for("cuda").times();
  ASSERT_TRUE(times && times->gpu);
  EXPECT_EQ(times->gpu->clock_mhz, 1755);
  EXPECT_EQ(times->gpu->top_clock_mhz, 1980);
  EXPECT_EQ(times->gpu->memory_clock_mhz, 3201);
  EXPECT_EQ(times->gpu->watts, 412);
  EXPECT_EQ(times->gpu->celsius, 54);
  EXPECT_FALSE(machine_state_for("cpu").times()->gpu);
}

std::string warning_of(const std::vector<TimingWarning>& warnings, const std::string& name) {
  const auto found = std::ranges::find(warnings, name, &TimingWarning::name);
  return found == warnings.end() ? "" : found->message;
}

TEST_F(SmallGpu, HeatAndOtherProcessesAreNamed) {
  const FakeSetting heat("FAKE_NVML_HEAT", "20");
  const FakeSetting others("FAKE_NVML_PROCESSES", "3");
  const auto before = machine_state_for("cuda").times();
  const auto warnings = disturbances(before, machine_state_for("cuda").times());
  EXPECT_EQ(
      warning_of(warnings, "throttling"),
      "the GPU lowered its clock for heat for 20.00 ms at 54 °C; it ends at 1755 of 1980 MHz");
  EXPECT_EQ(warning_of(warnings, "shared-gpu"),
            "3 processes use the GPU, and may have run at the same time");
}

TEST_F(SmallGpu, ItsMeterIsTheOneOfItsPlaceOnTheBus) {
  const EnergyMeters found = find_energy_meters();
  const EnergyMeter* meter = gpu_meter(found);
  ASSERT_NE(meter, nullptr);
  EXPECT_EQ(covers(meter->info()), "GPU 1");
  EXPECT_NE(primary_meter(found), meter);
}

}  // namespace
}  // namespace assay
