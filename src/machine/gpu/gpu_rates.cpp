#include "machine/gpu/gpu_rates.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/fail.h"
#include "gpu/code.h"
#include "machine/gpu/traffic_kernel.h"

namespace assay::machine {

namespace {

using Arguments = std::array<std::uint64_t, 4>;

constexpr unsigned kThreads = 256;
constexpr unsigned kProductBlocks = 2;  // on each multiprocessor: registers for more there are not
constexpr unsigned kTrafficBlocks = 8;

template <typename Number>
std::vector<Number> numbers_in(const gpu::Stream& stream, const gpu::Memory& memory) {
  std::vector<Number> numbers(static_cast<std::size_t>(memory.bytes()) / sizeof(Number));
  stream.copy_out(std::as_writable_bytes(std::span(numbers)), memory.address());
  stream.wait("measuring ceilings");
  return numbers;
}

gpu::Launch launch_of(const gpu::Device& device, unsigned blocks) {
  return {.blocks = {static_cast<unsigned>(device.facts().multiprocessors) * blocks, 1, 1},
          .threads = kThreads};
}

std::int64_t threads_of(const gpu::Launch& launch) {
  return std::int64_t{launch.blocks[0]} * launch.threads;
}

// A warp's threads have added up its sums among them.
bool has_sums(const std::vector<double>& sums, double of_warp) {
  for (std::size_t first = 0; first < sums.size(); first += kWarp) {
    const auto begin = sums.begin() + static_cast<std::ptrdiff_t>(first);
    if (std::accumulate(begin, begin + kWarp, 0.0) != of_warp) return false;
  }
  return true;
}

std::string text_of(const ProductKernel& kernel) {
  return kernel.threads_cooperate
             ? "#ifdef ASSAY_EMULATED\nextern \"C\" { int multiply_cooperates = 1; }\n#endif\n" +
                   kernel.text
             : kernel.text;
}

// One buffer or two, and what was added up of them.
class Traffic {
 public:
  Traffic(const GpuStopwatch& watch, std::int64_t bytes, bool has_copy)
      : watch_(watch),
        code_(watch.device(), traffic_kernels()),
        launch_(launch_of(watch.device(), kTrafficBlocks)),
        groups_(bytes / kGroupBytes),
        buffer_(watch.device(), groups_ * kGroupBytes, "buffers for measuring bandwidth"),
        other_(watch.device(), has_copy ? groups_ * kGroupBytes : 0,
               "buffers for measuring bandwidth"),
        sums_(watch.device(), threads_of(launch_) * 8, "sums") {}

  // As many passes as make a try long enough.
  std::int64_t enough_passes() {
    constexpr std::int64_t kMostPasses = 1 << 12;
    std::int64_t passes = 1;
    const auto is_short = [&] {
      const TryTimes times = timed("write_all", {}, {buffer_.address(), count(passes)}, 3);
      return static_cast<double>(times.best) < kTryNanoseconds;
    };
    while (passes < kMostPasses && is_short()) passes *= 2;
    return passes;
  }

  Bandwidth write(const TryLimits& limits, std::int64_t passes) {
    watch_.stream().fill(buffer_.address(), 0, buffer_.bytes());
    const TryTimes times = timed("write_all", limits, {buffer_.address(), count(passes)}, 3);
    check(buffer_, "writing");
    return row("write", passes * buffer_.bytes(), times);
  }

  Bandwidth read(const TryLimits& limits, std::int64_t passes) {
    const TryTimes times =
        timed("read_all", limits, {buffer_.address(), count(passes), sums_.address()}, 4);
    if (total() != count(passes) * sum_of_words(groups_))
      fail_running("reading memory of the GPU gave wrong sums");
    return row("read", passes * buffer_.bytes(), times);
  }

  Bandwidth copy(const TryLimits& limits) {
    watch_.stream().fill(other_.address(), 0, other_.bytes());
    const gpu::Launch shape = launch_;
    const Arguments arguments = {other_.address(), buffer_.address(), count(groups_)};
    const TryTimes times = timed_launch("copy_all", shape, limits, std::span(arguments).first(3));
    check(other_, "copying");
    return row("copy", 2 * buffer_.bytes(), times);
  }

 private:
  static std::uint64_t count(std::int64_t number) { return static_cast<std::uint64_t>(number); }

  // The address, the groups, then the rest.
  TryTimes timed(const char* kernel, const TryLimits& limits,
                 std::array<std::uint64_t, 3> address_and_rest, std::size_t used) {
    const Arguments arguments = {address_and_rest[0], count(groups_), address_and_rest[1],
                                 address_and_rest[2]};
    return timed_launch(kernel, launch_, limits, std::span(arguments).first(used));
  }

  TryTimes timed_launch(const char* kernel, const gpu::Launch& shape, const TryLimits& limits,
                        std::span<const std::uint64_t> arguments) {
    const gpu::Handle function = code_.function(kernel);
    return watch_.best(limits, [&] { gpu::launch(watch_.stream(), function, shape, arguments); });
  }

  std::uint64_t total() const {
    const auto sums = numbers_in<std::uint64_t>(watch_.stream(), sums_);
    return std::accumulate(sums.begin(), sums.end(), std::uint64_t{0});
  }

  void check(const gpu::Memory& memory, const char* doing) {
    const Arguments arguments = {memory.address(), count(groups_), 1, sums_.address()};
    gpu::launch(watch_.stream(), code_.function("read_all"), launch_, arguments);
    if (total() != sum_of_words(groups_))
      fail_running("{} memory of the GPU left wrong values there", doing);
  }

  Bandwidth row(const char* access, std::int64_t moved, const TryTimes& times) const {
    return {.level = "",
            .access = access,
            .bytes = buffer_.bytes(),
            .gbps = static_cast<double>(moved) / static_cast<double>(times.best),
            .spread = times.spread};
  }

  const GpuStopwatch& watch_;
  gpu::Code code_;
  gpu::Launch launch_;
  std::int64_t groups_ = 0;
  gpu::Memory buffer_;
  gpu::Memory other_;
  gpu::Memory sums_;
};

// Far more than the cache holds, as far as there is memory.
std::int64_t bytes_in_memory(const gpu::Device& device) {
  constexpr std::int64_t kLargest = std::int64_t{1} << 31;
  const std::int64_t wanted = std::min(kLargest, 16 * device.facts().cache_bytes);
  return std::min(wanted, device.free_bytes() / 4);
}

}  // namespace

Peak measure_product(const GpuStopwatch& watch, const ProductKernel& kernel, double seconds) {
  const gpu::Device& device = watch.device();
  const gpu::Code code(device, text_of(kernel));
  const gpu::Handle function = code.function("multiply");
  const gpu::Launch shape = launch_of(device, kProductBlocks);
  const gpu::Memory sums(device, threads_of(shape) * 8, "sums");
  std::int64_t rounds = kRoundsTogether;
  const auto run = [&] {
    const Arguments arguments = {static_cast<std::uint64_t>(rounds), sums.address()};
    gpu::launch(watch.stream(), function, shape, std::span(arguments).first(2));
  };
  while (rounds < kMostProductRounds &&
         static_cast<double>(watch.best({}, run).best) < kTryNanoseconds)
    rounds *= 2;
  const TryTimes times = watch.best({4, 40, seconds}, run);
  const double of_warp = kernel.sum_of_warp * static_cast<double>(rounds);
  if (!has_sums(numbers_in<double>(watch.stream(), sums), of_warp))
    fail_running("{} on {} of the GPU gave wrong sums", kernel.precision, kernel.instruction_set);
  const double warps = static_cast<double>(threads_of(shape)) / kWarp;
  return {.precision = std::string(kernel.precision),
          .instruction_set = std::string(kernel.instruction_set),
          .gflops = kernel.operations * warps * static_cast<double>(rounds) /
                    static_cast<double>(times.best),
          .spread = times.spread};
}

std::vector<Bandwidth> measure_traffic(const GpuStopwatch& watch, double seconds) {
  constexpr std::int64_t kPartOfCache = 4;
  const TryLimits limits{4, 40, seconds};
  std::vector<Bandwidth> rows;
  const auto add = [&](const char* level, Bandwidth row) {
    row.level = level;
    rows.push_back(std::move(row));
  };
  {
    Traffic cache(watch, watch.device().facts().cache_bytes / kPartOfCache, false);
    const std::int64_t passes = cache.enough_passes();
    add("L2", cache.write(limits, passes));
    add("L2", cache.read(limits, passes));
  }
  Traffic memory(watch, bytes_in_memory(watch.device()), true);
  const std::int64_t passes = memory.enough_passes();
  add("HBM", memory.write(limits, passes));
  add("HBM", memory.read(limits, passes));
  add("HBM", memory.copy(limits));
  return rows;
}

}  // namespace assay::machine
