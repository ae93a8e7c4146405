#include "modules/redis/guard/value.hpp"

#include <algorithm>
#include <vector>

#include "modules/redis/engine/memory.hpp"
#include "modules/redis/image/pieces.hpp"

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

// Appends a string of an RDB file. Errors: corrupt, out_of_space.
Result<void> load_piece(Io* io, LoadingGuard& loading) {
  const LoadedString string(io);
  const auto piece = string.bytes();
  const bool fits = engine.is_io_error(io) == 0 && piece.size() <= loading.missing_bytes();
  if (!fits || (piece.empty() && loading.received_bytes != 0)) {
    return fail(ErrorCode::corrupt, "truncated, or a piece that is too large");
  }
  return loading.append(piece);
}

}  // namespace

Result<void> LoadingGuard::append(std::span<const std::byte> bytes) {
  MANKAI_TRY(make_room(image, received_bytes + bytes.size(), static_cast<std::size_t>(total_bytes)));
  std::ranges::copy(bytes, image.bytes().subspan(received_bytes).begin());
  received_bytes += bytes.size();
  return {};
}

Result<void> GuardKey::finish_if_complete() {
  if (!guard_ && loading_.is_complete()) {
    MANKAI_ASSIGN(auto guard, Guard::from_region(std::move(loading_.image)));
    guard_ = std::make_unique<Guard>(std::move(guard));
  }
  return {};
}

template <class Use>
auto GuardKey::use_image(const Use& use) const {
  if (!guard_) {
    return use(loading_.total_bytes, loading_.received());
  }
  const std::vector<std::byte> bytes = guard_->to_bytes();
  return use(std::uint64_t{bytes.size()}, std::span<const std::byte>(bytes));
}

Result<std::unique_ptr<GuardKey>> GuardKey::copy() const {
  return use_image([](std::uint64_t total, std::span<const std::byte> bytes) -> Result<std::unique_ptr<GuardKey>> {
    LoadingGuard copied{.total_bytes = total};
    MANKAI_TRY(copied.append(bytes));
    return make(std::move(copied));
  });
}

Result<std::unique_ptr<GuardKey>> GuardKey::make(LoadingGuard image) {
  auto key = std::make_unique<GuardKey>(std::move(image));
  MANKAI_TRY(key->finish_if_complete());
  return key;
}

Result<std::unique_ptr<GuardKey>> GuardKey::load(Io* io, std::size_t /*format*/, int /*version*/) {
  LoadingGuard loading{.total_bytes = engine.load_unsigned(io)};
  const std::uint64_t received = engine.load_unsigned(io);
  if (engine.is_io_error(io) != 0 || loading.total_bytes > kMaxGuardBytes || received > loading.total_bytes) {
    return fail(ErrorCode::corrupt, "an impossible count of bytes");
  }
  do {
    MANKAI_TRY(load_piece(io, loading));
  } while (loading.received_bytes < received);
  return make(std::move(loading));
}

void GuardKey::save(Io* io) const {
  use_image([io](std::uint64_t total, std::span<const std::byte> bytes) {
    engine.save_unsigned(io, total);
    engine.save_unsigned(io, bytes.size());
    for_each_piece(bytes, [io](std::size_t /*offset*/, std::span<const std::byte> piece) {
      engine.save_string_buffer(io, chars(piece), piece.size());
    });
  });
}

void GuardKey::rewrite(Io* io, String* name) const {
  use_image([&](std::uint64_t total, std::span<const std::byte> bytes) {
    for_each_piece(bytes, [&](std::size_t offset, std::span<const std::byte> piece) {
      engine.emit_aof(io, "GUARD.LOADCHUNK", "sllb", name, static_cast<long long>(offset),
                      static_cast<long long>(total), chars(piece), piece.size());
    });
  });
}

void GuardKey::add_to(DigestState* digest) const {
  use_image([digest](std::uint64_t /*total*/, std::span<const std::byte> bytes) {
    for_each_piece(bytes, [digest](std::size_t /*offset*/, std::span<const std::byte> piece) {
      engine.digest_add_string_buffer(digest, chars(piece), piece.size());
    });
  });
  engine.digest_end_sequence(digest);
}

std::size_t GuardKey::memory_bytes() const noexcept {
  const auto of_region = [](std::size_t bytes) { return bytes == 0 ? 0 : engine_bytes(bytes); };
  if (!guard_) {
    return sizeof(GuardKey) + of_region(loading_.image.size());
  }
  const GuardFacts facts = guard_->facts();
  return sizeof(GuardKey) + sizeof(Guard) + of_region(facts.region_bytes) + facts.overlay_bytes + facts.removed_bytes +
         facts.exceptions_bytes;
}

}  // namespace mankai::redis
