#include "base/utf8.h"

#include <cstdint>
#include <cstring>

namespace assay {

namespace {

// The bytes that must follow a lead byte, or -1 if it cannot lead.
int continuation_bytes(unsigned char lead) {
  if (lead < 0x80) return 0;
  if (lead >= 0xc2 && lead <= 0xdf) return 1;
  if (lead >= 0xe0 && lead <= 0xef) return 2;
  if (lead >= 0xf0 && lead <= 0xf4) return 3;
  return -1;
}

// Overlong forms, surrogates and values above U+10FFFF are visible in the second byte.
bool is_second_byte(unsigned char lead, unsigned char second) {
  if (lead == 0xe0) return second >= 0xa0 && second <= 0xbf;
  if (lead == 0xed) return second >= 0x80 && second <= 0x9f;
  if (lead == 0xf0) return second >= 0x90 && second <= 0xbf;
  if (lead == 0xf4) return second >= 0x80 && second <= 0x8f;
  return second >= 0x80 && second <= 0xbf;
}

// How many leading bytes are ASCII, checked a word at a time: nearly always all of them.
std::size_t ascii_words(std::string_view text) {
  constexpr std::uint64_t kHighBits = 0x8080808080808080u;
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= text.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof(word));
    if ((word & kHighBits) != 0) break;
  }
  return i;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t i = ascii_words(text); i < text.size(); ++i) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const int following = continuation_bytes(lead);
    if (following < 0 || text.size() - i <= static_cast<std::size_t>(following)) return false;
    for (int k = 1; k <= following; ++k) {
      const auto byte = static_cast<unsigned char>(text[++i]);
      if (k == 1 ? !is_second_byte(lead, byte) : (byte & 0xc0) != 0x80) return false;
    }
  }
  return true;
}

}  // namespace assay
