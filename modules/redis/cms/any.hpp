#pragma once

/// The value of a CMS.* key: a sketch of ours, or one in RedisBloom's layout, which has RedisBloom's counts.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/takeover/count_min.hpp"
#include "modules/redis/cms/value.hpp"
#include "modules/redis/image/either.hpp"

namespace mankai::redis {

class AnySketch : public Either<AnySketch, Sketch, takeover::CountMin> {
 public:
  /// An engine stores one version per type, and RedisBloom below 8.12 loads only version 0 of its own, whose cells have
  /// 4 bytes. So the others have a type of ours, with the fields of version 1.
  static constexpr std::array kForeignFormats = {
      Format{.type_name = takeover::CountMin::kTypeName, .version = 0, .newest_read = 1},
      Format{.type_name = "mankai-cs", .version = 1}};
  static constexpr std::size_t kWindow = Sketch::kWindow;  ///< items per call of `add` and `count`, at most

  using Count = takeover::CountMin::Count;
  using Shape = takeover::CountMinShape;
  /// A sketch with a weight, to be merged.
  struct Term {
    const AnySketch* sketch;
    std::int64_t weight;
  };

  explicit AnySketch(Sketch ours) noexcept : Either(std::move(ours)) {}
  /// Errors: std::bad_alloc.
  explicit AnySketch(takeover::CountMin theirs) : Either(std::move(theirs)) {}

  [[nodiscard]] Shape shape() const noexcept;
  [[nodiscard]] std::uint64_t cell_count() const noexcept { return shape().width * shape().depth; }
  /// The sum of all increments, modulo 2^64.
  [[nodiscard]] std::uint64_t total() const noexcept;
  /// Whether it is as RedisBloom has them since 8.12 only: with cells of another size than 4 bytes.
  [[nodiscard]] bool is_of_8_12() const noexcept { return foreign_format() == 1; }

  /// Adds increments in order. Shape: items[c], increments[c], counts[c]: after each of them; c <= kWindow. Pre: those
  /// of our sketches are not negative.
  void add(std::span<const std::string_view> items, std::span<const std::int64_t> increments,
           std::span<Count> counts) noexcept;
  /// Shape: items[c], counts[c], c <= kWindow.
  void count(std::span<const std::string_view> items, std::span<Count> counts) const noexcept;

  /// Returns the error to reply if another sketch cannot be merged with this one, else null.
  [[nodiscard]] const char* difference_from(const AnySketch& other) const noexcept;
  /// Replaces the cells by the sum of weighted ones. Returns false, and changes nothing, if a sum leaves its range.
  /// Errors: std::bad_alloc. Pre: no difference_from any of them.
  [[nodiscard]] bool assign_sum(std::span<const Term> terms);
};

}  // namespace mankai::redis
