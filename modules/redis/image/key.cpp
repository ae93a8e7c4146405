#include "modules/redis/image/key.hpp"

#include <new>
#include <span>
#include <vector>

namespace mankai::redis {
namespace {

constexpr std::size_t kMinPieceCells = 4096;

Result<void> load_pieces(Io* io, Assembly& assembly) {
  const std::uint64_t received = engine.load_unsigned(io);
  if (engine.is_io_error(io) != 0 || received > assembly.total_bytes()) {
    return fail(ErrorCode::corrupt, "an impossible count of bytes");
  }
  while (assembly.received_bytes() < received) {
    const LoadedString piece(io);
    if (engine.is_io_error(io) != 0 || piece.bytes().size() <= kPieceChecksumBytes) {
      return fail(ErrorCode::io, "truncated");
    }
    const std::uint64_t end = assembly.received_bytes() + piece.bytes().size() - kPieceChecksumBytes;
    MANKAI_TRY(assembly.add(end, piece.bytes()));
  }
  return {};
}

// A save must be complete, so the pieces become smaller if memory is short.
std::vector<std::byte> piece_with_little_memory(const ImageParts& parts, std::uint64_t start) {
  for (std::size_t most = kMaxPieceCells; most > kMinPieceCells; most /= 2) {
    try {
      return piece_of(parts, start, most);
    } catch (const std::bad_alloc&) {
      continue;
    }
  }
  return piece_of(parts, start, kMinPieceCells);
}

// Calls `use(end, piece)` per piece.
template <class Use>
void for_each_piece(const ImageParts& parts, const Use& use) {
  const std::uint64_t bytes = parts.cells_bytes();
  for (std::uint64_t start = 0; start < bytes;) {
    const std::vector<std::byte> piece = piece_with_little_memory(parts, start);
    start += piece.size() - kPieceChecksumBytes;
    use(start, piece);
  }
}

}  // namespace

Result<Assembly> load_assembly(Io* io, const ImageFamily& family) {
  const LoadedString header(io);
  if (engine.is_io_error(io) != 0) {
    return fail(ErrorCode::io, "truncated");
  }
  MANKAI_ASSIGN(auto assembly, Assembly::begin(family, header.bytes()));
  MANKAI_TRY(load_pieces(io, assembly));
  return assembly;
}

void save_parts(Io* io, const ImageFamily& family, const ImageParts& parts) {
  const std::vector<std::byte> header = header_of(family, parts);
  engine.save_string_buffer(io, chars(header), header.size());
  engine.save_unsigned(io, parts.cells_bytes());
  for_each_piece(parts, [&](std::uint64_t, std::span<const std::byte> piece) {
    engine.save_string_buffer(io, chars(piece), piece.size());
  });
}

void rewrite_parts(Io* io, String* name, const ImageFamily& family, const ImageParts& parts) {
  const std::vector<std::byte> header = header_of(family, parts);
  engine.emit_aof(io, family.load_command, "slb", name, 1LL, chars(header), header.size());
  for_each_piece(parts, [&](std::uint64_t end, std::span<const std::byte> piece) {
    engine.emit_aof(io, family.load_command, "slb", name, static_cast<long long>(end) + 1, chars(piece), piece.size());
  });
}

// The header has everything but the cells. The caller ends the sequence.
void digest_parts(DigestState* state, const ImageFamily& family, const ImageParts& parts) {
  const std::vector<std::byte> header = header_of(family, parts);
  engine.digest_add_string_buffer(state, chars(header), header.size());
  for_each_piece(parts, [&](std::uint64_t, std::span<const std::byte> piece) {
    engine.digest_add_string_buffer(state, chars(piece), piece.size());
  });
}

Result<Assembly> copy_parts(const ImageFamily& family, const ImageParts& parts) {
  MANKAI_ASSIGN(auto assembly, Assembly::begin(family, header_of(family, parts)));
  MANKAI_TRY(assembly.make_room(parts.cells_bytes()));
  for_each_piece(
      parts, [&](std::uint64_t end, std::span<const std::byte> piece) { static_cast<void>(assembly.add(end, piece)); });
  return assembly;
}

}  // namespace mankai::redis
