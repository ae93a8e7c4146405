// What a single durable change costs through dablooms.h, beside another library of the same interface: bitly's own,
// built with its Makefile outside of this tree.
//
//   dablooms_calls OURS.so THEIRS.so FOLDER KEYS...
//
// Both libraries are loaded into one process, and take turns of a few milliseconds, together with two limits, the rows
// `memory` and `floor`: all keys are added to blooms in FOLDER, checked and removed. Prints a line of TSV per call: ns
// of the calling thread's CPU time, medians of rounds, and the median, least and most of the paired ratios;
// bench/targets.tsv has its targets.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
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
/// Calls per round, at least.
constexpr std::size_t kCalls = 1'000'000;
/// Calls per turn: enough to fill the caches again, few enough that the machine's memory rarely changes its speed.
constexpr std::size_t kChunk = 100'000;
constexpr std::size_t kRounds = 5;

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
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls() { free_(bloom_); }

  void add(std::string_view key, std::uint64_t id) const { change(add_, key, id); }
  void check(std::string_view key, std::uint64_t /*id*/) const { check_(bloom_, key.data(), key.size()); }
  void remove(std::string_view key, std::uint64_t id) const { change(remove_, key, id); }

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

 private:
  struct alignas(kCacheLineBytes) Line {
    std::array<std::uint64_t, 8> counters;
  };

  Line& line_of(Digest digest) { return lines_[fastrange(digest.value, lines_.size())]; }
  void change(Digest digest, std::uint64_t more) {
    Line& line = line_of(digest);
    prefetch_line(&line);
    // As a store locks where nobody waits.
    is_locked_.exchange(true, std::memory_order_acquire);
    journal_[next_] = {digest.value, more};
    next_ = (next_ + 1) % journal_.size();
    line.counters[0] += more;
    is_locked_.store(false, std::memory_order_release);
  }

  Hasher hash_;
  Region cells_;
  std::span<Line> lines_;
  std::vector<std::array<std::uint64_t, 2>> journal_{std::size_t{64} << 16U};
  std::size_t next_ = 0;
  std::uint64_t found_ = 0;
  std::atomic<bool> is_locked_ = false;
};

/// A bloom, or a limit in its place, of which a turn makes a chunk of calls.
class Contestant {
 public:
  Contestant() = default;
  Contestant(const Contestant&) = delete;
  Contestant& operator=(const Contestant&) = delete;
  virtual ~Contestant() = default;
  virtual void call(std::size_t number, std::span<const std::string_view> keys, std::uint64_t first_id) = 0;
};

template <class Bloom>
class ContestantOf final : public Contestant {
 public:
  ContestantOf(const Library& library, std::size_t keys, const std::string& path) : bloom_(library, keys, path) {}

  void call(std::size_t number, std::span<const std::string_view> keys, std::uint64_t first_id) override {
    switch (number) {
      case 0: return each(keys, first_id, [this](auto key, auto id) { bloom_.add(key, id); });
      case 1: return each(keys, first_id, [this](auto key, auto id) { bloom_.check(key, id); });
      default: return each(keys, first_id, [this](auto key, auto id) { bloom_.remove(key, id); });
    }
  }

 private:
  template <class Call>
  static void each(std::span<const std::string_view> keys, std::uint64_t first_id, const Call& call) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      call(keys[i], first_id + i);
    }
  }

  Bloom bloom_;
};

struct Entry {
  const char* name;
  std::unique_ptr<Contestant> (*make)(const Library&, std::size_t keys, const std::string& path);
};

template <class Bloom>
constexpr Entry kEntry = {Bloom::kName, [](const Library& library, std::size_t keys, const std::string& path) {
                            return std::unique_ptr<Contestant>(new ContestantOf<Bloom>(library, keys, path));
                          }};

/// All keys, added, checked and removed; a turn is a chunk, and the order of turns rotates. Adds to `ns`.
void pass(std::span<const std::unique_ptr<Contestant>> contestants, const Keys& keys, std::span<Nanoseconds> ns) {
  const std::span all(keys);
  for (std::size_t call = 0; call < kCallNames.size(); ++call) {
    for (std::size_t start = 0; start < all.size(); start += kChunk) {
      const auto chunk = all.subspan(start, std::min(kChunk, all.size() - start));
      for (std::size_t i = 0; i < contestants.size(); ++i) {
        const std::size_t turn = (i + start / kChunk) % contestants.size();
        const double before = thread_cpu_ns();
        contestants[turn]->call(call, chunk, start);
        ns[turn][call] += thread_cpu_ns() - before;
      }
    }
  }
}

/// The first of the entries is theirs. Each round makes all of them anew, as the pages that they get differ in speed.
void race(std::span<const Entry> entries, const Library& ours, const Library& theirs, const std::string& folder,
          const Keys& keys) {
  const std::size_t passes = std::max<std::size_t>(1, kCalls / keys.size());
  std::vector<std::vector<Nanoseconds>> rounds(kRounds, std::vector<Nanoseconds>(entries.size()));
  for (auto& round : rounds) {
    std::vector<std::unique_ptr<Contestant>> contestants;
    for (const Entry& entry : entries) {
      const bool is_theirs = contestants.empty();
      contestants.push_back(
          entry.make(is_theirs ? theirs : ours, keys.size(), folder + (is_theirs ? "/theirs.bloom" : "/ours.bloom")));
    }
    std::vector<Nanoseconds> unused(entries.size());
    pass(contestants, keys, unused);  // touches the pages
    for (std::size_t i = 0; i < passes; ++i) {
      pass(contestants, keys, round);
    }
  }
  for (std::size_t entry = 1; entry < entries.size(); ++entry) {
    for (std::size_t call = 0; call < kCallNames.size(); ++call) {
      std::vector<double> our_ns;
      std::vector<double> their_ns;
      std::vector<double> ratios;
      for (const auto& round : rounds) {
        our_ns.push_back(round[entry][call] / static_cast<double>(passes * keys.size()));
        their_ns.push_back(round[0][call] / static_cast<double>(passes * keys.size()));
        ratios.push_back(their_ns.back() / our_ns.back());
      }
      const auto [least, most] = std::ranges::minmax(ratios);
      std::printf("%s\t%zu\t%s\t%.1f\t%.1f\t%.2f\t%.2f\t%.2f\n", entries[entry].name, keys.size(), kCallNames[call],
                  median(our_ns), median(their_ns), median(ratios), least, most);
      std::fflush(stdout);
    }
  }
}

constexpr std::array kCounting = {kEntry<Calls<counting_bloom_t>>, kEntry<Calls<counting_bloom_t>>, kEntry<InMemory>,
                                  kEntry<Floor>};
constexpr std::array kScaling = {kEntry<Calls<scaling_bloom_t>>, kEntry<Calls<scaling_bloom_t>>};

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
  std::puts("bloom\tkeys\tcall\tours_ns\ttheirs_ns\ttheirs_over_ours\tleast\tmost");
  for (int i = 4; i < argc; ++i) {
    const Names names(static_cast<std::size_t>(std::strtod(argv[i], nullptr)));
    race(kCounting, ours, theirs, argv[3], names.keys());
    race(kScaling, ours, theirs, argv[3], names.keys());
  }
}
