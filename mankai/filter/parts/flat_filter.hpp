#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/filter_base.hpp"
#include "mankai/filter/parts/hash_windows.hpp"

namespace mankai {

/// Base of the kinds with one flat image: constructs filters from images. `Derived` has `from_image`, and a private
/// constructor that only it calls.
template <class Derived>
class FlatFilter : public FilterBase {
 public:
  /// Copies an image. Errors: corrupt, unsupported_version, out_of_space.
  [[nodiscard]] static Result<Derived> from_bytes(std::span<const std::byte> bytes, Trust trust = Trust::checked,
                                                  const Memory& memory = system_memory()) {
    auto image = Image::from_bytes(bytes, trust, memory);
    return image ? Derived::from_image(std::move(*image)) : std::unexpected(image.error());
  }
  /// Uses an image in place; writes change the bytes. Pre: aligned to 64; the bytes outlive the filter. Errors:
  /// corrupt, unsupported_version, invalid_argument.
  [[nodiscard]] static Result<Derived> attach(std::span<std::byte> bytes, Trust trust = Trust::checked) {
    auto image = Image::adopt(Region::borrow(bytes), trust);
    return image ? Derived::from_image(std::move(*image)) : std::unexpected(image.error());
  }

  /// Same hash, seed, size and shape, whatever formula sized it. Errors: out_of_space.
  [[nodiscard]] Result<Derived> create_like(const Memory& memory = system_memory()) const {
    MANKAI_ASSIGN(auto made, Image::create(image().header().kind,
                                           {.capacity_keys = capacity_keys(),
                                            .fpr_target = fpr_target(),
                                            .hash = hash(),
                                            .cells_bytes = cells_bytes(),
                                            .slice_tag = slice_tag()},
                                           memory));
    made.header().kind_params = image().header().kind_params;
    made.header().canonical_version = canonical_version();
    return Derived::from_image(std::move(made));
  }

 protected:
  /// Batches of integer keys. Kinds with batches of digests publish them by a using-declaration.
  void insert(std::span<const std::uint64_t> keys) {
    for_each_hashed_window(hasher(), keys, [this](std::size_t, std::span<const Digest> digests) {
      static_cast<Derived&>(*this).insert(digests);
    });
  }
  void may_contain(std::span<const std::uint64_t> keys, std::span<bool> outcomes) const noexcept {
    MANKAI_ASSERT(keys.size() == outcomes.size());
    for_each_hashed_window(hasher(), keys, [&](std::size_t start, std::span<const Digest> digests) {
      static_cast<const Derived&>(*this).may_contain(digests, outcomes.subspan(start, digests.size()));
    });
  }

  /// Observes beside other threads and processes: `insert(digest)` is called for absent keys, and returns whether it
  /// made the key present. Returns how many it did.
  template <class Insert>
  [[nodiscard]] std::uint64_t observe_absent(std::span<const Digest> digests, std::span<bool> seen,
                                             const Insert& insert) noexcept {
    static_cast<const Derived&>(*this).may_contain(digests, seen);
    std::uint64_t absent = 0;
    for (std::size_t i = 0; i < digests.size(); ++i) {
      if (!seen[i]) {
        seen[i] = !insert(digests[i]);
        absent += seen[i] ? 0U : 1U;
      }
    }
    return absent;
  }

  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): BitFilter, between it and the kinds, makes one, too
  explicit FlatFilter(Image image) noexcept : FilterBase(std::move(image)) {}
};

}  // namespace mankai
