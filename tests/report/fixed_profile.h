// A profile in which every figure is made up, so that reports of it never change by themselves.
#pragma once

#include "assay/profile.h"

namespace assay {

inline Profile fixed_profile() {
  Profile profile;
  profile.model = {.name = "tiny.onnx",
                   .opset = 17,
                   .inputs = {{"x", tensor_type(DataType::Float32, Shape{2, 3, 8, 8})}},
                   .outputs = {{"y", tensor_type(DataType::Float32, Shape{2, 10})}}};
  profile.program = {.cpu = {.threads = 2, .pin_threads = true}};
  profile.batch = 2;
  profile.seed = 7;
  profile.start_up = {.read_ms = 0.75, .infer_ms = 1.5, .compile_ms = 210.25, .first_run_ms = 9.5};

  Measurement& latency = profile.latency;
  latency.latency = {.median_ms = 2.0,
                     .mean_ms = 2.5,
                     .std_ms = 0.25,
                     .min_ms = 1.75,
                     .max_ms = 8.0,
                     .p90_ms = 2.25,
                     .ci95_low_ms = 1.984,
                     .ci95_high_ms = 2.016};
  latency.samples_ms = {1.75, 2.0, 2.0, 2.0, 2.0, 8.0};
  latency.outliers = {5};
  latency.warmup_runs = 12;
  latency.verdict = Verdict::Noisy;
  latency.warnings = {{"competing-load", "other programs used 40 % of all processor time",
                       "close other programs", true}};
  latency.unmet = "the interval is ±0.8 %, target ±0.5 %, after 10.0 s";

  profile.throughput_sps = 1000;
  profile.totals.parameters = 12345;
  profile.totals.parameter_bytes = 49380;
  profile.totals.macs = 1'000'000;
  profile.totals.flops = 2'010'000;
  profile.stored_bytes = 49380;
  profile.peak_activation_bytes = 4096;
  profile.executed_flops = 1'500'000;
  profile.traffic_bytes = 600'000;
  profile.gflops_per_second = 1.005;
  profile.executed_gflops_per_second = 0.75;
  profile.memory.program = {.weight_bytes = 98304,
                            .arena_bytes = 32768,
                            .workspace_bytes = 1024,
                            .planned_weight_bytes = 49380,
                            .planned_arena_bytes = 4096};
  profile.memory.peak_bytes = 131072;
  profile.memory.useful_bytes = 53476;
  profile.memory.memory_efficiency = 0.408;
  profile.memory.peak_rss_growth_bytes = 2'097'152;
  profile.roofline = {.threads = 2,
                      .instruction_set = "AVX2 FMA",
                      .peak_gflops = 2.5,
                      .int8_peak_gflops = 10,
                      .levels = {{"L1", 65536, 40, 20, 50}, {"DRAM", 0, 10, 5, 12}},
                      .step_overhead_ms = 0.001};
  profile.percent_of_ceiling = 40;
  profile.headroom_ms = 1.2;
  profile.computational_efficiency = 0.3;
  profile.bottleneck = Bound::Compute;

  profile.steps = {{.info = {.name = "conv",
                             .op = "Conv",
                             .layers = {NodeId{0}, NodeId{1}},
                             .algorithm = "winograd 4x4",
                             .isa = "avx2",
                             .executed_flops = 1'500'000,
                             .bytes_read = 300'000,
                             .bytes_written = 100'000},
                    .layer_names = {"conv", "relu"},
                    .time_ms = 1.2,
                    .mean_ms = 1.5,
                    .median_ms = 1.2,
                    .share = 0.6,
                    .rates = {1.67, 0.333, Bound::Compute, "", 50.0, 0.6, 1.25}},
                   {.info = {.name = "odd",
                             .op = "Odd",
                             .layers = {NodeId{2}},
                             .algorithm = "reference",
                             .bytes_read = 100'000,
                             .bytes_written = 100'000,
                             .fell_back = "no fast kernel"},
                    .layer_names = {"odd"},
                    .time_ms = 0.6,
                    .mean_ms = 0.75,
                    .median_ms = 0.6,
                    .share = 0.3,
                    .rates = {{}, 0.333, Bound::Memory, "DRAM", 3.3, 0.58}}};
  profile.between_steps_ms = 0.2;
  profile.between_steps_mean_ms = 0.25;

  ProfileLayer conv{.cost = {.name = "conv", .op = "Conv", .node = NodeId{0}},
                    .time_ms = 1.2,
                    .share = 0.6,
                    .fused = {"relu"},
                    .rates = profile.steps[0].rates};
  conv.cost.output_shape = Shape{2, 16, 8, 8};
  conv.cost.answer = Answer::Counted;
  conv.cost.parameters = 12345;
  conv.cost.macs = 1'000'000;
  conv.cost.flops = 2'000'000;
  ProfileLayer relu{.cost = {.name = "relu", .op = "Relu", .node = NodeId{1}},
                    .fused_into = "conv"};
  relu.cost.answer = Answer::Counted;
  relu.cost.flops = 10'000;
  ProfileLayer odd{.cost = {.name = "odd", .op = "Odd", .node = NodeId{2}},
                   .time_ms = 0.6,
                   .share = 0.3,
                   .rates = profile.steps[1].rates,
                   .warnings = {"fell back", "not counted"}};
  odd.cost.answer = Answer::Unknown;
  profile.layers = {conv, relu, odd};
  profile.uncounted = {{"Odd", "odd", "assay does not know this op"}};
  profile.warnings = {"Odd (1) runs on the plain reference kernel: no fast kernel"};
  profile.advice = {{.rule = "fell-back",
                     .layers = {"odd"},
                     .reason = "600.0 µs (30 % of the run) in the plain reference kernel: no fast "
                               "kernel",
                     .action = "use ops and attributes that have a fast kernel: at the "
                               "measured ceilings 20.00 µs would be left",
                     .saving_ms = 0.58},
                    {.rule = "start-up",
                     .reason = "compiling takes 210.2 ms, as long as 105 runs",
                     .action = "--tuning FILE keeps what it chose",
                     .saving_ms = 210.25,
                     .once = true}};
  profile.traced_runs = {{0, 2'000'000, {1'200'000, 600'000}},
                         {2'100'000, 2'200'000, {1'300'000, 600'000}}};
  return profile;
}

}  // namespace assay
