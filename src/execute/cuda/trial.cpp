#include "execute/cuda/trial.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "assay/error.h"
#include "assay/tensor.h"
#include "graph/half.h"

namespace assay::cuda {

namespace {

constexpr std::int64_t kScratchAlignment = 256;
constexpr std::int64_t kPatternElements = 1 << 18;
constexpr std::int64_t kComparedBytes = 1 << 20;  // at either end of a result
constexpr double kGraphMs = 0.2;                  // runs of one graph
constexpr int kMostRuns = 20;

std::int64_t aligned(std::int64_t bytes) {
  return (bytes + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
}

// Random numbers of this type, as bytes; zeros for integers of more than 8 bits, which may say
// where something lies.
std::vector<std::byte> pattern(DataType type) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(kPatternElements * bits(type) / 8));
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0, 1);
  const auto write = [&](auto converted) {
    for (std::int64_t i = 0; i < kPatternElements; ++i) {
      const auto number = converted(normal(random));
      std::memcpy(bytes.data() + i * static_cast<std::int64_t>(sizeof(number)), &number,
                  sizeof(number));
    }
  };
  if (type == DataType::UInt8 || type == DataType::Int8)
    write([&](float) { return static_cast<std::uint8_t>(random() >> 24); });
  if (type == DataType::Float32) write([](float number) { return number; });
  if (type == DataType::Float64) write([](float number) { return static_cast<double>(number); });
  if (type == DataType::Float16) write(graph::float_to_half);
  if (type == DataType::BFloat16) write(graph::float_to_bfloat16);
  return bytes;
}

std::vector<float> floats_of(DataType type, std::span<const std::byte> bytes) {
  const std::int64_t count = static_cast<std::int64_t>(bytes.size()) * 8 / bits(type);
  const Tensor tensor(type, {count}, heap_storage({bytes.begin(), bytes.end()}));
  std::vector<float> numbers;
  for (const double number : tensor.to_double()) numbers.push_back(static_cast<float>(number));
  return numbers;
}

}  // namespace

Scratch::Scratch(const gpu::Stream& stream, const execute::Buffers& buffers, const Kernels& kernels,
                 const std::vector<Placement>& reads, const std::vector<Placement>& writes,
                 const std::vector<std::vector<BufferId>>& workspaces)
    : stream_(stream), buffers_(buffers), kernels_(kernels), result_(writes.front()) {
  std::vector<std::pair<BufferId, std::int64_t>> offsets;
  const auto is_placed = [&](BufferId id) {
    return std::ranges::find(offsets, id, &std::pair<BufferId, std::int64_t>::first) !=
           offsets.end();
  };
  std::int64_t bytes = 0;
  for (const auto* placements : {&reads, &writes}) {
    for (const Placement& placement : *placements) {
      const BufferId id = placement.buffer;
      if (!id.is_valid() || buffers.is_fixed(id) || is_placed(id)) continue;
      offsets.emplace_back(id, bytes);
      bytes += aligned(buffers[id].bytes);
    }
  }
  // Candidates run one after another: their workspaces lie over each other.
  std::int64_t most = 0;
  for (const auto& own : workspaces) {
    std::int64_t sum = 0;
    for (const BufferId id : own) sum += aligned(buffers[id].bytes);
    most = std::max(most, sum);
  }
  memory_ = gpu::Memory(stream.device(), bytes + most, "trials of algorithms");
  workspace_ = memory_.address() + static_cast<gpu::DevicePointer>(bytes);
  for (const auto& buffer : buffers.all())
    starts_.push_back(reinterpret_cast<gpu::DevicePointer>(buffer.fixed));
  for (const auto& [id, offset] : offsets)
    starts_[id.number] = memory_.address() + static_cast<gpu::DevicePointer>(offset);
  for (const Placement& read : reads)
    if (read.buffer.is_valid() && !buffers.is_fixed(read.buffer))
      fill(read.buffer, read.type, buffers[read.buffer].bytes);
}

Addresses Scratch::addresses(const std::vector<BufferId>& workspace) const {
  std::vector<gpu::DevicePointer> starts = starts_;
  gpu::DevicePointer next = workspace_;
  for (const BufferId id : workspace) {
    starts[id.number] = next;
    next += static_cast<gpu::DevicePointer>(aligned(buffers_[id].bytes));
  }
  return {std::move(starts), kernels_};
}

void Scratch::fill(BufferId buffer, DataType type, std::int64_t buffer_bytes) const {
  const std::vector<std::byte> numbers = pattern(type);
  const gpu::DevicePointer start = starts_[buffer.number];
  const auto bytes = static_cast<std::size_t>(buffer_bytes);
  std::size_t done = std::min(bytes, numbers.size());
  stream_.copy_in(start, std::span(numbers).first(done));
  stream_.wait("filling memory for trials");
  while (done < bytes) {
    const std::size_t more = std::min(done, bytes - done);
    stream_.copy_within(start + done, start, static_cast<std::int64_t>(more));
    done += more;
  }
}

void Scratch::spoil_result() const {
  stream_.fill(starts_[result_.buffer.number], 0xff, result_.bytes());
}

std::vector<float> Scratch::result() const {
  const std::int64_t bytes = result_.bytes();
  const std::int64_t element = bits(result_.type) / 8;
  const std::int64_t part = std::min(bytes, kComparedBytes / element * element);
  std::vector<std::byte> ends(static_cast<std::size_t>(2 * part));
  const gpu::DevicePointer start = addresses({}).of(result_);
  stream_.copy_out(std::span(ends).first(static_cast<std::size_t>(part)), start);
  stream_.copy_out(std::span(ends).last(static_cast<std::size_t>(part)),
                   start + static_cast<gpu::DevicePointer>(bytes - part));
  stream_.wait("running a candidate");
  return floats_of(result_.type, ends);
}

Trial::Trial(const gpu::Stream& stream, Runner runner)
    : stream_(stream),
      runner_(std::move(runner)),
      begin_(gpu::new_event(stream.device())),
      end_(gpu::new_event(stream.device())) {
  runner_(stream_);
  stream_.wait("running a candidate");
}

double Trial::timed(const std::function<void()>& launch) {
  stream_.record(begin_);
  launch();
  stream_.record(end_);
  stream_.wait("timing a candidate");
  const double ms = gpu::milliseconds_between(stream_.device(), begin_, end_);
  spent_ += ms;
  return ms;
}

double Trial::first_look() {
  first_ms_ = timed([&] { runner_(stream_); });
  return first_ms_;
}

void Trial::capture() {
  runs_ = std::clamp(static_cast<int>(kGraphMs / std::max(first_ms_, 1e-4)), 1, kMostRuns);
  stream_.begin_capture();
  try {
    for (int i = 0; i < runs_; ++i) runner_(stream_);
  } catch (const Error&) {
    try {
      (void)stream_.end_capture();
    } catch (const Error&) {
      // The first failure is the one to tell.
    }
    throw;
  }
  graph_ = stream_.end_capture();
  timed([&] { stream_.launch(graph_); });
}

void Trial::time() {
  times_.push_back(timed([&] { stream_.launch(graph_); }) / runs_);
}

double Trial::median() const {
  std::vector<double> sorted = times_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

double relative_difference(const std::vector<float>& numbers, const std::vector<float>& expected) {
  double largest = 0;
  double difference = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(numbers[i]) && std::isnan(expected[i])) continue;
    if (numbers[i] == expected[i]) continue;
    if (!std::isfinite(numbers[i]) || !std::isfinite(expected[i]))
      return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(static_cast<double>(numbers[i]) - expected[i]));
  }
  for (const float number : expected)
    if (std::isfinite(number)) largest = std::max(largest, std::abs(static_cast<double>(number)));
  return difference == 0 ? 0 : difference / std::max(largest, 1e-30);
}

}  // namespace assay::cuda
