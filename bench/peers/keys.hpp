#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/peers/peer.hpp"
#include "bench/random.hpp"

namespace mankai::bench {

/// What goes in, and what is asked: present keys, absent ones, and both in random order.
template <class Key>
struct KeySet {
  std::vector<Key> keys;
  std::vector<Key> hits;
  std::vector<Key> misses;
  std::vector<Key> mixed;
  std::vector<std::string> arenas;  ///< where URLs' bytes are

  [[nodiscard]] const std::vector<Key>& queries(Operation operation) const {
    switch (operation) {
      case Operation::hit:
      case Operation::batch_hit: return hits;
      case Operation::miss:
      case Operation::batch_miss: return misses;
      default: return mixed;
    }
  }
};

/// `count` keys and `queries` of each sort.
KeySet<Integer> make_integers(std::uint64_t count, std::size_t queries);
/// URLs of 60 bytes on average, most of them 45 to 95; the queries' bytes lie in arenas of their own, in the order of
/// asking, as those of a log do.
KeySet<Url> make_urls(std::uint64_t count, std::size_t queries);

}  // namespace mankai::bench
