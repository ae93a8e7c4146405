#include "mankai/guard/detail/tombstones.hpp"

#include <algorithm>
#include <cstring>

namespace mankai::detail {

bool Tombstones::take(Digest rule, std::uint64_t id, std::size_t base_ids) {
  Entry& entry = rules_[rule.value];
  const std::size_t bytes_before = entry.taken.memory_bytes();
  if (!entry.taken.insert(id)) {
    return false;
  }
  id_bytes_ += entry.taken.memory_bytes() - bytes_before;
  if (!entry.is_dead && entry.taken.size() >= base_ids) {
    entry.is_dead = true;
    ++dead_count_;
  }
  return true;
}

bool Tombstones::give_back(Digest rule, std::uint64_t id) {
  const auto found = rules_.find(rule.value);
  if (found == rules_.end() || !found->second.taken.contains(id)) {
    return false;
  }
  const std::size_t bytes_before = found->second.taken.memory_bytes();
  found->second.taken.erase(id);
  id_bytes_ -= bytes_before - found->second.taken.memory_bytes();
  dead_count_ -= found->second.is_dead ? 1 : 0;
  found->second.is_dead = false;
  if (found->second.taken.is_empty()) {
    rules_.erase(found);
  }
  return true;
}

std::vector<std::byte> Tombstones::to_bytes() const {
  std::vector<Taken> all;
  for (const auto& [rule, entry] : rules_) {
    entry.taken.for_each([&, key = rule](std::uint64_t id) { all.push_back({.rule = key, .id = id}); });
  }
  std::ranges::sort(all);
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

Result<std::vector<Tombstones::Taken>> Tombstones::read(std::span<const std::byte> bytes) {
  if (bytes.size() % sizeof(Taken) != 0) {
    return fail(ErrorCode::corrupt, "tombstones: the last one is truncated");
  }
  std::vector<Taken> all(bytes.size() / sizeof(Taken));
  if (!all.empty()) {
    std::memcpy(all.data(), bytes.data(), bytes.size());
  }
  if (std::ranges::adjacent_find(all, std::ranges::greater_equal()) != all.end()) {
    return fail(ErrorCode::corrupt, "tombstones: out of order");
  }
  return all;
}

}  // namespace mankai::detail
