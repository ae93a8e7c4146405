// What a single durable change costs through dablooms.h, beside another library of the same interface: bitly's own,
// built with its Makefile outside of this tree.
//
//   dablooms_calls OURS.so THEIRS.so FOLDER KEYS...
//
// Both libraries are loaded into one process, and take turns: all keys are added to a bloom in FOLDER, checked and
// removed. Prints a line of TSV per call: ns of the calling thread's CPU time, medians of rounds, and the median of
// the paired ratios; bench/targets.tsv has its targets. The rows `memory` and `floor` have limits in place of ours.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/names.hpp"
#include "bench/peers/clock.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/base/region.hpp"
#include "mankai/c/dablooms.h"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"

namespace mankai::bench {
namespace {

constexpr double kRate = 0.01;
/// Calls per turn, at least.
constexpr std::size_t kCalls = 1'000'000;
constexpr std::size_t kRounds = 7;
constexpr std::size_t kLargeRounds = 3;

constexpr std::array kCallNames = {"add", "check", "remove"};
using Keys = std::vector<std::string_view>;
using Nanoseconds = std::array<double, kCallNames.size()>;

class Library {
 public:
  explicit Library(const char* path) : handle_(::dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_ == nullptr) {
      std::fprintf(stderr, "%s\n", ::dlerror());
      std::exit(2);
    }
  }
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(handle_, name));
  }

 private:
  void* handle_;
};

/// The calls of a library on counting_bloom_t or scaling_bloom_t.
template <class Handle>
class Calls {
  static constexpr bool kHasIds = std::is_same_v<Handle, scaling_bloom_t>;
  using Change = std::conditional_t<kHasIds, decltype(scaling_bloom_add), decltype(counting_bloom_add)>;

 public:
  static constexpr const char* kName = kHasIds ? "scaling" : "counting";

  Calls(const Library& library, std::size_t keys, const std::string& path)
      : add_(find<Change>(library, "", "_add")),
        check_(find<int(Handle*, const char*, std::size_t)>(library, "", "_check")),
        remove_(find<Change>(library, "", "_remove")),
        free_(find<int(Handle*)>(library, "free_", "")),
        bloom_(find<Handle*(unsigned int, double, const char*)>(library, "new_", "")(static_cast<unsigned>(keys), kRate,
                                                                                     path.c_str())) {}
  void add(std::string_view key, std::uint64_t id) const { change(add_, key, id); }
  void check(std::string_view key, std::uint64_t /*id*/) const { check_(bloom_, key.data(), key.size()); }
  void remove(std::string_view key, std::uint64_t id) const { change(remove_, key, id); }
  void close() const { free_(bloom_); }

 private:
  template <class Function>
  static Function* find(const Library& library, const std::string& before, const char* after) {
    return library.find<Function>((before + kName + "_bloom" + after).c_str());
  }
  void change(Change* call, std::string_view key, std::uint64_t id) const {
    if constexpr (kHasIds) {
      call(bloom_, key.data(), key.size(), id);
    } else {
      call(bloom_, key.data(), key.size());
    }
  }

  Change* add_;
  int (*check_)(Handle*, const char*, std::size_t);
  Change* remove_;
  int (*free_)(Handle*);
  Handle* bloom_;
};

/// The same counters in memory, without a store: what durability costs.
class InMemory {
 public:
  static constexpr const char* kName = "memory";

  InMemory(const Library& /*library*/, std::size_t keys, const std::string& /*path*/)
      : filter_(CountingBloom::create({.keys = keys, .fpr = kRate}).value()), hash_(filter_.hasher()) {}
  void add(std::string_view key, std::uint64_t /*id*/) { filter_.insert(hash_(key)); }
  void check(std::string_view key, std::uint64_t /*id*/) { found_ += filter_.may_contain(hash_(key)) ? 1 : 0; }
  void remove(std::string_view key, std::uint64_t /*id*/) { static_cast<void>(filter_.erase(hash_(key))); }
  void close() const {}

 private:
  CountingBloom filter_;
  Hasher hash_;
  std::uint64_t found_ = 0;
};

/// Only what every durable change does: the hash, a line of counters, a lock, and 16 bytes of a file in memory.
class Floor {
 public:
  static constexpr const char* kName = "floor";

  Floor(const Library& /*library*/, std::size_t keys, const std::string& /*path*/)
      : hash_(HashSpec::random()),
        cells_(Region::allocate(system_memory(), CountingBloom::create({.keys = keys, .fpr = kRate})->cells_bytes())
                   .value()),
        lines_(reinterpret_cast<Line*>(cells_.bytes().data()), cells_.size() / sizeof(Line)) {}
  void add(std::string_view key, std::uint64_t /*id*/) { change(hash_(key), 1); }
  void check(std::string_view key, std::uint64_t /*id*/) { found_ += line_of(hash_(key)).counters[0]; }
  void remove(std::string_view key, std::uint64_t /*id*/) { change(hash_(key), ~std::uint64_t{0}); }
  void close() const {}

 private:
  struct alignas(kCacheLineBytes) Line {
    std::array<std::uint64_t, 8> counters;
  };

  Line& line_of(Digest digest) { return lines_[fastrange(digest.value, lines_.size())]; }
  void change(Digest digest, std::uint64_t more) {
    Line& line = line_of(digest);
    prefetch_line(&line);
    const std::scoped_lock lock(mutex_);
    journal_[next_] = {digest.value, more};
    next_ = (next_ + 1) % journal_.size();
    line.counters[0] += more;
  }

  Hasher hash_;
  Region cells_;
  std::span<Line> lines_;
  std::vector<std::array<std::uint64_t, 2>> journal_{std::size_t{64} << 16U};
  std::size_t next_ = 0;
  std::uint64_t found_ = 0;
  std::mutex mutex_;
};

template <class Call>
double spent(const Keys& keys, const Call& call) {
  const double start = thread_cpu_ns();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    call(keys[i], i);
  }
  return thread_cpu_ns() - start;
}

template <class Bloom>
Nanoseconds turn(Bloom& bloom, const Keys& keys) {
  const std::size_t passes = std::max<std::size_t>(1, kCalls / keys.size());
  Nanoseconds ns{};
  for (std::size_t pass = 0; pass < passes; ++pass) {
    ns[0] += spent(keys, [&](auto key, auto id) { bloom.add(key, id); });
    ns[1] += spent(keys, [&](auto key, auto id) { bloom.check(key, id); });
    ns[2] += spent(keys, [&](auto key, auto id) { bloom.remove(key, id); });
  }
  for (double& each : ns) {
    each /= static_cast<double>(passes * keys.size());
  }
  return ns;
}

template <class Ours, class Theirs = Ours>
void race(const Library& our_library, const Library& their_library, const std::string& folder, const Keys& keys) {
  Ours ours(our_library, keys.size(), folder + "/ours.bloom");
  Theirs theirs(their_library, keys.size(), folder + "/theirs.bloom");
  std::vector<Nanoseconds> our_turns;
  std::vector<Nanoseconds> their_turns;
  for (std::size_t round = 0; round <= (keys.size() > kCalls ? kLargeRounds : kRounds); ++round) {
    our_turns.push_back(turn(ours, keys));
    their_turns.push_back(turn(theirs, keys));
  }
  ours.close();
  theirs.close();
  for (std::size_t call = 0; call < kCallNames.size(); ++call) {
    std::vector<double> our_ns;
    std::vector<double> their_ns;
    std::vector<double> ratios;
    for (std::size_t round = 1; round < our_turns.size(); ++round) {  // the first one touches the files
      our_ns.push_back(our_turns[round][call]);
      their_ns.push_back(their_turns[round][call]);
      ratios.push_back(their_ns.back() / our_ns.back());
    }
    std::printf("%s\t%zu\t%s\t%.1f\t%.1f\t%.2f\n", Ours::kName, keys.size(), kCallNames[call], median(our_ns),
                median(their_ns), median(ratios));
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace mankai::bench

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fputs("usage: dablooms_calls OURS.so THEIRS.so FOLDER KEYS...\n", stderr);
    return 2;
  }
  using namespace mankai::bench;  // NOLINT(google-build-using-namespace)
  const Library ours(argv[1]);
  const Library theirs(argv[2]);
  std::puts("bloom\tkeys\tcall\tours_ns\ttheirs_ns\ttheirs_over_ours");
  for (int i = 4; i < argc; ++i) {
    const Names names(static_cast<std::size_t>(std::strtod(argv[i], nullptr)));
    race<Calls<counting_bloom_t>>(ours, theirs, argv[3], names.keys());
    race<Calls<scaling_bloom_t>>(ours, theirs, argv[3], names.keys());
    race<InMemory, Calls<counting_bloom_t>>(ours, theirs, argv[3], names.keys());
    race<Floor, Calls<counting_bloom_t>>(ours, theirs, argv[3], names.keys());
  }
}
