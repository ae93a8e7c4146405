#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/bits.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/filter/detail/change_payload.hpp"
#include "mankai/filter/detail/key_windows.hpp"
#include "mankai/filter/filter_body.hpp"

namespace mankai {
namespace {

using namespace detail;

/// Writes consecutive arrays into memory that later payloads reuse.
class PayloadWriter {
 public:
  void clear() noexcept { size_ = 0; }

  /// Appends a zeroed array, padded; the result is valid until the next call.
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
  /// Appends to an array of bytes; call `pad` at its end.
  void append(std::string_view bytes) {
    reserve(size_ + bytes.size());
    std::ranges::copy(std::as_bytes(std::span(bytes)), bytes_.data() + size_);
    size_ += bytes.size();
  }
  void pad() { static_cast<void>(add<char>(0)); }

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

Result<void> check_ids(const FilterBody& filter, std::span<const std::uint64_t> ids) {
  for (const std::uint64_t id : ids) {
    MANKAI_TRY(filter.check_id(id));
  }
  return {};
}

bool is_numbered(const KindDescription& kind) { return kind.key_shape == KeyShape::numbered; }
bool is_named(const KindDescription& kind) { return kind.key_shape == KeyShape::named; }
bool is_valued(const KindDescription& kind) { return kind.key_shape == KeyShape::valued; }
bool can_erase(const KindDescription& kind) { return kind.can_erase; }

Result<void> check_takes_ids(const KindDescription& kind) {
  return is_numbered(kind) ? Result<void>() : unable(kind, "takes no ids", is_numbered);
}

Result<void> check_can_erase(const KindDescription& kind) {
  return can_erase(kind) ? Result<void>() : unable(kind, "cannot remove keys", can_erase);
}

}  // namespace

/// The payload of the last change, and scratch memory for it.
class ChangeEncoder::Buffers {
 public:
  [[nodiscard]] Change change(Operation operation, std::size_t keys) const noexcept {
    return {.operation = operation, .keys = static_cast<std::uint32_t>(keys), .payload = payload_.bytes()};
  }
  [[nodiscard]] PayloadWriter& payload() noexcept { return payload_; }

  /// Begins a payload with the digests of keys. Prefetches the cells of a single key, so that they arrive while the
  /// change is journaled; batches prefetch by themselves.
  void begin_with_digests(const FilterBody& filter, Keys keys, std::span<const std::uint64_t> ids = {}) {
    payload_.clear();
    const std::span<Digest> digests = payload_.add<Digest>(keys.size());
    const Hasher hash = filter.hasher();
    for_each_window(filter, keys,
                    [&](std::size_t start, Keys window) { hash(window, digests.subspan(start, window.size())); });
    if (digests.size() == 1) {
      filter.prefetch(digests.front(), ids.empty() ? std::nullopt : std::optional(ids.front()));
    }
  }

  /// Adds names; `time_of(index)` is the time of a key.
  template <class TimeOf>
  void write_named(const FilterBody& filter, Keys keys, const TimeOf& time_of);

  [[nodiscard]] Result<Change> insert(const FilterBody& filter, Keys keys) {
    switch (filter.kind().key_shape) {
      case KeyShape::named:
        write_named(filter, keys, [now = filter.now()](std::size_t) { return now; });
        return change(Operation::insert_at, keys.size());
      case KeyShape::path: MANKAI_TRY(write_paths(filter, keys)); break;
      case KeyShape::whole:
      case KeyShape::numbered:
      case KeyShape::valued:
        begin_with_digests(filter, keys);
        MANKAI_TRY(filter.check_room(payload_.at<Digest>(0, keys.size())));
        break;
    }
    return change(Operation::insert, keys.size());
  }

 private:
  /// Writes the digests of the keys' segments. Errors: invalid_argument for more than kMaxSegments.
  [[nodiscard]] Result<void> write_paths(const FilterBody& filter, Keys keys);

  /// As detail::for_each_key_window, with reused memory.
  template <class Use>
  void for_each_window(const FilterBody& filter, Keys keys, const Use& use) {
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

template <class TimeOf>
void ChangeEncoder::Buffers::write_named(const FilterBody& filter, Keys keys, const TimeOf& time_of) {
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

Result<void> ChangeEncoder::Buffers::write_paths(const FilterBody& filter, Keys keys) {
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

ChangeEncoder::ChangeEncoder(const AnyFilter& filter)
    : filter_(filter.body_.get()), buffers_(std::make_unique<Buffers>()) {}
ChangeEncoder::~ChangeEncoder() = default;
ChangeEncoder::ChangeEncoder(ChangeEncoder&& other) noexcept = default;
ChangeEncoder& ChangeEncoder::operator=(ChangeEncoder&& other) noexcept = default;

Result<Change> ChangeEncoder::insert(Keys keys) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys);
  return buffers_->insert(*filter_, keys);
}

Result<Change> ChangeEncoder::insert(Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_TRY(check_takes_ids(filter_->kind()));
  MANKAI_TRY(check_ids(*filter_, ids));
  return with_ids(Operation::insert_with_ids, keys, ids);
}

Result<Change> ChangeEncoder::insert(Keys keys, std::span<const Time> times) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == times.size());
  if (!is_named(filter_->kind())) {
    return unable(filter_->kind(), "takes no times with keys", is_named);
  }
  buffers_->write_named(*filter_, keys, [&](std::size_t i) { return times[i]; });
  return buffers_->change(Operation::insert_at, keys.size());
}

Result<Change> ChangeEncoder::insert_until(Keys keys, std::span<const Time> expiries) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == expiries.size());
  buffers_->begin_with_digests(*filter_, keys);
  MANKAI_TRY(filter_->check_room(buffers_->payload().at<Digest>(0, keys.size())));
  const std::span<std::uint64_t> until = buffers_->payload().add<std::uint64_t>(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    MANKAI_ASSIGN(until[i], filter_->until_of(expiries[i]));
  }
  return buffers_->change(Operation::insert_until, keys.size());
}

Result<Change> ChangeEncoder::erase(Keys keys) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys);
  MANKAI_TRY(check_can_erase(filter_->kind()));
  MANKAI_TRY(filter_->check_erase());
  buffers_->begin_with_digests(*filter_, keys);
  return buffers_->change(Operation::erase, keys.size());
}

Result<Change> ChangeEncoder::erase(Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_TRY(check_takes_ids(filter_->kind()));
  return with_ids(Operation::erase_with_ids, keys, ids);
}

Result<Change> ChangeEncoder::put(Keys keys, std::span<const std::uint32_t> values, double strength) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == values.size());
  if (!is_valued(filter_->kind())) {
    return unable(filter_->kind(), "stores no values", is_valued);
  }
  if (!is_strength(strength)) {
    return fail(ErrorCode::invalid_argument,
                "a strength of " + std::to_string(strength) + " is not above 0 and at most 1");
  }
  buffers_->begin_with_digests(*filter_, keys);
  buffers_->payload().add_copy(values);
  buffers_->payload().add_copy(std::span<const double>(&strength, 1));
  return buffers_->change(Operation::put, keys.size());
}

Result<Change> ChangeEncoder::advance(Time time) {
  MANKAI_ASSIGN(const Tick tick, filter_->tick_at(time));
  buffers_->payload().clear();
  buffers_->payload().add_copy(std::span<const std::uint64_t>(&tick.value, 1));
  return buffers_->change(Operation::advance, 1);
}

Change ChangeEncoder::with_ids(Operation operation, Keys keys, std::span<const std::uint64_t> ids) {
  MANKAI_ASSERT(keys.size() <= kMaxKeys && keys.size() == ids.size());
  buffers_->begin_with_digests(*filter_, keys, ids);
  buffers_->payload().add_copy(ids);
  return buffers_->change(operation, keys.size());
}

}  // namespace mankai
