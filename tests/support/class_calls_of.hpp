#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "mankai/filter/parts/keyed_batch.hpp"
#include "tests/support/class_calls.hpp"

// How a class's table of calls is filled: included by the files that CMake makes, one for each kind.

namespace mankai::test {

template <class F>
struct CallsOf {
  static F& of(AnyFilter& filter) { return *filter.as<F>(); }
  static const F& of(const AnyFilter& filter) { return *filter.as<F>(); }

  /// Where paths of one segment end.
  static std::vector<std::uint32_t> ends_of(std::size_t count) {
    std::vector<std::uint32_t> ends(count);
    std::iota(ends.begin(), ends.end(), 1U);
    return ends;
  }

  static void insert(AnyFilter& filter, Digest digest) {
    if constexpr (AssociativeFilter<F>) {
      of(filter).put(digest, 0, 1);
    } else if constexpr (PathFilter<F>) {
      of(filter).insert(std::span<const Digest>(&digest, 1));
    } else {
      of(filter).insert(digest);
    }
  }
  static bool may_contain(const AnyFilter& filter, Digest digest) {
    if constexpr (AssociativeFilter<F>) {
      return of(filter).count(digest, 0) > 0;
    } else if constexpr (PathFilter<F>) {
      return of(filter).may_contain(std::span<const Digest>(&digest, 1));
    } else {
      return of(filter).may_contain(digest);
    }
  }
  static bool observe(AnyFilter& filter, Digest digest) {
    if constexpr (AssociativeFilter<F>) {
      const bool seen = may_contain(filter, digest);
      insert(filter, digest);
      return seen;
    } else if constexpr (PathFilter<F>) {
      return of(filter).observe(std::span<const Digest>(&digest, 1));
    } else {
      return of(filter).observe(digest);
    }
  }
  static void insert_batch(AnyFilter& filter, std::span<const Digest> digests) {
    if constexpr (AssociativeFilter<F>) {
      of(filter).put(digests, std::vector<std::uint32_t>(digests.size()), 1);
    } else if constexpr (PathFilter<F>) {
      of(filter).insert(digests, ends_of(digests.size()));
    } else {
      of(filter).insert(digests);
    }
  }
  static void may_contain_batch(const AnyFilter& filter, std::span<const Digest> digests, std::span<bool> outcomes) {
    if constexpr (AssociativeFilter<F>) {
      std::vector<std::uint32_t> counts(digests.size());
      of(filter).count(digests, std::vector<std::uint32_t>(digests.size()), counts);
      std::ranges::transform(counts, outcomes.begin(), [](std::uint32_t count) { return count > 0; });
    } else if constexpr (PathFilter<F>) {
      of(filter).may_contain(digests, ends_of(digests.size()), outcomes);
    } else {
      of(filter).may_contain(digests, outcomes);
    }
  }
  static void observe_batch(AnyFilter& filter, std::span<const Digest> digests, std::span<bool> seen) {
    if constexpr (AssociativeFilter<F>) {
      for (std::size_t i = 0; i < digests.size(); ++i) {
        seen[i] = observe(filter, digests[i]);
      }
    } else if constexpr (PathFilter<F>) {
      of(filter).observe(digests, ends_of(digests.size()), seen);
    } else {
      of(filter).observe(digests, seen);
    }
  }

  static bool insert_concurrent(AnyFilter& filter, Digest digest) {
    if constexpr (requires { bool(of(filter).insert_concurrent(digest)); }) {
      return of(filter).insert_concurrent(digest);
    } else {
      const bool seen = may_contain(filter, digest);
      of(filter).insert_concurrent(digest);
      return !seen;
    }
  }

  static Result<AnyFilter> from_bytes(std::span<const std::byte> bytes, Trust trust, const Memory& memory) {
    return any(F::from_bytes(bytes, trust, memory));
  }
  static Result<AnyFilter> adopt(Region region, Trust trust) {
    if constexpr (requires { F::from_region(std::move(region), trust); }) {
      return any(F::from_region(std::move(region), trust));
    } else {
      auto image = Image::adopt(std::move(region), trust);
      return image ? any(F::from_image(std::move(*image))) : std::unexpected(image.error());
    }
  }
  static Result<AnyFilter> attach(std::span<std::byte> bytes, Trust trust) {
    if constexpr (requires { F::attach(bytes, trust); }) {
      return any(F::attach(bytes, trust));
    } else {
      return adopt(Region::borrow(bytes), trust);
    }
  }
  static Result<AnyFilter> any(Result<F> made) {
    return made ? Result<AnyFilter>(AnyFilter(std::move(*made))) : std::unexpected(made.error());
  }

  static Result<HashSpec> drawn_hash() {
    typename F::Options options{};
    options.keys = 10;
    if constexpr (requires { options.decay; }) {
      options.decay = Decay::of(0.5, Duration(1)).value();
    } else if constexpr (requires { options.window; }) {
      options.window = Duration(1000);
    }
    const auto made = F::create(options);
    return made ? Result<HashSpec>(made->hash()) : std::unexpected(made.error());
  }
};

/// Fills in what the concepts of the class say that it has.
template <class F>
ClassCalls class_calls() {
  using Calls = CallsOf<F>;
  ClassCalls calls{};
  calls.kind = F::kKind;
  calls.promise = F::kPromise;
  calls.insert = Calls::insert;
  calls.observe = Calls::observe;
  calls.may_contain = Calls::may_contain;
  calls.insert_batch = Calls::insert_batch;
  calls.observe_batch = Calls::observe_batch;
  calls.may_contain_batch = Calls::may_contain_batch;
  if constexpr (BatchFilter<F>) {
    calls.insert_integers = [](AnyFilter& filter, std::span<const std::uint64_t> keys) {
      Calls::of(filter).insert(keys);
    };
    calls.may_contain_integers = [](const AnyFilter& filter, std::span<const std::uint64_t> keys,
                                    std::span<bool> outcomes) { Calls::of(filter).may_contain(keys, outcomes); };
    calls.insert_strings = [](AnyFilter& filter, std::span<const std::string_view> keys) {
      insert_keys(Calls::of(filter), keys);
    };
    calls.observe_strings = [](AnyFilter& filter, std::span<const std::string_view> keys, std::span<bool> seen) {
      observe_keys(Calls::of(filter), keys, seen);
    };
    calls.may_contain_strings = [](const AnyFilter& filter, std::span<const std::string_view> keys,
                                   std::span<bool> outcomes) { may_contain_keys(Calls::of(filter), keys, outcomes); };
  }
  if constexpr (requires(F filter, Digest digest) { filter.insert_concurrent(digest); }) {
    calls.insert_concurrent = Calls::insert_concurrent;
  }
  if constexpr (requires(F filter, std::span<const Digest> digests, const Memory& scratch) {
                  filter.insert_bulk(digests, {.scratch = scratch});
                }) {
    calls.insert_bulk = [](AnyFilter& filter, std::span<const Digest> digests, const Memory& scratch) {
      Calls::of(filter).insert_bulk(digests, {.scratch = scratch});
    };
    calls.insert_bulk_integers = [](AnyFilter& filter, std::span<const std::uint64_t> keys, const Memory& scratch) {
      Calls::of(filter).insert_bulk(keys, {.scratch = scratch});
    };
  }
  if constexpr (DeletableFilter<F>) {
    calls.erase = [](AnyFilter& filter, Digest digest) { return Calls::of(filter).erase(digest); };
    calls.erase_batch = [](AnyFilter& filter, std::span<const Digest> digests, std::span<EraseResult> results) {
      Calls::of(filter).erase(digests, results);
    };
    if constexpr (requires(const F filter) { filter.saturated_cells(); }) {
      calls.saturated_cells = [](const AnyFilter& filter) { return Calls::of(filter).saturated_cells(); };
    }
  }
  if constexpr (FrequencyFilter<F>) {
    calls.estimate = [](const AnyFilter& filter, Digest digest) { return Calls::of(filter).estimate(digest); };
    calls.estimate_batch = [](const AnyFilter& filter, std::span<const Digest> digests, std::span<KeyCount> counts) {
      Calls::of(filter).estimate(digests, counts);
    };
  }
  if constexpr (DecayedFrequencyFilter<F>) {
    calls.decayed = [](const AnyFilter& filter, Digest digest) { return Calls::of(filter).estimate(digest); };
    calls.decayed_batch = [](const AnyFilter& filter, std::span<const Digest> digests, std::span<DecayedCount> counts) {
      Calls::of(filter).estimate(digests, counts);
    };
    calls.decay = [](const AnyFilter& filter) { return Calls::of(filter).decay(); };
  }
  if constexpr (DecayingFilter<F>) {
    calls.advance = [](AnyFilter& filter, Tick tick) { Calls::of(filter).advance(tick); };
    calls.tick = [](const AnyFilter& filter) { return Calls::of(filter).tick(); };
  }
  calls.fill_ratio = [](const AnyFilter& filter) { return Calls::of(filter).fill_ratio(); };
  calls.fpr_estimate = [](const AnyFilter& filter) { return Calls::of(filter).fpr_estimate(); };
  calls.keys_estimate = [](const AnyFilter& filter) { return Calls::of(filter).keys_estimate(); };
  if constexpr (requires(const F filter) { filter.fpr_expected(std::uint64_t{1}); }) {
    calls.fpr_expected = [](const AnyFilter& filter, std::uint64_t keys) {
      return Calls::of(filter).fpr_expected(keys);
    };
  }
  calls.is_full = [](const AnyFilter& filter) { return Calls::of(filter).is_full(); };
  calls.hash = [](const AnyFilter& filter) { return Calls::of(filter).hash(); };
  calls.from_bytes = Calls::from_bytes;
  calls.attach = Calls::attach;
  calls.adopt = Calls::adopt;
  calls.sealed_header = [](const AnyFilter& filter) { return Calls::of(filter).sealed_header(); };
  if constexpr (requires(const F filter) { filter.cells(); }) {
    calls.cells = [](const AnyFilter& filter) { return Calls::of(filter).cells(); };
  }
  if constexpr (requires(const F filter) { filter.slice_count(); }) {
    calls.slice_count = [](const AnyFilter& filter) { return Calls::of(filter).slice_count(); };
    calls.slice = [](const AnyFilter& filter, std::size_t index) {
      const auto& slice = Calls::of(filter).slice(index);
      return SliceFacts{.capacity_keys = slice.capacity_keys(),
                        .fpr_target = slice.fpr_target(),
                        .keys_inserted = slice.keys_inserted()};
    };
    calls.slice_image = [](const AnyFilter& filter, std::size_t index) {
      return Calls::of(filter).slice(index).to_bytes();
    };
    calls.initial_keys = [](const AnyFilter& filter) { return Calls::of(filter).initial_keys(); };
    calls.memory_pieces = [](const AnyFilter& filter) { return Calls::of(filter).memory_pieces(); };
    calls.relocate = [](AnyFilter& filter, std::size_t piece, const Mover& mover) {
      Calls::of(filter).relocate(piece, mover);
    };
  } else if constexpr (requires(F filter, const Mover& mover) { filter.relocate(mover); }) {
    calls.memory_pieces = [](const AnyFilter&) { return std::size_t{1}; };
    calls.relocate = [](AnyFilter& filter, std::size_t, const Mover& mover) { Calls::of(filter).relocate(mover); };
  }
  if constexpr (requires(const F filter) { filter.growth(); }) {
    calls.growth = [](const AnyFilter& filter) { return Calls::of(filter).growth(); };
    calls.create_growing = [](std::uint64_t keys, double fpr, const Growth& growth, const HashSpec& hash) {
      return Calls::any(F::create({.keys = keys, .fpr = fpr, .growth = growth, .hash = hash}));
    };
  }
  if constexpr (NumberedFilter<F>) {
    calls.insert_with_id = [](AnyFilter& filter, Digest digest, std::uint64_t id) {
      return Calls::of(filter).insert(digest, id);
    };
    calls.erase_with_id = [](AnyFilter& filter, Digest digest, std::uint64_t id) {
      return Calls::of(filter).erase(digest, id);
    };
    calls.max_id = [](const AnyFilter& filter) { return Calls::of(filter).max_id(); };
  }
  calls.swap = [](AnyFilter& one, AnyFilter& other) { std::swap(Calls::of(one), Calls::of(other)); };
  calls.drawn_hash = Calls::drawn_hash;
  return calls;
}

}  // namespace mankai::test
