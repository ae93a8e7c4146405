#pragma once

/// The content of a GUARD.* key: a guard, or the received bytes of one; and its native type.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "mankai/base/region.hpp"
#include "mankai/guard/guard.hpp"
#include "modules/redis/engine/type.hpp"

namespace mankai::redis {

inline constexpr std::uint64_t kMaxGuardBytes = std::uint64_t{1} << 40;

/// The first bytes of a guard's image. Its memory grows with them, to at most twice as many.
struct LoadingGuard {
  std::uint64_t total_bytes = 0;
  std::size_t received_bytes = 0;
  Region image{};

  [[nodiscard]] bool is_complete() const noexcept { return received_bytes == total_bytes; }
  [[nodiscard]] std::uint64_t missing_bytes() const noexcept { return total_bytes - received_bytes; }
  [[nodiscard]] std::span<const std::byte> received() const noexcept { return image.bytes().first(received_bytes); }
  /// Pre: at most missing_bytes(). Errors: out_of_space, after which the bytes may be sent again.
  [[nodiscard]] Result<void> append(std::span<const std::byte> bytes);
};

/// See KeyContent.
class GuardKey {
 public:
  static constexpr std::array kFormats = {Format{.type_name = "mankai-gd"}};

  explicit GuardKey(Guard guard) : guard_(std::make_unique<Guard>(std::move(guard))) {}
  explicit GuardKey(LoadingGuard loading) noexcept : loading_(std::move(loading)) {}

  /// Null while bytes are missing.
  [[nodiscard]] Guard* value() noexcept { return guard_.get(); }
  [[nodiscard]] const Guard* value() const noexcept { return guard_.get(); }
  /// Null if it is complete.
  [[nodiscard]] LoadingGuard* loading() noexcept { return guard_ ? nullptr : &loading_; }
  /// Makes the guard once all bytes are there. Errors: corrupt, unsupported_version, out_of_space, std::bad_alloc; the
  /// bytes are then lost, and the key must be deleted.
  [[nodiscard]] Result<void> finish_if_complete();

  [[nodiscard]] static std::size_t format() noexcept { return 0; }
  [[nodiscard]] static Result<std::unique_ptr<GuardKey>> load(Io* io, std::size_t format, int version);
  void save(Io* io) const;
  void rewrite(Io* io, String* name) const;
  void add_to(DigestState* digest) const;
  [[nodiscard]] Result<std::unique_ptr<GuardKey>> copy() const;

  [[nodiscard]] static std::uint64_t alive() noexcept { return Counted<GuardKey>::alive(); }
  /// An estimate, since allocators' overhead is unknown. Cost: a few sums.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  [[nodiscard]] static Result<std::unique_ptr<GuardKey>> make(LoadingGuard image);
  /// Returns `use(total_bytes, bytes)` of the image, as far as received. Cost: serializes the guard. Errors:
  /// std::bad_alloc.
  template <class Use>
  auto use_image(const Use& use) const;

  std::unique_ptr<Guard> guard_;  ///< indirect: the engine may move this object, and some containers cannot move
  LoadingGuard loading_;          ///< used if there is no guard
  [[no_unique_address]] Counted<GuardKey> counted_;
};

}  // namespace mankai::redis
