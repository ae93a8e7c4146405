#pragma once

/// The value of a TOPK.* key: a list of ours, or one in RedisBloom's layout, which has RedisBloom's counts.

#include <array>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/takeover/heavy_keeper.hpp"
#include "modules/redis/image/either.hpp"
#include "modules/redis/topk/value.hpp"

namespace mankai::redis {

/// Members without documentation are as TopList's.
class AnyTopList : public Either<AnyTopList, TopList, takeover::HeavyKeeper> {
 public:
  static constexpr std::array kForeignFormats = {
      Format{.type_name = takeover::HeavyKeeper::kTypeName, .version = takeover::HeavyKeeper::encver()}};
  static_assert(TopList::kMostIncrement == takeover::HeavyKeeper::kMostIncrement);

  explicit AnyTopList(TopList ours) noexcept : Either(std::move(ours)) {}
  /// Errors: std::bad_alloc.
  explicit AnyTopList(takeover::HeavyKeeper theirs) : Either(std::move(theirs)) {}

  [[nodiscard]] TopSettings settings() const noexcept;
  [[nodiscard]] std::uint32_t most() const noexcept {
    return ours() != nullptr ? ours()->most() : theirs()->shape().most;
  }
  [[nodiscard]] bool decays() const noexcept { return ours() != nullptr && ours()->decays(); }
  [[nodiscard]] Time newest() const noexcept { return ours() != nullptr ? ours()->newest() : Time{}; }

  /// Without effect on RedisBloom's.
  void prefetch(std::span<const std::string_view> items, std::span<Digest> digests) const noexcept;
  /// Counts an item, and calls `use(expelled)` with the item that it expelled, if any. Returns whether the list may
  /// have changed: an increment of 0 can enter an item into a list of RedisBloom. Pre: as TopList::add, and `prefetch`
  /// of the item. Errors: out_of_space; then nothing has changed.
  template <class Use>
  [[nodiscard]] Result<bool> add(Digest digest, std::string_view item, std::uint32_t increment, Time at,
                                 const Use& use);

  [[nodiscard]] bool is_listed(std::string_view item) const noexcept {
    return ours() != nullptr ? ours()->is_listed(item) : theirs()->is_listed(item);
  }
  [[nodiscard]] double count(std::string_view item, Time at) const noexcept {
    return ours() != nullptr ? ours()->count(item, at) : theirs()->count(item);
  }
  /// Sorted by descending counts; equal ones of RedisBloom's list are in its order.
  [[nodiscard]] std::vector<TopList::Item> items(Time at) const;
};

template <class Use>
Result<bool> AnyTopList::add(Digest digest, std::string_view item, std::uint32_t increment, Time at, const Use& use) {
  std::optional<std::string_view> expelled;
  if (theirs() != nullptr) {
    try {
      const std::optional<std::string> text = theirs()->add(item, increment);
      use(text ? std::optional<std::string_view>(*text) : std::nullopt);
      return true;
    } catch (const std::bad_alloc&) {
      return fail(ErrorCode::out_of_space, {});
    }
  }
  if (increment != 0) {
    MANKAI_ASSIGN(expelled, ours()->add(digest, item, increment, at));
  }
  use(expelled);
  return increment != 0;
}

}  // namespace mankai::redis
