#pragma once

#include <string>
#include <vector>

#include "mankai/store/store.hpp"
#include "tests/support/requests.hpp"

namespace mankai::test {

/// Asks a store for what a request says: one batch of it, unless the store is within one.
inline Result<void> asked(Store& store, const Request& request) {
  const auto keys = request.views();
  std::vector<EraseResult> erased(keys.size());
  switch (request.operation) {
    case Operation::insert: return store.insert(keys);
    case Operation::insert_with_ids: return store.insert(keys, request.ids);
    case Operation::insert_at: return store.insert(keys, request.times);
    case Operation::insert_until: return store.insert_until(keys, request.times);
    case Operation::erase: return store.erase(keys, erased);
    case Operation::erase_with_ids: return store.erase(keys, request.ids, erased);
    case Operation::put: return store.put(keys, request.values, request.strength);
    case Operation::advance: break;
  }
  return store.advance(request.time);
}

/// What a store is at one moment, to the last byte.
struct StoreState {
  std::uint64_t sequence = 0;
  std::string position = {};
  std::vector<std::byte> image = {};

  friend bool operator==(const StoreState&, const StoreState&) = default;
};

inline StoreState state_of(const Store& store) {
  return {.sequence = store.sequence(),
          .position = std::string(store.position().view()),
          .image = image_of(store.filter())};
}

}  // namespace mankai::test
