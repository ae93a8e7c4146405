#include "mankai/input/detail/decoder.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace mankai::detail {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kXzMagic = "\xFD\x37zXZ\0"sv;
constexpr std::string_view kZstdMagic = "\x28\xB5\x2F\xFD"sv;
// The first byte of a skippable frame's magic is 0x50 to 0x5F; its low four bits are free for use.
constexpr std::string_view kSkippableMagic = "\x50\x2A\x4D\x18"sv;
constexpr unsigned kSkippableMask = 0xF0;

enum class Match : std::uint8_t { no, prefix, yes };

Match match(std::string_view bytes, std::string_view magic, unsigned first_byte_mask = 0xFF) {
  const std::size_t length = std::min(bytes.size(), magic.size());
  for (std::size_t i = 0; i < length; ++i) {
    const unsigned mask = i == 0 ? first_byte_mask : 0xFF;
    if ((static_cast<unsigned char>(bytes[i]) & mask) != static_cast<unsigned char>(magic[i])) {
      return Match::no;
    }
  }
  return length == magic.size() ? Match::yes : Match::prefix;
}

}  // namespace

std::optional<Compression> detect_compression(std::string_view prefix, bool is_whole_input) noexcept {
  const std::array candidates = {
      std::pair{Compression::gzip, match(prefix, kGzipMagic)},
      std::pair{Compression::zstd, match(prefix, kZstdMagic)},
      std::pair{Compression::zstd, match(prefix, kSkippableMagic, kSkippableMask)},
      std::pair{Compression::xz, match(prefix, kXzMagic)},
  };
  bool may_become_one = false;
  for (const auto& [compression, outcome] : candidates) {
    if (outcome == Match::yes) {
      return compression;
    }
    may_become_one = may_become_one || outcome == Match::prefix;
  }
  return may_become_one && !is_whole_input ? std::nullopt : std::optional(Compression::plain);
}

std::unique_ptr<Decoder> make_decoder(Compression compression) {
  switch (compression) {
    case Compression::plain: break;
    case Compression::gzip: return make_gzip_decoder();
    case Compression::zstd: return make_zstd_decoder();
    case Compression::xz: return make_xz_decoder();
  }
  return nullptr;
}

}  // namespace mankai::detail
