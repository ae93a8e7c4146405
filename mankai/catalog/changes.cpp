#include "mankai/catalog/changes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/catalog/detail/change_payload.hpp"
#include "mankai/catalog/detail/key_windows.hpp"
#include "mankai/catalog/detail/kind_abilities.hpp"

namespace mankai {
namespace {

using namespace detail;

/// Arrays one after the other, in memory that is kept for the next payload.
class PayloadWriter {
 public:
  void clear() noexcept { size_ = 0; }

  /// Makes room for an array behind what is there, filled up with zeros; it stands until the next call.
  template <class T>
  std::span<T> add(std::size_t count) {
    const std::size_t begin = size_;
    const std::size_t end = begin + count * sizeof(T);
    size_ = align_up(end, kPayloadAlignment);
    reserve(size_);
    std::fill(bytes_.data() + end, bytes_.data() + size_, std::byte{0});
    return at<T>(begin, count);
  }
  template <class T>
  void add_copy(std::span<const T> values) {
    std::ranges::copy(values, add<T>(values.size()).begin());
  }
  /// Goes on with an array of bytes, until `pad`.
  void append(std::string_view bytes) {
    reserve(size_ + bytes.size());
    std::ranges::copy(std::as_bytes(std::span(bytes)), bytes_.data() + size_);
    size_ += bytes.size();
  }
  void pad() { static_cast<void>(add<char>(0)); }

  /// The array that was added at an offset.
  template <class T>
  [[nodiscard]] std::span<T> at(std::size_t offset, std::size_t count) noexcept {
    return {reinterpret_cast<T*>(bytes_.data() + offset), count};
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return std::span(bytes_).first(size_); }

 private:
  void reserve(std::size_t bytes) {
    if (bytes_.size() < bytes) {
      bytes_.resize(bytes);
    }
  }

  std::vector<std::byte> bytes_;  // aligned as operator new aligns
  std::size_t size_ = 0;
};

template <class F>
Result<void> check_ids(const F& filter, std::span<const std::uint64_t> ids) {
  for (const std::uint64_t id : ids) {
    if (auto valid = filter.check_id(id); !valid) {
      return valid;
    }
  }
  return {};
}

// Asks for the line of a single key, so that it comes while the change is journaled. Batches see to that themselves.
template <class F>
void prefetch(const F& filter, Digest digest, std::span<const std::uint64_t> ids) noexcept {
  if constexpr (requires { filter.prefetch(digest, ids.front()); }) {
    filter.prefetch(digest, ids.empty() ? filter.next_id() : ids.front());
  } else if constexpr (requires { filter.prefetch(digest); }) {
    filter.prefetch(digest);
  }
}

}  // namespace

/// The payload of the last change, and what is used on the way to it.
class ChangeEncoder::Buffers {
 public:
  [[nodiscard]] Change change(Operation operation, std::size_t keys) const noexcept {
    return {.operation = operation, .keys = static_cast<std::uint32_t>(keys), .payload = payload_.bytes()};
  }
  [[nodiscard]] PayloadWriter& payload() noexcept { return payload_; }

  /// Begins a payload, with the digests of keys, whose ids say where they go if they have any.
  template <class F>
  void begin_with_digests(const F& filter, Keys keys, std::span<const std::uint64_t> ids = {}) {
    payload_.clear();
    const std::span<Digest> digests = payload_.add<Digest>(keys.size());
    const Hasher hash = filter.hasher();
    for_each_window(filter, keys,
                    [&](std::size_t start, Keys window) { hash(window, digests.subspan(start, window.size())); });
    if (digests.size() == 1) {
      prefetch(filter, digests.front(), ids);
    }
  }

  /// The same, and names: `time_of(index)` says when a key came.
  template <class F, class TimeOf>
  void write_named(const F& filter, Keys keys, const TimeOf& time_of);

  /// As the kind wants it.
  template <class F>
  [[nodiscard]] Result<Change> insert(const F& filter, Keys keys) {
    if constexpr (kTakesNames<F>) {
      write_named(filter, keys, [now = now_of(filter)](std::size_t) { return now; });
      return change(Operation::insert_at, keys.size());
    } else if constexpr (kTakesPaths<F>) {
      const auto written = write_paths(filter, keys);
      return written ? Result<Change>(change(Operation::insert, keys.size())) : std::unexpected(written.error());
    } else {
      begin_with_digests(filter, keys);
      return change(Operation::insert, keys.size());
    }
  }

 private:
  /// The digests of keys' segments. Errors: invalid_argument for too many of them.
  template <class F>
  [[nodiscard]] Result<void> write_paths(const F& filter, Keys keys);

  /// As for_each_key_window, with memory that is kept.
  template <class F, class Use>
  void for_each_window(const F& filter, Keys keys, const Use& use) {
    if (filter.canonical_version() == 0) {
      use(std::size_t{0}, keys);
      return;
    }
    if (!canonical_) {
      canonical_.emplace(kUrlWindow);
    }
    for_each_url_window(keys,
                        [&](std::size_t start, Keys window) { use(start, canonical_->of(window, rules_of(filter))); });
  }

  PayloadWriter payload_;
  std::optional<CanonicalKeys> canonical_;
  std::optional<Paths> paths_;
};

template <class F, class TimeOf>
void ChangeEncoder::Buffers::write_named(const F& filter, Keys keys, const TimeOf& time_of) {
  const Hasher hash = filter.hasher();
  payload_.clear();
  payload_.add<Digest>(keys.size());
  std::ranges::generate(payload_.add<std::int64_t>(keys.size()),
                        [&, i = std::size_t{0}]() mutable { return time_of(i++).time_since_epoch().count(); });
  const std::size_t ends_at = payload_.size();
  payload_.add<std::uint32_t>(keys.size());
  const std::size_t names_at = payload_.size();
  for_each_window(filter, keys, [&](std::size_t start, Keys window) {
    hash(window, payload_.at<Digest>(0, keys.size()).subspan(start, window.size()));
    for (std::size_t i = 0; i < window.size(); ++i) {
      payload_.append(window[i].substr(0, kMostNameBytes));
      payload_.at<std::uint32_t>(ends_at, keys.size())[start + i] =
          static_cast<std::uint32_t>(payload_.size() - names_at);
    }
  });
  payload_.pad();
}

template <class F>
Result<void> ChangeEncoder::Buffers::write_paths(const F& filter, Keys keys) {
  if (!paths_) {
    paths_.emplace(kUrlWindow);
  }
  payload_.clear();
  payload_.add<std::uint32_t>(keys.size());
  std::size_t segments = 0;
  for_each_url_window(keys, [&](std::size_t start, Keys window) {
    paths_->read(window, rules_of(filter));
    filter.hasher()(paths_->segments(), payload_.add<Digest>(paths_->segments().size()));
    std::ranges::transform(paths_->ends(), payload_.at<std::uint32_t>(0, keys.size()).subspan(start).begin(),
                           [&](std::uint32_t end) { return static_cast<std::uint32_t>(segments + end); });
    segments += paths_->segments().size();
  });
  if (segments > kMaxSegments) {
    return fail(ErrorCode::invalid_argument, std::to_string(keys.size()) + " URLs of " + std::to_string(segments) +
                                                 " segments together; at most " + std::to_string(kMaxSegments) +
                                                 " are taken at once");
  }
  return {};
}

ChangeEncoder::ChangeEncoder(const AnyFilter& filter) : filter_(&filter), buffers_(std::make_unique<Buffers>()) {}
ChangeEncoder::~ChangeEncoder() = default;
ChangeEncoder::ChangeEncoder(ChangeEncoder&& other) noexcept = default;
ChangeEncoder& ChangeEncoder::operator=(ChangeEncoder&& other) noexcept = default;

Result<Change> ChangeEncoder::insert(Keys keys) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys);
  return std::visit([&](const auto& f) { return buffers_->insert(f, keys); }, *filter_);
}

Result<Change> ChangeEncoder::insert(Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == ids.size());
  return std::visit(
      [&](const auto& f) -> Result<Change> {
        if constexpr (kTakesIds<decltype(f)>) {
          if (auto valid = check_ids(f, ids); !valid) {
            return std::unexpected(valid.error());
          }
          buffers_->begin_with_digests(f, keys, ids);
          buffers_->payload().add_copy(ids);
          return buffers_->change(Operation::insert_with_ids, keys.size());
        } else {
          return takes_no_ids(f);
        }
      },
      *filter_);
}

Result<Change> ChangeEncoder::insert(Keys keys, std::span<const Time> times) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == times.size());
  return std::visit(
      [&](const auto& f) -> Result<Change> {
        if constexpr (kTakesNames<decltype(f)>) {
          buffers_->write_named(f, keys, [&](std::size_t i) { return times[i]; });
          return buffers_->change(Operation::insert_at, keys.size());
        } else {
          return takes_no_times(f);
        }
      },
      *filter_);
}

Result<Change> ChangeEncoder::erase(Keys keys) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys);
  return std::visit(
      [&](const auto& f) -> Result<Change> {
        if constexpr (kCanErase<decltype(f)>) {
          buffers_->begin_with_digests(f, keys);
          return buffers_->change(Operation::erase, keys.size());
        } else {
          return cannot_erase(f);
        }
      },
      *filter_);
}

Result<Change> ChangeEncoder::erase(Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == ids.size());
  return std::visit(
      [&](const auto& f) -> Result<Change> {
        if constexpr (kTakesIds<decltype(f)>) {
          buffers_->begin_with_digests(f, keys, ids);
          buffers_->payload().add_copy(ids);
          return buffers_->change(Operation::erase_with_ids, keys.size());
        } else {
          return takes_no_ids(f);
        }
      },
      *filter_);
}

Result<Change> ChangeEncoder::put(Keys keys, std::span<const std::uint32_t> values, double strength) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == values.size());
  return std::visit(
      [&](const auto& f) -> Result<Change> {
        if constexpr (kTakesValues<decltype(f)>) {
          if (!is_strength(strength)) {
            return fail(ErrorCode::invalid_argument,
                        "a strength of " + std::to_string(strength) + " is not above 0 and at most 1");
          }
          buffers_->begin_with_digests(f, keys);
          buffers_->payload().add_copy(values);
          buffers_->payload().add_copy(std::span<const double>(&strength, 1));
          return buffers_->change(Operation::put, keys.size());
        } else {
          return takes_no_values(f);
        }
      },
      *filter_);
}

Result<Change> ChangeEncoder::advance(Time time) {
  return std::visit(
      [&](const auto& f) -> Result<Change> {
        const auto tick = next_tick(f, time);
        if (!tick) {
          return std::unexpected(tick.error());
        }
        buffers_->payload().clear();
        buffers_->payload().add_copy(std::span<const std::uint64_t>(&tick->value, 1));
        return buffers_->change(Operation::advance, 1);
      },
      *filter_);
}

}  // namespace mankai
