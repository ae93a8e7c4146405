#include "mankai/c/detail/outcomes.hpp"

#include "mankai/c/detail/options.hpp"

namespace mankai::c {

mankai_top_entry* entries_for_caller(const std::vector<DecayedTop::Entry>& top) {
  if (top.empty()) {
    return nullptr;
  }
  std::size_t key_bytes = 0;
  for (const auto& entry : top) {
    key_bytes += entry.key.size();
  }
  void* memory = allocate_for_caller(top.size() * sizeof(mankai_top_entry) + key_bytes);
  auto* entries = static_cast<mankai_top_entry*>(memory);
  char* key = static_cast<char*>(memory) + top.size() * sizeof(mankai_top_entry);
  for (std::size_t i = 0; i < top.size(); ++i) {
    const auto& from = top[i];
    std::ranges::copy(from.key, key);
    new (entries + i) mankai_top_entry{.key = key,
                                       .bytes = from.key.size(),
                                       .count = as_c(from.count),
                                       .last_seen_us = us_of(from.last_seen),
                                       .is_cut = from.is_cut};
    key += from.key.size();
  }
  return entries;
}

}  // namespace mankai::c
