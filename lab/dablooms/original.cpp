#include "lab/dablooms/original.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <numeric>

namespace mankai::lab::spam {
namespace {

constexpr unsigned kFull = 15;
constexpr unsigned kCounterBits = 4;
constexpr double kTightening = 0.5;

using Slice = Original::Slice;

// The cell of probe i. Even cells are the upper halves of their bytes.
std::uint64_t cell_of(std::uint64_t size, Digest digest, std::uint32_t i) noexcept {
  const std::uint64_t h1 = digest.value & 0xffffffffU;
  const std::uint64_t h2 = digest.value >> 32U;
  return i * size + (h1 + i * h2) % size;
}

unsigned shift_of(std::uint64_t cell) noexcept { return cell % 2 == 0 ? kCounterBits : 0; }

unsigned counter(std::span<const std::uint8_t> bytes, std::uint64_t cell) noexcept {
  return static_cast<unsigned>(bytes[cell / 2]) >> shift_of(cell) & kFull;
}

void add_to(Slice& slice, Digest digest, int change) noexcept {
  for (std::uint32_t i = 0; i < slice.k; ++i) {
    const auto [byte, value] = Counters::changed(slice.bytes, slice.size, i, {.digest = digest, .by = change});
    slice.bytes[byte] = value;
  }
}

// The number of counters read up to the first 0; k + 1 if there is none.
std::uint32_t read_until_zero(const Slice& slice, Digest digest) noexcept {
  for (std::uint32_t i = 0; i < slice.k; ++i) {
    if (counter(slice.bytes, cell_of(slice.size, digest, i)) == 0) {
      return i + 1;
    }
  }
  return slice.k + 1;
}

class Writer {
 public:
  explicit Writer(std::vector<std::uint8_t>& file) noexcept : rest_(file) {}
  void write(std::uint64_t value) noexcept {
    std::memcpy(rest_.data(), &value, sizeof(value));
    rest_ = rest_.subspan(sizeof(value));
  }
  void write(std::span<const std::uint8_t> bytes) noexcept {
    std::ranges::copy(bytes, rest_.begin());
    rest_ = rest_.subspan(bytes.size());
  }

 private:
  std::span<std::uint8_t> rest_;
};

class Fields {
 public:
  explicit Fields(const std::vector<std::uint8_t>& file) noexcept : rest_(file) {}
  std::uint64_t next() noexcept {
    std::uint64_t value = 0;
    std::memcpy(&value, rest_.data(), sizeof(value));
    rest_ = rest_.subspan(sizeof(value));
    return value;
  }
  void read(std::span<std::uint8_t> into) noexcept {
    std::copy_n(rest_.begin(), into.size(), into.begin());
    rest_ = rest_.subspan(into.size());
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace

Counters::Stored Counters::changed(std::span<const std::uint8_t> bytes, std::uint64_t size, std::uint32_t i,
                                   const Change& change) noexcept {
  const std::uint64_t cell = cell_of(size, change.digest, i);
  const unsigned old = counter(bytes, cell);
  const auto changed = static_cast<unsigned>(std::clamp(static_cast<int>(old) + change.by, 0, static_cast<int>(kFull)));
  return {.byte = cell / 2, .value = static_cast<std::uint8_t>(bytes[cell / 2] ^ (old ^ changed) << shift_of(cell))};
}

Original::Original(const Options& options) : options_(options) { open_slice(0); }

void Original::open_slice(std::uint64_t first_id) {
  const double fpr = options_.fpr * std::pow(kTightening, static_cast<double>(slice_count() + 1));
  const double k = std::ceil(-std::log2(fpr));
  const std::uint64_t capacity = slices_.empty() ? options_.keys : options_.growth * slices_.back().capacity;
  const double size =
      std::ceil(static_cast<double>(capacity) * -std::log(fpr) / (k * std::numbers::ln2 * std::numbers::ln2));
  Slice slice{.first_id = first_id,
              .capacity = capacity,
              .size = static_cast<std::uint64_t>(size),
              .k = static_cast<std::uint32_t>(k)};
  slice.bytes.resize((slice.size * slice.k + 1) / 2);
  slices_.push_back(std::move(slice));
}

std::optional<std::size_t> Original::newest_from(std::uint64_t id) const noexcept {
  for (std::size_t i = slice_count(); i-- > 0;) {
    if (slices_[i].first_id <= id) {
      return i;
    }
  }
  return std::nullopt;
}

void Original::insert(Digest digest, std::uint64_t id) {
  if (id > max_id_ && slices_.back().keys + 1 >= slices_.back().capacity) {
    open_slice(max_id_ + 1);
  }
  max_id_ = std::max(max_id_, id);
  const auto taker = newest_from(id);
  if (!taker) {
    return;
  }
  add_to(slices_[*taker], digest, 1);
  ++slices_[*taker].keys;
  disk_sequence_ = 0;
  ++memory_sequence_;
}

EraseResult Original::erase(Digest digest, std::uint64_t id) {
  const auto holder = newest_from(id);
  if (!holder) {
    return EraseResult::below_ids;
  }
  add_to(slices_[*holder], digest, -1);
  --slices_[*holder].keys;
  disk_sequence_ = 0;
  ++memory_sequence_;
  return EraseResult::erased;
}

bool Original::may_contain(Digest digest) const noexcept {
  return std::any_of(slices_.rbegin(), slices_.rend(),
                     [digest](const Slice& slice) { return read_until_zero(slice, digest) > slice.k; });
}

bool Original::slice_contains(std::size_t index, Digest digest) const noexcept {
  return read_until_zero(slices_[index], digest) > slices_[index].k;
}

void Original::may_contain(std::span<const Digest> digests, std::span<bool> outcomes) const noexcept {
  std::ranges::transform(digests, outcomes.begin(), [this](Digest digest) { return may_contain(digest); });
}

std::uint64_t Original::counters_read(Digest digest) const noexcept {
  std::uint64_t read = 0;
  for (std::size_t i = slice_count(); i-- > 0;) {
    const std::uint32_t here = read_until_zero(slices_[i], digest);
    read += std::min(here, slices_[i].k);
    if (here > slices_[i].k) {
      break;
    }
  }
  return read;
}

std::uint64_t Original::probes_per_key() const noexcept {
  return std::accumulate(slices_.begin(), slices_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Slice& slice) { return sum + slice.k; });
}

std::uint64_t Original::cells_bytes() const noexcept {
  return std::accumulate(slices_.begin(), slices_.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const Slice& slice) { return sum + slice.bytes.size(); });
}

std::vector<std::uint8_t> Original::to_file() const {
  std::vector<std::uint8_t> file(kHeaderBytes + slice_count() * kSliceHeaderBytes + cells_bytes());
  Writer writer(file);
  writer.write(max_id_);
  writer.write(memory_sequence_);
  writer.write(disk_sequence_);
  for (const Slice& slice : slices_) {
    writer.write(slice.first_id);
    writer.write(slice.keys);
    writer.write(slice.bytes);
  }
  return file;
}

std::optional<Original> Original::open(std::vector<std::uint8_t>& file, const Options& options, std::size_t slices) {
  Original filter(options);
  while (filter.slice_count() < slices) {
    filter.open_slice(0);
  }
  const std::size_t whole = filter.to_file().size();
  if (file.size() != whole) {
    file.resize(whole);
    return std::nullopt;
  }
  Fields fields(file);
  filter.max_id_ = fields.next();
  filter.memory_sequence_ = fields.next();
  filter.disk_sequence_ = fields.next();
  for (Slice& slice : filter.slices_) {
    slice.first_id = fields.next();
    slice.keys = fields.next();
    fields.read(slice.bytes);
  }
  return filter;
}

}  // namespace mankai::lab::spam
