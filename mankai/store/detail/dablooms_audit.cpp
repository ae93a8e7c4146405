#include "mankai/store/detail/dablooms_audit.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "mankai/base/bits.hpp"
#include "mankai/filter/parts/image_format.hpp"
#include "mankai/store/dablooms_format.hpp"

namespace mankai::detail {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kByteCounters = 2;
constexpr std::uint64_t kHalfBits = 4;
constexpr std::uint64_t kEvenCounters = 0x0f0f0f0f0f0f0f0fU;
constexpr std::uint64_t kLowestBits = 0x1111111111111111U;
constexpr std::uint64_t kEveryByte = 0x0101010101010101U;

template <class T>
T load(Bytes bytes, std::uint64_t offset) noexcept {
  T value;
  std::memcpy(&value, bytes.subspan(static_cast<std::size_t>(offset), sizeof(value)).data(), sizeof(value));
  return value;
}

std::string text(std::uint64_t number) { return std::to_string(number); }

std::uint64_t counters_bytes(const DabloomsFilter& filter) noexcept {
  return divide_up(filter.cells_per_probe * filter.k, kByteCounters);
}

std::uint64_t end_of(const DabloomsFilter& filter) noexcept {
  return filter.offset + sizeof(DabloomsFilterHeader) + counters_bytes(filter);
}

Result<DabloomsFilter> filter_for(std::uint64_t capacity_keys, double fpr, std::uint64_t offset) {
  MANKAI_ASSIGN(const auto size, dablooms_size({.keys = capacity_keys, .fpr = fpr}));
  if (size.cells_per_probe * size.k > kMaxDabloomsCounters ||
      capacity_keys > std::numeric_limits<std::uint32_t>::max()) {
    return fail(ErrorCode::invalid_argument, "a capacity of " + text(capacity_keys) +
                                                 " keys is too large; dablooms has at most 2^32 counters in a filter");
  }
  return DabloomsFilter{.offset = offset, .fpr = fpr, .cells_per_probe = size.cells_per_probe, .k = size.k};
}

/// The filters that a scaling file of so many bytes can have.
struct Fit {
  std::vector<DabloomsFilter> filters;
  std::uint64_t end = sizeof(DabloomsHeader);  ///< of the last of them
  std::uint64_t next_end = 0;                  ///< of the next one, which would exceed the file; 0: none
};

// Each filter has half the false-positive rate of the one before, so each is larger.
Result<Fit> fit_scaling(std::uint64_t file_bytes, const DabloomsRequest& request) {
  Fit fit;
  for (double fpr = request.fpr * kDabloomsTightening; fit.next_end == 0; fpr *= kDabloomsTightening) {
    const auto filter = filter_for(request.capacity_keys, fpr, fit.end);
    if (!filter && fit.filters.empty()) {
      return std::unexpected(filter.error());
    }
    if (!filter) {  // the limit of dablooms
      break;
    }
    if (end_of(*filter) > file_bytes) {
      fit.next_end = end_of(*filter);
    } else {
      fit.filters.push_back(*filter);
      fit.end = end_of(*filter);
    }
  }
  return fit;
}

std::string with_filters(std::uint64_t end, std::size_t count) {
  return text(end) + " with " + text(count) + (count == 1 ? " filter" : " filters");
}

bool is_image(Bytes file) noexcept {
  return file.size() >= kImageMagic.size() &&
         std::ranges::equal(file.first(kImageMagic.size()), std::as_bytes(std::span(kImageMagic)));
}

std::unexpected<Error> misfit(Bytes file, const Fit& fit, const DabloomsFilter& counting) {
  if (is_image(file)) {
    return fail(ErrorCode::corrupt, "is already a Mankai filter (offset 0), not a file of dablooms");
  }
  std::string detail = text(file.size()) + " bytes, but with this capacity and rate a scaling file has ";
  if (!fit.filters.empty()) {
    detail += with_filters(fit.end, fit.filters.size()) + (fit.next_end == 0 ? "" : " or ");
  }
  if (fit.next_end != 0) {
    detail += with_filters(fit.next_end, fit.filters.size() + 1);
  }
  return fail(ErrorCode::corrupt, detail + ", and a counting file " + text(end_of(counting)) +
                                      ": it is truncated, or its program uses another capacity or rate");
}

// A counting file has the size of a scaling one only for rates below 2^-48: the first filter of a scaling file has 1.44
// counters per key more.
Result<DabloomsAudit> find_filters(Bytes file, const DabloomsRequest& request) {
  MANKAI_ASSIGN(auto fit, fit_scaling(file.size(), request));
  DabloomsAudit audit;
  if (!fit.filters.empty() && fit.end == file.size()) {
    audit.filters = std::move(fit.filters);
    return audit;
  }
  MANKAI_ASSIGN(const auto counting, filter_for(request.capacity_keys, request.fpr, 0));
  if (end_of(counting) != file.size()) {
    return misfit(file, fit, counting);
  }
  audit.form = DabloomsForm::counting;
  audit.filters.push_back(counting);
  return audit;
}

struct Sum {
  std::uint64_t counted = 0;
  std::uint64_t full = 0;
};

Sum sum_of_word(std::uint64_t word) noexcept {
  constexpr unsigned kTopByte = 56;
  const std::uint64_t pairs = (word & kEvenCounters) + ((word >> kHalfBits) & kEvenCounters);
  const std::uint64_t full = word & (word >> 1);
  return {.counted = pairs * kEveryByte >> kTopByte,
          .full = static_cast<std::uint64_t>(std::popcount(full & (full >> 2) & kLowestBits))};
}

// Counter number `index` alone: the even ones are the upper halves.
Sum sum_of_one(Bytes counters, std::uint64_t index) noexcept {
  const auto byte = std::to_integer<std::uint64_t>(counters[static_cast<std::size_t>(index / kByteCounters)]);
  return sum_of_word(index % kByteCounters == 0 ? byte >> kHalfBits : byte & 0xfU);
}

Sum sum_of_range(Bytes counters, std::uint64_t first, std::uint64_t count) noexcept {
  constexpr std::uint64_t kWordCounters = sizeof(std::uint64_t) * kByteCounters;
  Sum sum;
  const auto add = [&sum](const Sum& more) {
    sum.counted += more.counted;
    sum.full += more.full;
  };
  const std::uint64_t end = first + count;
  std::uint64_t index = first;
  if (index % kByteCounters != 0) {
    add(sum_of_one(counters, index++));
  }
  for (; index + kWordCounters <= end; index += kWordCounters) {
    add(sum_of_word(load<std::uint64_t>(counters, index / kByteCounters)));
  }
  for (; index < end; ++index) {
    add(sum_of_one(counters, index));
  }
  return sum;
}

class Audit {
 public:
  Audit(Bytes file, DabloomsAudit& audit) noexcept : file_(file), audit_(audit) {}

  void check_filters() {
    for (std::size_t i = 0; i < audit_.filters.size(); ++i) {
      check_filter(audit_.filters[i], i);
    }
  }
  void check_scaling() {
    const auto header = load<DabloomsHeader>(file_, 0);
    audit_.max_id = header.max_id;
    audit_.memory_sequence = header.memory_sequence;
    audit_.disk_sequence = header.disk_sequence;
    leave_out_opening();
    check_ids();
    check_sequences();
  }

 private:
  static std::string filter_text(std::size_t index) { return "filter " + text(index + 1); }
  void damage(std::uint64_t offset, std::string what) { audit_.damage.push_back({offset, std::move(what)}); }
  void warn(std::uint64_t offset, std::string what) { audit_.warnings.push_back({offset, std::move(what)}); }
  void damage_ids(std::uint64_t offset, std::string what) {
    damage(offset, std::move(what));
    audit_.has_ids_in_order = false;
  }

  void check_filter(DabloomsFilter& filter, std::size_t index) {
    const auto header = load<DabloomsFilterHeader>(file_, filter.offset);
    filter.first_id = header.first_id;
    filter.keys = header.keys;
    if (header.zero != 0) {
      damage(filter.offset + offsetof(DabloomsFilterHeader, zero),
             filter_text(index) + " has nonzero reserved bytes in its header");
    }
    if (audit_.form == DabloomsForm::counting && header.first_id != 0) {
      damage(filter.offset, "a counting file has no id, but here is " + text(header.first_id));
    }
    check_counters(filter, index);
  }

  // An addition increments one counter of each probe that is not full; a removal decrements it.
  void check_counters(DabloomsFilter& filter, std::size_t index) {
    const Bytes counters = counters_of(file_, filter);
    bool is_explained = true;
    filter.least_sum = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t probe = 0; probe < filter.k; ++probe) {
      const Sum sum = sum_of_range(counters, probe * filter.cells_per_probe, filter.cells_per_probe);
      filter.least_sum = std::min(filter.least_sum, sum.counted);
      filter.greatest_sum = std::max(filter.greatest_sum, sum.counted);
      filter.full_counters += sum.full;
      is_explained = is_explained && (sum.counted == filter.keys || (sum.counted < filter.keys && sum.full != 0));
    }
    if (!is_explained) {
      damage(filter.offset, sums_text(filter, index));
    } else if (filter.least_sum != filter.keys) {
      warn(filter.offset, filter_text(index) + " has " + text(filter.full_counters) +
                              " full counters, which missed up to " + text(filter.keys - filter.least_sum) +
                              " additions: they stay full, and keys that have no other counters are never removed");
    }
    const std::uint64_t cells = filter.cells_per_probe * filter.k;
    if (cells % kByteCounters != 0 && sum_of_one(counters, cells).counted != 0) {
      damage(end_of(filter) - 1, filter_text(index) + " has a nonzero half byte after its last counter");
    }
  }

  static std::string sums_text(const DabloomsFilter& filter, std::size_t index) {
    std::string what = filter_text(index) + " has " + text(filter.keys) +
                       " keys, but the counters of each probe add up to " + text(filter.least_sum);
    if (filter.greatest_sum != filter.least_sum) {
      what += " to " + text(filter.greatest_sum);
    }
    if (filter.keys > std::numeric_limits<std::int32_t>::max()) {
      return what + ": more keys were removed than added";
    }
    return what + (filter.greatest_sum > filter.keys
                       ? ": absent keys were removed, or bytes have changed"
                       : ": bytes were lost or have changed, or keys that filled a counter were removed");
  }

  // dablooms extends the file before it writes the id of the filter, which is above 0.
  void leave_out_opening() {
    const DabloomsFilter& last = audit_.filters.back();
    if (audit_.filters.size() > 1 && last.first_id == 0 && last.keys == 0 && last.greatest_sum == 0) {
      damage(last.offset, filter_text(audit_.filters.size() - 1) +
                              " is empty and has no first id: a crash interrupted its creation, and it is omitted");
      audit_.filters.pop_back();
    }
  }

  void check_ids() {
    const std::vector<DabloomsFilter>& filters = audit_.filters;
    for (std::size_t i = 0; i < filters.size(); ++i) {
      if (i == 0 ? filters[i].first_id != 0 : filters[i].first_id <= filters[i - 1].first_id) {
        damage_ids(filters[i].offset, filter_text(i) + " has the first id " + text(filters[i].first_id) +
                                          (i == 0 ? ", but that is 0" : ", which is not above the one before"));
      }
    }
    if (audit_.max_id < filters.back().first_id) {
      damage_ids(offsetof(DabloomsHeader, max_id), "the greatest id is " + text(audit_.max_id) +
                                                       ", but the last filter has the first id " +
                                                       text(filters.back().first_id));
    }
    if (audit_.max_id > ScalableCountingBloom::kMaxId) {
      damage_ids(offsetof(DabloomsHeader, max_id), "the greatest id is 2^64 - 1, after which ids wrap around to 0");
    }
  }

  void check_sequences() {
    const std::uint64_t memory = audit_.memory_sequence;
    const std::uint64_t disk = audit_.disk_sequence;
    if (memory == 0) {
      damage(offsetof(DabloomsHeader, memory_sequence),
             "a change was interrupted when its program ended, or is in progress now");
    }
    if (memory > kMaxDabloomsSequence) {
      damage(offsetof(DabloomsHeader, memory_sequence),
             "change " + text(memory) + " is recorded as the last one, which no program can reach");
    }
    if (disk != 0 && disk != memory) {
      damage(offsetof(DabloomsHeader, disk_sequence),
             "change " + text(disk) + " was flushed as the last one, but the last one is " + text(memory));
    }
    if (disk == 0) {
      warn(offsetof(DabloomsHeader, disk_sequence),
           "it was not flushed after its last change: after a power loss its end may be missing");
    }
    check_changes();
  }

  // Each addition and each removal is a change, and keys = additions - removals. A missing filter at the end looks like
  // removals.
  void check_changes() {
    std::uint64_t keys = 0;
    for (const DabloomsFilter& filter : audit_.filters) {
      keys += filter.keys;
    }
    if (audit_.memory_sequence == 0 || audit_.memory_sequence > kMaxDabloomsSequence) {
      return;
    }
    const std::uint64_t changes = audit_.memory_sequence - 1;
    const std::string what = text(changes) + " changes, " + text(keys) + " keys";
    if (changes < keys) {
      return warn(offsetof(DabloomsHeader, memory_sequence),
                  what + ": its program continued after an interrupted change, and restarted the numbers");
    }
    if ((changes - keys) % 2 != 0) {
      return damage(offsetof(DabloomsHeader, memory_sequence),
                    what + ", which no number of removals explains: a filter after the last one may be missing");
    }
    audit_.removals = (changes - keys) / 2;
    if (audit_.removals != 0) {
      warn(offsetof(DabloomsHeader, memory_sequence),
           what + ": " + text(audit_.removals) +
               " were removed, if the file is complete; a file truncated right after a filter looks the same");
    }
  }

  Bytes file_;
  DabloomsAudit& audit_;
};

}  // namespace

std::span<const std::byte> counters_of(std::span<const std::byte> file, const DabloomsFilter& filter) noexcept {
  return file.subspan(static_cast<std::size_t>(filter.offset + sizeof(DabloomsFilterHeader)),
                      static_cast<std::size_t>(counters_bytes(filter)));
}

Result<DabloomsAudit> audit_dablooms(std::span<const std::byte> file, const DabloomsRequest& request) {
  MANKAI_TRY(check_request({.keys = request.capacity_keys, .fpr = request.fpr}));
  MANKAI_ASSIGN(auto audit, find_filters(file, request));
  Audit checks(file, audit);
  checks.check_filters();
  if (audit.form == DabloomsForm::scaling) {
    checks.check_scaling();
  }
  return audit;
}

}  // namespace mankai::detail
