// RocksDB's full-filter policy (FastLocalBloom). The library offers no other way to it than two classes that its public
// headers leave incomplete, so this file declares them again, for the one version whose layout was checked.

#include "bench/peers/peer.hpp"

#if MANKAI_BENCH_ROCKSDB && __has_include(<rocksdb/version.h>)
#include <rocksdb/version.h>
#if ROCKSDB_MAJOR == 7 && ROCKSDB_MINOR == 8
#define MANKAI_BENCH_ROCKSDB_ROWS 1
#endif
#endif

#ifdef MANKAI_BENCH_ROCKSDB_ROWS

#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rocksdb {

// Only the virtual functions up to the last one called: their order is what matters.
class FilterBitsBuilder {
 public:
  virtual ~FilterBitsBuilder() = default;
  virtual void AddKey(const Slice& key) = 0;
  virtual size_t EstimateEntriesAdded() = 0;
  virtual Slice Finish(std::unique_ptr<const char[]>* buffer) = 0;
};

class FilterBitsReader {
 public:
  virtual ~FilterBitsReader() = default;
  virtual bool MayMatch(const Slice& entry) = 0;
  virtual void MayMatch(int count, Slice** keys, bool* may_match) = 0;
};

}  // namespace rocksdb

namespace mankai::bench {
namespace {

constexpr std::size_t kBatch = 32;  // the most that its batch call takes

rocksdb::Slice slice(const Integer& key) { return {reinterpret_cast<const char*>(&key), sizeof(key)}; }
rocksdb::Slice slice(const Url& key) { return {key.data(), key.size()}; }

// The budget whose measured rate meets the class: 9.9 bits per key for 1 %, 15.5 for 0.1 %.
double bits_per_key(double fpr) { return 9.9 + 5.6 * std::log10(0.01 / fpr); }

template <class Key>
struct RocksFilter {
  std::unique_ptr<const rocksdb::FilterPolicy> policy;
  rocksdb::BlockBasedTableOptions options;
  std::unique_ptr<const char[]> buffer;
  rocksdb::Slice contents;
  std::unique_ptr<rocksdb::FilterBitsReader> reader;

  RocksFilter(std::uint64_t /*keys*/, double fpr) : policy(rocksdb::NewBloomFilterPolicy(bits_per_key(fpr))) {}
  [[nodiscard]] double bits() const { return static_cast<double>(contents.size()) * 8; }
  void build(std::span<const Key> keys) {
    const rocksdb::FilterBuildingContext context(options);
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(policy->GetBuilderWithContext(context));
    for (const Key& key : keys) {
      builder->AddKey(slice(key));
    }
    contents = builder->Finish(&buffer);
    reader.reset(policy->GetFilterBitsReader(contents));
  }
  [[nodiscard]] bool may_contain(const Key& key) const { return reader->MayMatch(slice(key)); }
  void may_contain_batch(std::span<const Key> keys, std::span<bool> outcomes) const {
    std::array<rocksdb::Slice, kBatch> slices;
    std::array<rocksdb::Slice*, kBatch> pointers;
    for (std::size_t i = 0; i < kBatch; ++i) {
      pointers[i] = &slices[i];
    }
    for (std::size_t start = 0; start < keys.size(); start += kBatch) {
      const std::size_t count = std::min(kBatch, keys.size() - start);
      for (std::size_t i = 0; i < count; ++i) {
        slices[i] = slice(keys[start + i]);
      }
      reader->MayMatch(static_cast<int>(count), pointers.data(), outcomes.data() + start);
    }
  }
};

template <class Key>
Peer<Key> row() {
  return {.name = "rocksdb",
          .version =
              std::to_string(ROCKSDB_MAJOR) + '.' + std::to_string(ROCKSDB_MINOR) + '.' + std::to_string(ROCKSDB_PATCH),
          .slowness = 2,
          .create = create<Key, RocksFilter<Key>>,
          .missing = {}};
}

}  // namespace

void add_rocksdb(PeerLists& lists) {
  lists.integers.push_back(row<Integer>());
  lists.urls.push_back(row<Url>());
}

}  // namespace mankai::bench

#else

namespace mankai::bench {

void add_rocksdb(PeerLists& lists) {
  constexpr const char* kReason = "no RocksDB 7.8 was found (librocksdb-dev); other versions have another layout";
  lists.integers.push_back({.name = "rocksdb", .version = {}, .missing = kReason});
  lists.urls.push_back({.name = "rocksdb", .version = {}, .missing = kReason});
}

}  // namespace mankai::bench

#endif
