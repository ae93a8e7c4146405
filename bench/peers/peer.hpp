#pragma once

/// What takes part in the race: rows of a list. A new competitor is a struct with some of the members that `Entrant`
/// looks for, and a row in the list of its file.

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/peers/operation.hpp"

namespace mankai::bench {

using Integer = std::uint64_t;
using Url = std::string_view;

/// A filled or empty competitor; virtual once per chunk of many keys, never per key.
template <class Key>
class Subject {
 public:
  Subject() = default;
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;
  virtual ~Subject() = default;

  [[nodiscard]] virtual bool offers(Operation operation) const = 0;
  [[nodiscard]] virtual double bits() const = 0;
  virtual void clear() = 0;
  virtual void fill(Operation how, std::span<const Key> keys) = 0;
  /// Returns how many were answered yes.
  [[nodiscard]] virtual std::uint64_t ask_singly(std::span<const Key> keys) const = 0;
  virtual void ask_in_batch(std::span<const Key> keys, std::span<bool> outcomes) const = 0;
};

/// The loops around a competitor's own calls, compiled with this program's flags.
template <class Key, class Filter>
class Entrant final : public Subject<Key> {
  static constexpr bool kInserts = requires(Filter f, Key key) { f.insert(key); };
  static constexpr bool kInsertsBatches = requires(Filter f, std::span<const Key> keys) { f.insert_batch(keys); };
  static constexpr bool kBuilds = requires(Filter f, std::span<const Key> keys) { f.build(keys); };
  static constexpr bool kAnswers = requires(const Filter f, Key key) {
    { f.may_contain(key) } -> std::same_as<bool>;
  };
  static constexpr bool kAnswersBatches = requires(const Filter f, std::span<const Key> keys,
                                                   std::span<bool> outcomes) { f.may_contain_batch(keys, outcomes); };

 public:
  Entrant(std::uint64_t keys, double fpr) : keys_(keys), fpr_(fpr) { filter_.emplace(keys, fpr); }

  [[nodiscard]] bool offers(Operation operation) const override {
    switch (operation) {
      case Operation::insert: return kInserts;
      case Operation::insert_batch: return kInsertsBatches;
      case Operation::build: return kBuilds;
      default: return is_batch(operation) ? kAnswersBatches : kAnswers;
    }
  }
  [[nodiscard]] double bits() const override { return filter_->bits(); }
  void clear() override {
    if constexpr (requires(Filter f) { f.clear(); }) {
      filter_->clear();
    } else {
      filter_.reset();
      filter_.emplace(keys_, fpr_);
    }
  }
  void fill([[maybe_unused]] Operation how, std::span<const Key> keys) override {
    if constexpr (kInserts) {
      if (how == Operation::insert) {
        for (const Key& key : keys) {
          filter_->insert(key);
        }
      }
    }
    if constexpr (kInsertsBatches) {
      if (how == Operation::insert_batch) {
        filter_->insert_batch(keys);
      }
    }
    if constexpr (kBuilds) {
      if (how == Operation::build) {
        filter_->build(keys);
      }
    }
  }
  [[nodiscard]] std::uint64_t ask_singly([[maybe_unused]] std::span<const Key> keys) const override {
    std::uint64_t found = 0;
    if constexpr (kAnswers) {
      const Filter& filter = *filter_;
      for (const Key& key : keys) {
        found += static_cast<std::uint64_t>(filter.may_contain(key));
      }
    }
    return found;
  }
  void ask_in_batch([[maybe_unused]] std::span<const Key> keys,
                    [[maybe_unused]] std::span<bool> outcomes) const override {
    if constexpr (kAnswersBatches) {
      filter_->may_contain_batch(keys, outcomes);
    }
  }

 private:
  std::uint64_t keys_;
  double fpr_;
  std::optional<Filter> filter_;
};

enum class Side : std::uint8_t {
  ours,
  peer,   ///< another library's filter
  exact,  ///< a set that never errs
  limit,  ///< what the machine allows at best
};

/// One row.
template <class Key>
struct Peer {
  std::string_view name;
  Side side = Side::peer;
  std::string version;
  /// Slow rows are asked one of so many queries, and filled only a few times where there are many keys.
  unsigned slowness = 1;
  std::uint64_t max_keys = std::numeric_limits<std::uint64_t>::max();
  std::unique_ptr<Subject<Key>> (*create)(std::uint64_t keys, double fpr) = nullptr;
  std::string missing;  ///< why there is nothing to create
};

template <class Key, class Filter>
std::unique_ptr<Subject<Key>> create(std::uint64_t keys, double fpr) {
  return std::make_unique<Entrant<Key, Filter>>(keys, fpr);
}

template <class Key>
using Peers = std::vector<Peer<Key>>;

/// The rows of each file, for integers and for URLs.
struct PeerLists {
  Peers<Integer> integers;
  Peers<Url> urls;
};
void add_mankai(PeerLists& lists);
void add_boost(PeerLists& lists);
void add_fastfilter(PeerLists& lists);
void add_rocksdb(PeerLists& lists);
void add_exact_sets(PeerLists& lists);
void add_limits(PeerLists& lists);

}  // namespace mankai::bench
