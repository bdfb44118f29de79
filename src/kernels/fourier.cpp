// DFT and STFT, by the definition of the discrete Fourier transform.
#include <cmath>
#include <complex>
#include <numbers>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

using Complex = std::complex<double>;

// The transform of `signal`, its first `bins` numbers. Phases repeat after one length: they are
// looked up rather than computed, which keeps long transforms exact.
std::vector<Complex> transform(const std::vector<Complex>& signal, std::size_t bins,
                               bool is_inverse) {
  const std::size_t length = signal.size();
  const double sign = is_inverse ? 1 : -1;
  std::vector<Complex> phases(length);
  for (std::size_t i = 0; i < length; ++i) {
    const double turn = static_cast<double>(i) / static_cast<double>(length);
    phases[i] = std::polar(1.0, sign * 2 * std::numbers::pi * turn);
  }
  std::vector<Complex> result(bins);
  for (std::size_t bin = 0; bin < bins; ++bin) {
    std::size_t phase = 0;
    for (const Complex& number : signal) {
      result[bin] += number * phases[phase];
      phase = (phase + bin) % length;
    }
    if (is_inverse) result[bin] /= static_cast<double>(length);
  }
  return result;
}

std::size_t bins_of(std::size_t length, bool is_one_sided) {
  return is_one_sided ? length / 2 + 1 : length;
}

// Signals lie along one axis of a tensor whose last axis holds real numbers, or real and imaginary
// parts.
class Signals {
 public:
  Signals(const KernelCall& call, const Tensor& tensor, std::size_t axis)
      : values_(load_real(call, tensor)) {
    const std::span<const std::int64_t> dims = tensor.dims();
    parts_ = dims.back();
    if (parts_ != 1 && parts_ != 2) call.fail("its last axis has {} numbers, not 1 or 2", parts_);
    lanes_ = lanes_along(dims.first(dims.size() - 1), axis);
  }

  const Lanes& lanes() const { return lanes_; }
  // Number `i` of a signal; zero beyond its end.
  Complex at(std::int64_t outer, std::int64_t i, std::int64_t inner) const {
    if (i >= lanes_.length) return 0;
    const auto place =
        static_cast<std::size_t>(((outer * lanes_.length + i) * lanes_.inner + inner) * parts_);
    return {values_[place], parts_ == 2 ? values_[place + 1] : 0.0};
  }

 private:
  std::vector<double> values_;
  std::int64_t parts_ = 1;
  Lanes lanes_;
};

std::int64_t integer_input(const KernelCall& call, std::size_t i) {
  if (call.input(i).elements() != 1) call.fail("input {} is not a scalar", i);
  return call.input(i).to_int64().front();
}

// The axis is an attribute until opset 19 and an input since.
std::size_t transform_axis(const KernelCall& call, std::size_t rank) {
  const std::int64_t since_20 = call.has(2) ? integer_input(call, 2) : -2;
  const std::int64_t wanted = call.opset < 20 ? call.node.int_or("axis", 1) : since_20;
  const auto axis = normalized_axis(wanted, rank);
  if (!axis || *axis + 1 == rank) call.fail("axis {} does not fit rank {}", wanted, rank);
  return *axis;
}

std::vector<Tensor> dft(const KernelCall& call) {
  const Tensor& input = call.input(0);
  Dims dims = input.dims();
  if (dims.size() < 2) call.fail("needs two axes at least");
  const std::size_t axis = transform_axis(call, dims.size());
  const bool is_inverse = call.node.int_or("inverse", 0) != 0;
  const bool is_one_sided = call.node.int_or("onesided", 0) != 0;
  if (is_inverse && is_one_sided) call.fail("an inverse transform cannot be one-sided");
  const Signals signals(call, input, axis);
  const std::int64_t length = call.has(1) ? integer_input(call, 1) : dims[axis];
  if (length < 1) call.fail("a transform of length {} does not exist", length);
  dims[axis] = static_cast<std::int64_t>(bins_of(static_cast<std::size_t>(length), is_one_sided));
  dims.back() = 2;
  std::vector<double> results(result_elements(call, dims));
  const Lanes& lanes = signals.lanes();
  std::vector<Complex> signal(static_cast<std::size_t>(results.empty() ? 0 : length));
  for (std::int64_t outer = 0; !results.empty() && outer < lanes.outer; ++outer) {
    for (std::int64_t inner = 0; inner < lanes.inner; ++inner) {
      for (std::int64_t i = 0; i < length; ++i)
        signal[static_cast<std::size_t>(i)] = signals.at(outer, i, inner);
      const auto bins = transform(signal, static_cast<std::size_t>(dims[axis]), is_inverse);
      for (std::size_t bin = 0; bin < bins.size(); ++bin) {
        const auto row = outer * dims[axis] + static_cast<std::int64_t>(bin);
        const auto place = static_cast<std::size_t>(row * lanes.inner + inner) * 2;
        results[place] = bins[bin].real();
        results[place + 1] = bins[bin].imag();
      }
    }
  }
  return {store_real(input.type(), dims, results)};
}

struct Frames {
  std::int64_t length = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;  // of a signal
  std::vector<double> window;
};

Frames frames_of(const KernelCall& call, std::int64_t signal_length) {
  Frames frames;
  frames.step = integer_input(call, 1);
  if (call.has(2)) frames.window = load_real(call, call.input(2));
  frames.length =
      call.has(3) ? integer_input(call, 3) : static_cast<std::int64_t>(frames.window.size());
  if (frames.step < 1 || frames.length < 1 || frames.length > signal_length)
    call.fail("frames of {} every {} do not fit a signal of {}", frames.length, frames.step,
              signal_length);
  if (frames.window.empty()) frames.window.assign(static_cast<std::size_t>(frames.length), 1.0);
  if (static_cast<std::int64_t>(frames.window.size()) != frames.length)
    call.fail("a window of {} for frames of {}", frames.window.size(), frames.length);
  frames.count = (signal_length - frames.length) / frames.step + 1;
  return frames;
}

std::vector<Tensor> stft(const KernelCall& call) {
  const Tensor& given = call.input(0);
  if (given.dims().size() != 2 && given.dims().size() != 3)
    call.fail("needs a batch of signals, got {}", join_dims(given.dims()));
  const Tensor input =
      given.dims().size() == 3 ? given : given.reshaped({given.dims()[0], given.dims()[1], 1});
  const Signals signals(call, input, 1);
  const Frames frames = frames_of(call, input.dims()[1]);
  const bool is_one_sided = call.node.int_or("onesided", 1) != 0;
  const std::size_t bins = bins_of(frames.window.size(), is_one_sided);
  const Dims dims = {input.dims()[0], frames.count, static_cast<std::int64_t>(bins), 2};
  std::vector<double> results;
  results.reserve(result_elements(call, dims));
  std::vector<Complex> frame(frames.window.size());
  for (std::int64_t batch = 0; batch < dims[0]; ++batch) {
    for (std::int64_t start = 0; start < frames.count * frames.step; start += frames.step) {
      for (std::size_t i = 0; i < frame.size(); ++i) {
        frame[i] = signals.at(batch, start + static_cast<std::int64_t>(i), 0) * frames.window[i];
      }
      for (const Complex& bin : transform(frame, bins, false)) {
        results.push_back(bin.real());
        results.push_back(bin.imag());
      }
    }
  }
  return {store_real(given.type(), dims, results)};
}

}  // namespace

void add_fourier_kernels(KernelTable& table) {
  table["DFT"] = dft;
  table["STFT"] = stft;
}

}  // namespace assay::kernels
