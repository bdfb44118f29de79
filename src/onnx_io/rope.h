// A protocol buffer message under construction: names and numbers are copied, the bytes of large
// tensors only referenced. So a message's length is known before its weights are touched, and a
// model is written without a second copy of it in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/tensor.h"

namespace assay::onnx {

class Rope {
 public:
  void add_integer(int field, std::int64_t value);
  void add_real(int field, float value);
  void add_bytes(int field, std::string_view bytes);
  void add_message(int field, const Rope& message);
  void add_payload(int field, const Tensor& tensor);  // its bytes, as raw data

  std::uint64_t size() const { return copied_.size() + payload_bytes_; }

  // Calls `visit` with the message's bytes, piece by piece and in order.
  template <typename Visit>
  void each_piece(Visit visit) const {
    const auto copied = std::as_bytes(std::span(copied_));
    std::size_t done = 0;
    for (const auto& payload : payloads_) {
      visit(copied.subspan(done, payload.position - done));
      visit(payload.tensor.bytes());
      done = payload.position;
    }
    visit(copied.subspan(done));
  }

 private:
  struct Payload {
    std::size_t position = 0;  // how many of the copied bytes come before it
    Tensor tensor;
  };

  void add_tag(int field, int wire_type);
  void add_varint(std::uint64_t value);

  std::string copied_ = {};
  std::vector<Payload> payloads_ = {};
  std::uint64_t payload_bytes_ = 0;
};

}  // namespace assay::onnx
