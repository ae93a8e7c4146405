#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "mankai/filter/parts/filter_base.hpp"

namespace mankai {

/// What the kinds over one flat image share besides what they are: how they come from an image, and from each other.
/// `Derived` has `from_image`, and a private constructor that it alone calls.
template <class Derived>
class FlatFilter : public FilterBase {
 public:
  /// Copies an image. Errors: corrupt, unsupported_version, out_of_space.
  [[nodiscard]] static Result<Derived> from_bytes(std::span<const std::byte> bytes, Trust trust = Trust::checked,
                                                  const Memory& memory = system_memory()) {
    auto image = Image::from_bytes(bytes, trust, memory);
    return image ? Derived::from_image(std::move(*image)) : std::unexpected(image.error());
  }
  /// Uses an image where it stands; the bytes must be aligned to 64 and outlive the filter, which changes them when it
  /// is changed. Errors: corrupt, unsupported_version, invalid_argument.
  [[nodiscard]] static Result<Derived> attach(std::span<std::byte> bytes, Trust trust = Trust::checked) {
    auto image = Image::adopt(Region::borrow(bytes), trust);
    return image ? Derived::from_image(std::move(*image)) : std::unexpected(image.error());
  }

  /// Makes an empty filter that merges with this one: same hash, seed, size and shape, whatever formula sized it.
  /// Errors: out_of_space.
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
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): BitFilter, between it and the kinds, makes one, too
  explicit FlatFilter(Image image) noexcept : FilterBase(std::move(image)) {}
};

}  // namespace mankai
