#pragma once

/// The content of a GUARD.* key: a guard, or the received bytes of one; and its native type.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "mankai/guard/guard.hpp"
#include "modules/redis/engine/type.hpp"

namespace mankai::redis {

inline constexpr std::uint64_t kMaxGuardBytes = std::uint64_t{1} << 40;

struct LoadingGuard {
  std::uint64_t total_bytes = 0;
  std::vector<std::byte> bytes;

  [[nodiscard]] bool is_complete() const noexcept { return bytes.size() == total_bytes; }
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
  /// Makes the guard once all bytes are there. Errors: corrupt, unsupported_version, out_of_space; then delete the key.
  [[nodiscard]] Result<void> finish_if_complete();

  [[nodiscard]] static std::size_t format() noexcept { return 0; }
  [[nodiscard]] static Result<std::unique_ptr<GuardKey>> load(Io* io, std::size_t format, int version);
  void save(Io* io) const;
  void rewrite(Io* io, String* name) const;
  void add_to(DigestState* digest) const;
  [[nodiscard]] Result<std::unique_ptr<GuardKey>> copy() const { return make(image()); }

  [[nodiscard]] static std::uint64_t alive() noexcept { return Counted<GuardKey>::alive(); }
  /// An estimate, since allocators' overhead is unknown. Cost: a few sums.
  [[nodiscard]] std::size_t memory_bytes() const noexcept;

 private:
  [[nodiscard]] static Result<std::unique_ptr<GuardKey>> make(LoadingGuard image);
  /// The total size and the bytes present. Cost: serializes the guard. Errors: std::bad_alloc.
  [[nodiscard]] LoadingGuard image() const;

  std::unique_ptr<Guard> guard_;  ///< indirect: the engine may move this object, and some containers cannot move
  LoadingGuard loading_;          ///< used if there is no guard
  [[no_unique_address]] Counted<GuardKey> counted_;
};

}  // namespace mankai::redis
