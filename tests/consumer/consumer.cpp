// What a user's program looks like: compiled with plain -O2 against the installed tree.
#include <cstdint>
#include <cstdio>
#include <vector>

#include <mankai/mankai.hpp>

int main() {
  auto filter = mankai::BlockedBloom::create({.keys = 10'000, .fpr = 0.01});
  if (!filter) {
    std::fprintf(stderr, "%s\n", filter.error().message().c_str());
    return 1;
  }
  const mankai::Hasher hash = filter->hasher();
  std::vector<std::uint64_t> keys(10'000);
  for (std::uint64_t i = 0; i < keys.size(); ++i) {
    keys[i] = i;
  }
  filter->insert(keys);
  std::size_t missing = 0;
  for (const std::uint64_t key : keys) {
    missing += static_cast<std::size_t>(!filter->may_contain(hash(key)));
  }
  auto seen = mankai::Seen::create();
  bool first = true;
  bool second = false;
  const bool is_done = seen->observe("https://example.org/", first).has_value() &&
                       seen->observe("https://example.org/", second).has_value();
  return missing == 0 && is_done && !first && second ? 0 : 1;
}
