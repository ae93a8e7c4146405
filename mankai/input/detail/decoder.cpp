#include "mankai/input/detail/decoder.hpp"

#include <algorithm>
#include <array>

namespace mankai::detail {
namespace {

using namespace std::string_view_literals;

struct Magic {
  std::string_view bytes;
  InputFormat format;
  std::size_t digit_at = std::string_view::npos;  // the low four bits of this byte are free for use
};

constexpr Compression kPlain = Compression::plain;
// A bzip2 file begins with its first block, or with its end if it is empty. What gzip, zstd and xz unpack comes first.
constexpr std::array kMagics = {
    Magic{.bytes = "\x1f\x8b", .format = {.compression = Compression::gzip}},
    Magic{.bytes = "\x28\xB5\x2F\xFD", .format = {.compression = Compression::zstd}},
    Magic{.bytes = "\x50\x2A\x4D\x18", .format = {.compression = Compression::zstd}, .digit_at = 0},  // skippable
    Magic{.bytes = "\xFD\x37zXZ\0"sv, .format = {.compression = Compression::xz}},
    Magic{.bytes = "BZh\x30\x31\x41\x59\x26\x53\x59", .format = {kPlain, "bzip2", "bzip2 -dc FILE"}, .digit_at = 3},
    Magic{.bytes = "BZh\x30\x17\x72\x45\x38\x50\x90", .format = {kPlain, "bzip2", "bzip2 -dc FILE"}, .digit_at = 3},
    Magic{.bytes = "\x04\x22\x4D\x18", .format = {kPlain, "lz4", "lz4 -dc FILE"}},
    Magic{.bytes = "LZIP\1", .format = {kPlain, "lzip", "lzip -dc FILE"}},
    Magic{.bytes = "\x89LZO\0"sv, .format = {kPlain, "lzop", "lzop -dc FILE"}},
    Magic{.bytes = "\x1f\x9d", .format = {kPlain, "compress", "gzip -dc FILE"}},
    Magic{.bytes = "PK\3\4", .format = {kPlain, "zip", "unzip -p FILE"}},
    Magic{.bytes = "PK\5\6", .format = {kPlain, "zip", "unzip -p FILE"}},  // an empty one
    Magic{.bytes = "Rar!\x1A\7", .format = {kPlain, "RAR", "unrar p -inul FILE"}},
    Magic{.bytes = "7z\xBC\xAF\x27\x1C", .format = {kPlain, "7z", "7z x -so FILE"}},
};

enum class Match : std::uint8_t { no, prefix, yes };

Match match(std::string_view bytes, const Magic& magic) {
  const std::size_t length = std::min(bytes.size(), magic.bytes.size());
  for (std::size_t i = 0; i < length; ++i) {
    const unsigned mask = i == magic.digit_at ? 0xF0 : 0xFF;
    if ((static_cast<unsigned char>(bytes[i]) & mask) != static_cast<unsigned char>(magic.bytes[i])) {
      return Match::no;
    }
  }
  return length == magic.bytes.size() ? Match::yes : Match::prefix;
}

constexpr std::size_t kTarMagicAt = 257;
constexpr std::string_view kTarMagic = "ustar";

// The name is padded with NUL, and the numbers after it end with one, so this is no text.
bool has_tar_name(std::string_view prefix) noexcept {
  return prefix.substr(0, kTarMagicAt).find('\0') != std::string_view::npos;
}

}  // namespace

std::optional<InputFormat> detect_format(std::string_view prefix, bool is_whole_input) noexcept {
  bool may_become_one = false;
  for (const Magic& magic : kMagics) {
    const Match outcome = match(prefix, magic);
    if (outcome == Match::yes) {
      return magic.format;
    }
    may_become_one = may_become_one || outcome == Match::prefix;
  }
  return may_become_one && !is_whole_input ? std::nullopt : std::optional(InputFormat());
}

bool is_tar(std::string_view prefix) noexcept {
  return has_tar_name(prefix) && prefix.substr(std::min(prefix.size(), kTarMagicAt)).starts_with(kTarMagic);
}

bool may_be_tar(std::string_view prefix) noexcept {
  return has_tar_name(prefix) && prefix.size() < kTarMagicAt + kTarMagic.size();
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
