// What a single durable change costs through dablooms.h, beside another library of the same interface: bitly's own,
// built with its Makefile outside of this tree.
//
//   dablooms_calls OURS.so THEIRS.so FOLDER KEYS...
//
// Both libraries are loaded into one process, and take turns: all keys are added to a bloom in FOLDER, checked and
// removed. Prints a line of TSV per call: ns of the calling thread's CPU time, medians of rounds, and the median of
// the paired ratios; bench/targets.tsv has its targets.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "bench/names.hpp"
#include "mankai/c/dablooms.h"

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

double cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

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

struct Counting {
  static constexpr const char* kName = "counting";

  Counting(const Library& library, std::size_t keys, const std::string& path)
      : add_(library.find<decltype(counting_bloom_add)>("counting_bloom_add")),
        check_(library.find<decltype(counting_bloom_check)>("counting_bloom_check")),
        remove_(library.find<decltype(counting_bloom_remove)>("counting_bloom_remove")),
        free_(library.find<decltype(free_counting_bloom)>("free_counting_bloom")),
        bloom_(library.find<decltype(new_counting_bloom)>("new_counting_bloom")(static_cast<unsigned>(keys), kRate,
                                                                                path.c_str())) {}
  void add(std::string_view key, std::uint64_t /*id*/) const { add_(bloom_, key.data(), key.size()); }
  void check(std::string_view key, std::uint64_t /*id*/) const { check_(bloom_, key.data(), key.size()); }
  void remove(std::string_view key, std::uint64_t /*id*/) const { remove_(bloom_, key.data(), key.size()); }
  void close() const { free_(bloom_); }

 private:
  decltype(counting_bloom_add)* add_;
  decltype(counting_bloom_check)* check_;
  decltype(counting_bloom_remove)* remove_;
  decltype(free_counting_bloom)* free_;
  counting_bloom_t* bloom_;
};

struct Scaling {
  static constexpr const char* kName = "scaling";

  Scaling(const Library& library, std::size_t keys, const std::string& path)
      : add_(library.find<decltype(scaling_bloom_add)>("scaling_bloom_add")),
        check_(library.find<decltype(scaling_bloom_check)>("scaling_bloom_check")),
        remove_(library.find<decltype(scaling_bloom_remove)>("scaling_bloom_remove")),
        free_(library.find<decltype(free_scaling_bloom)>("free_scaling_bloom")),
        bloom_(library.find<decltype(new_scaling_bloom)>("new_scaling_bloom")(static_cast<unsigned>(keys), kRate,
                                                                              path.c_str())) {}
  void add(std::string_view key, std::uint64_t id) const { add_(bloom_, key.data(), key.size(), id); }
  void check(std::string_view key, std::uint64_t /*id*/) const { check_(bloom_, key.data(), key.size()); }
  void remove(std::string_view key, std::uint64_t id) const { remove_(bloom_, key.data(), key.size(), id); }
  void close() const { free_(bloom_); }

 private:
  decltype(scaling_bloom_add)* add_;
  decltype(scaling_bloom_check)* check_;
  decltype(scaling_bloom_remove)* remove_;
  decltype(free_scaling_bloom)* free_;
  scaling_bloom_t* bloom_;
};

template <class Call>
double spent(const Keys& keys, const Call& call) {
  const double start = cpu_ns();
  for (std::size_t i = 0; i < keys.size(); ++i) {
    call(keys[i], i);
  }
  return cpu_ns() - start;
}

template <class Bloom>
Nanoseconds turn(const Bloom& bloom, const Keys& keys) {
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

template <class Bloom>
void race(const Library& our_library, const Library& their_library, const std::string& folder, const Keys& keys) {
  const Bloom ours(our_library, keys.size(), folder + "/ours.bloom");
  const Bloom theirs(their_library, keys.size(), folder + "/theirs.bloom");
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
    std::printf("%s\t%zu\t%s\t%.1f\t%.1f\t%.2f\n", Bloom::kName, keys.size(), kCallNames[call], median(our_ns),
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
    race<Counting>(ours, theirs, argv[3], names.keys());
    race<Scaling>(ours, theirs, argv[3], names.keys());
  }
}
