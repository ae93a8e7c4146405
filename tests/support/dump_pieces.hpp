#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "modules/redis/bloom/value.hpp"
#include "modules/redis/image/pieces.hpp"
#include "tests/support/outcomes.hpp"

// Filters of the module in pieces (docs/formats/redis_dump.md), whole and damaged.

namespace mankai::test {

[[nodiscard]] inline std::vector<std::byte> dump_header(const redis::BloomValue& value) {
  return redis::header_of(redis::BloomValue::kFamily, value.parts());
}

[[nodiscard]] inline Result<redis::Assembly> begin_dump(std::span<const std::byte> header) {
  return redis::Assembly::begin(redis::BloomValue::kFamily, header);
}

/// A header and the pieces behind it.
struct Dump {
  struct Piece {
    std::uint64_t end;
    std::vector<std::byte> bytes;
  };

  std::vector<std::byte> header;
  std::vector<Piece> pieces;
};

/// Where the header's checksum says that it stands.
inline constexpr std::uint64_t kDumpHeaderPlace = ~std::uint64_t{0};
/// Before the first image header of a dump's header.
inline constexpr std::size_t kDumpPrefixBytes = 16;

[[nodiscard]] inline Dump dump_of(const redis::BloomValue& value, std::size_t most_cells) {
  Dump dump{.header = dump_header(value), .pieces = {}};
  for (std::uint64_t start = 0; start < value.parts().cells_bytes();) {
    auto piece = redis::piece_of(value.parts(), start, most_cells);
    start += piece.size() - redis::kPieceChecksumBytes;
    dump.pieces.push_back({.end = start, .bytes = std::move(piece)});
  }
  return dump;
}

/// Puts a filter together. Errors: those of the first part that is refused.
[[nodiscard]] inline Result<redis::BloomValue> assembled(const Dump& dump) {
  auto assembly = begin_dump(dump.header);
  if (!assembly) {
    return std::unexpected(assembly.error());
  }
  for (const Dump::Piece& piece : dump.pieces) {
    if (auto added = assembly->add(piece.end, piece.bytes); !added) {
      return std::unexpected(added.error());
    }
  }
  if (!assembly->is_complete()) {
    return fail(ErrorCode::corrupt, "pieces are missing");
  }
  return redis::BloomValue::from_image(assembly->finish());
}

/// Makes a piece's checksum right for its place: the last eight bytes.
inline void fix_piece(std::span<std::byte> piece, std::uint64_t place) {
  if (piece.size() < redis::kPieceChecksumBytes) {
    return;
  }
  const std::size_t content = piece.size() - redis::kPieceChecksumBytes;
  const std::uint64_t sum = XXH3_64bits_withSeed(piece.data(), content, place);
  std::memcpy(piece.data() + content, &sum, sizeof(sum));
}

/// The names of keys, those that were added first.
[[nodiscard]] inline std::vector<std::string> dump_keys(std::size_t count) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    keys.push_back("key" + std::to_string(i));
  }
  return keys;
}

/// A filter of the given settings that knows the first `keys` of `dump_keys`, its seed always the same.
[[nodiscard]] inline redis::BloomValue make_dumped(redis::BloomSettings settings, std::size_t keys) {
  settings.hash = {.kind = HashKind::siphash, .seed = {1, 2}};
  auto value = redis::BloomValue::create(settings).value();
  const auto names = dump_keys(keys);
  const std::vector<std::string_view> views(names.begin(), names.end());
  Outcomes fresh(keys);
  static_cast<void>(value.add(views, fresh.span()));
  return value;
}

/// What the filter says about many keys, those that it knows first.
[[nodiscard]] inline std::vector<bool> dumped_answers(const redis::BloomValue& value) {
  constexpr std::size_t kQuestions = 600;
  const auto names = dump_keys(kQuestions);
  const std::vector<std::string_view> views(names.begin(), names.end());
  Outcomes outcomes(kQuestions);
  value.ask(views, outcomes.span());
  return outcomes.vector();
}

}  // namespace mankai::test
