#include <functional>

#include "assay/error.h"
#include "assay/machine.h"
#include "machine/gpu/gpu_rates.h"
#include "machine/gpu/library_products.h"
#include "timing/gpu_warnings.h"

namespace assay {

using namespace assay::machine;

namespace {

// What fails is missing, with its reason; a cancellation is passed on.
void try_to(Ceilings& ceilings, const std::function<void()>& measure_one) {
  try {
    measure_one();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    ceilings.warnings.emplace_back(error.what());
  }
}

void add_gpu_warnings(const std::optional<MachineTimes>& before,
                      const std::optional<MachineTimes>& after, Ceilings& ceilings) {
  if (!before || !after) return;
  for (const TimingWarning& warning : timing::gpu_warnings(*before, *after))
    if (warning.makes_noisy) ceilings.warnings.push_back(warning.message);
}

std::vector<ProductKernel> wanted_kernels(const gpu::Device& device,
                                          const CeilingOptions& options) {
  std::vector<ProductKernel> kernels = product_kernels();
  std::erase_if(kernels, [&](const ProductKernel& kernel) {
    return kernel.least_capability > device.facts().compute_capability ||
           (options.precision && kernel.precision != *options.precision);
  });
  return kernels;
}

std::vector<LibraryProduct> wanted_products(const gpu::Device& device,
                                            const CeilingOptions& options) {
  std::vector<LibraryProduct> products = library_products(device);
  std::erase_if(products, [&](const LibraryProduct& product) {
    return options.precision && product.precision != *options.precision;
  });
  return products;
}

// By default 3 s, of which compiling takes some the first time.
double seconds_for_each(const CeilingOptions& options, std::size_t things) {
  const double all = options.seconds.value_or(options.quick ? 1 : 3);
  return all / static_cast<double>(things);
}

}  // namespace

Ceilings measure_gpu_ceilings(const CeilingOptions& options, Progress* progress) {
  constexpr std::size_t kAccesses = 5;
  Progress silent;
  Progress& listener = progress != nullptr ? *progress : silent;
  const GpuStopwatch watch(gpu::device(), listener);
  const auto kernels = wanted_kernels(watch.device(), options);
  const auto products = wanted_products(watch.device(), options);
  const std::size_t things = kernels.size() + products.size() + kAccesses;
  const double seconds = seconds_for_each(options, things);
  MachineState& state = machine_state_for("cuda");
  const auto before = state.times();
  const std::int64_t start = steady_clock().nanoseconds();
  Ceilings ceilings;
  std::size_t done = 0;
  const auto next = [&](const char* doing, const std::function<void()>& measure_one) {
    listener.report(static_cast<double>(done++) / static_cast<double>(things), doing);
    try_to(ceilings, measure_one);
  };
  for (const ProductKernel& kernel : kernels) {
    next("measuring the GPU's peaks",
         [&] { ceilings.peaks.push_back(measure_product(watch, kernel, seconds)); });
  }
  for (const LibraryProduct& product : products) {
    next("measuring the GPU's peaks", [&] {
      if (auto peak = measure_library_product(watch, product, seconds))
        ceilings.peaks.push_back(std::move(*peak));
    });
  }
  next("measuring the GPU's memory",
       [&] { ceilings.bandwidths = measure_traffic(watch, seconds); });
  add_gpu_warnings(before, state.times(), ceilings);
  ceilings.seconds = static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
  return ceilings;
}

}  // namespace assay
