#include "modules/redis/topk/any.hpp"

namespace mankai::redis {

TopSettings AnyTopList::settings() const noexcept {
  if (ours() != nullptr) {
    return ours()->settings();
  }
  const auto [most, width, depth, decay] = theirs()->shape();
  return {.most = most, .width = width, .depth = depth, .decay = decay};
}

void AnyTopList::prefetch(std::span<const std::string_view> items, std::span<Digest> digests) const noexcept {
  if (ours() != nullptr) {
    ours()->prefetch(items, digests);
  }
}

std::vector<TopList::Item> AnyTopList::items(Time at) const {
  if (ours() != nullptr) {
    return ours()->items(at);
  }
  std::vector<TopList::Item> items;
  for (const auto& [text, count] : theirs()->list()) {
    items.push_back({.text = text, .count = static_cast<double>(count)});
  }
  return items;
}

}  // namespace mankai::redis
