#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "bench/peers/options.hpp"
#include "bench/peers/samples.hpp"

namespace mankai::bench {

/// Whether this program was compiled with -march=native, and its flags.
#ifdef MANKAI_BENCH_NATIVE
inline constexpr bool kIsNative = true;
#else
inline constexpr bool kIsNative = false;
#endif

/// A peer and its version, or why it is missing.
struct Presence {
  std::string name;
  std::string version;
  std::string missing;
};

/// Writes what was measured as TSV (peers-plain.tsv or peers-native.tsv) and as tables to read.
class Report {
 public:
  /// Errors: `is_open` tells whether the file could be made.
  Report(const Options& options, const std::vector<Presence>& presences);
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;
  ~Report();

  [[nodiscard]] bool is_open() const { return peers_ != nullptr; }
  void add(const Table& table);

 private:
  void write_rows(const Table& table);

  std::FILE* peers_;
};

}  // namespace mankai::bench
