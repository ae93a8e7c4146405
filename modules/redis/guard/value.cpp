#include "modules/redis/guard/value.hpp"

#include <algorithm>
#include <span>

#include "modules/redis/engine/memory.hpp"

namespace mankai::redis {
namespace {

// Maximal bytes of a guard per command, or per string in a file.
constexpr std::size_t kPieceBytes = std::size_t{16} << 20;

// There is one empty piece if there are no bytes.
template <class Use>
void for_each_piece(std::span<const std::byte> bytes, const Use& use) {
  std::size_t offset = 0;
  do {
    const auto piece = bytes.subspan(offset, std::min(kPieceBytes, bytes.size() - offset));
    use(offset, piece);
    offset += piece.size();
  } while (offset < bytes.size());
}

// Appends a string of an RDB file. Errors: corrupt; std::bad_alloc.
Result<void> load_piece(Io* io, LoadingGuard& loading) {
  const LoadedString string(io);
  const auto piece = string.bytes();
  const bool fits = engine.is_io_error(io) == 0 && piece.size() <= loading.total_bytes - loading.bytes.size();
  if (!fits || (piece.empty() && !loading.bytes.empty())) {
    return fail(ErrorCode::corrupt, "truncated, or a piece that is too large");
  }
  loading.bytes.insert(loading.bytes.end(), piece.begin(), piece.end());
  return {};
}

}  // namespace

Result<void> GuardKey::finish_if_complete() {
  if (guard_ || !loading_.is_complete()) {
    return {};
  }
  MANKAI_ASSIGN(auto region, Region::allocate(engine_memory(), loading_.bytes.size()));
  std::ranges::copy(loading_.bytes, region.bytes().begin());
  MANKAI_ASSIGN(auto guard, Guard::from_region(std::move(region)));
  guard_ = std::make_unique<Guard>(std::move(guard));
  loading_ = {};
  return {};
}

LoadingGuard GuardKey::image() const {
  if (!guard_) {
    return loading_;
  }
  std::vector<std::byte> bytes = guard_->to_bytes();
  return {.total_bytes = bytes.size(), .bytes = std::move(bytes)};
}

Result<std::unique_ptr<GuardKey>> GuardKey::make(LoadingGuard image) {
  auto key = std::make_unique<GuardKey>(std::move(image));
  MANKAI_TRY(key->finish_if_complete());
  return key;
}

Result<std::unique_ptr<GuardKey>> GuardKey::load(Io* io, std::size_t /*format*/, int /*version*/) {
  LoadingGuard loading{.total_bytes = engine.load_unsigned(io), .bytes = {}};
  const std::uint64_t received = engine.load_unsigned(io);
  if (engine.is_io_error(io) != 0 || loading.total_bytes > kMaxGuardBytes || received > loading.total_bytes) {
    return fail(ErrorCode::corrupt, "an impossible count of bytes");
  }
  do {
    MANKAI_TRY(load_piece(io, loading));
  } while (loading.bytes.size() < received);
  return make(std::move(loading));
}

void GuardKey::save(Io* io) const {
  const LoadingGuard saved = image();
  engine.save_unsigned(io, saved.total_bytes);
  engine.save_unsigned(io, saved.bytes.size());
  for_each_piece(saved.bytes, [&](std::size_t /*offset*/, std::span<const std::byte> piece) {
    engine.save_string_buffer(io, chars(piece), piece.size());
  });
}

void GuardKey::rewrite(Io* io, String* name) const {
  const LoadingGuard saved = image();
  const auto total = static_cast<long long>(saved.total_bytes);
  for_each_piece(saved.bytes, [&](std::size_t offset, std::span<const std::byte> piece) {
    engine.emit_aof(io, "GUARD.LOADCHUNK", "sllb", name, static_cast<long long>(offset), total, chars(piece),
                    piece.size());
  });
}

void GuardKey::add_to(DigestState* digest) const {
  for_each_piece(image().bytes, [&](std::size_t /*offset*/, std::span<const std::byte> piece) {
    engine.digest_add_string_buffer(digest, chars(piece), piece.size());
  });
  engine.digest_end_sequence(digest);
}

std::size_t GuardKey::memory_bytes() const noexcept {
  if (!guard_) {
    return sizeof(GuardKey) + loading_.bytes.capacity();
  }
  const GuardFacts facts = guard_->facts();
  const std::uint64_t region = facts.region_bytes == 0 ? 0 : engine_bytes(facts.region_bytes);
  return sizeof(GuardKey) + sizeof(Guard) + region + facts.overlay_bytes + facts.removed_bytes + facts.exceptions_bytes;
}

}  // namespace mankai::redis
