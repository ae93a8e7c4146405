#include "mankai/filter/time_decaying_pooled_counts/digit_pool.hpp"

#include <string>
#include <vector>

namespace mankai::pool {
namespace {

constexpr unsigned kWordBits = 64;

// There are an eighth more homes than digits, so that a slot is found in about three steps even if all are used; after
// the last home there is space for displaced slots.
constexpr std::uint64_t kSpareShare = 8;
constexpr std::uint64_t kTailSlots = 64;

std::uint64_t homes_for(std::uint64_t digits) noexcept { return digits + digits / kSpareShare + 1; }

unsigned number_bits(std::uint64_t count) noexcept { return static_cast<unsigned>(std::bit_width(count)); }

unsigned slot_bits(const Shape& shape) noexcept { return number_bits(shape.counters) + kDigitBits; }

std::uint64_t slots_for(const Shape& shape) noexcept { return homes_for(shape.digits) + kTailSlots; }

std::string at_offset(std::uint64_t offset) { return " at offset " + std::to_string(offset); }

Result<void> wrong(const std::string& what, std::uint64_t offset) {
  return fail(ErrorCode::corrupt, what + at_offset(offset));
}

}  // namespace

void FirstDigits::fade(std::uint64_t begin, std::uint64_t end, const std::array<std::uint8_t, 256>& pairs) noexcept {
  for (; begin < end && begin % kInWord != 0; ++begin) {
    set(begin, pairs[(*this)[begin]]);
  }
  for (; begin + kInWord <= end; begin += kInWord) {
    std::uint64_t& word = words_[begin / kInWord];
    std::uint64_t faded = 0;
    for (unsigned byte = 0; word != 0 && byte < kWordBits; byte += 8) {
      faded |= std::uint64_t{pairs[(word >> byte) & 255]} << byte;
    }
    word = faded;
  }
  for (; begin < end; ++begin) {
    set(begin, pairs[(*this)[begin]]);
  }
}

Fading::Fading(const WholeDecay& decay, std::uint64_t epochs) noexcept : decay_(decay), epochs_(epochs) {
  for (unsigned pair = 0; pair < pairs_.size(); ++pair) {
    pairs_[pair] = static_cast<std::uint8_t>((*this)(pair & kLargestDigit) | (*this)(pair >> kDigitBits) << kDigitBits);
  }
}

DigitTable::DigitTable(std::uint64_t* words, const Shape& shape, Ledger* ledger) noexcept
    : ledger_(ledger),
      digits_(shape.digits),
      counters_(shape.counters),
      scale_((homes_for(shape.digits) << 32) / shape.counters),
      slots_(words, slots_for(shape), slot_bits(shape)) {}

std::uint64_t DigitTable::words_for(const Shape& shape) noexcept {
  return PackedFields::words_for(slots_for(shape), slot_bits(shape));
}

// The counter's first slot, or where it would be.
std::uint64_t DigitTable::find(std::uint64_t counter) const noexcept {
  std::uint64_t at = home(counter);
  for (; at < slots_.count(); ++at) {
    const std::uint64_t key = key_at(at);
    if (key == 0 || key > counter) {
      break;
    }
  }
  return at;
}

DigitTable::Run DigitTable::run_at(std::uint64_t at, std::uint64_t key) const noexcept {
  Run run;
  for (; at < slots_.count() && key_at(at) == key; ++at) {
    run.high |= (slots_[at] & kLargestDigit) << (kDigitBits * run.digits);
    ++run.digits;
  }
  return run;
}

std::uint64_t DigitTable::high(std::uint64_t counter) const noexcept { return run_at(find(counter), counter + 1).high; }

// No slot moves by more than one per opened slot.
bool DigitTable::has_room(std::uint64_t digits) const noexcept {
  if (digits_ - ledger_->in_use < digits || digits > kTailSlots) {
    return false;
  }
  for (std::uint64_t at = slots_.count() - digits; at < slots_.count(); ++at) {
    if (slots_[at] != 0) {
      return false;
    }
  }
  return true;
}

bool DigitTable::fits(const Shape& shape, std::uint64_t digits) const noexcept {
  const DigitTable other(nullptr, shape, nullptr);
  std::uint64_t free_from = 0;
  for_each([&](std::uint64_t counter, std::uint64_t high) {
    free_from = std::max(other.home(counter), free_from) + digits_of(high);
  });
  return shape.digits >= ledger_->in_use + digits && other.slots_.count() >= free_from + digits;
}

void DigitTable::open_slot(std::uint64_t at) noexcept {
  std::uint64_t moved = slots_[at];
  for (std::uint64_t to = at + 1; moved != 0; ++to) {
    const std::uint64_t next = slots_[to];
    slots_.set(to, moved);
    moved = next;
  }
  ++ledger_->in_use;
  ledger_->peak = std::max(ledger_->peak, ledger_->in_use);
}

void DigitTable::write(std::uint64_t at, std::uint64_t key, std::uint64_t high) noexcept {
  for (; high != 0; high >>= kDigitBits) {
    slots_.set(at++, key << kDigitBits | (high & kLargestDigit));
  }
}

void DigitTable::raise(std::uint64_t counter, std::uint64_t high) noexcept {
  const std::uint64_t start = find(counter);
  for (std::uint64_t digits = run_at(start, counter + 1).digits; digits < digits_of(high); ++digits) {
    open_slot(start + digits);
    slots_.set(start + digits, (counter + 1) << kDigitBits);
  }
  write(start, counter + 1, high);
}

// Slots only move back, to at or before where they were read, so one pass in place suffices.
void DigitTable::fade(FirstDigits& first, const Fading& fading) noexcept {
  std::uint64_t done = 0;
  std::uint64_t free_from = 0;
  std::uint64_t in_use = 0;
  for (std::uint64_t at = 0; at < slots_.count();) {
    const std::uint64_t key = key_at(at);
    if (key == 0) {
      ++at;
      continue;
    }
    const std::uint64_t counter = key - 1;
    const Run run = run_at(at, key);
    for (const std::uint64_t end = at + run.digits; at < end; ++at) {
      slots_.set(at, 0);
    }
    first.fade(done, counter, fading.pairs());
    done = counter + 1;
    const std::uint64_t value = fading(run.high << kDigitBits | first[counter]);
    first.set(counter, value & kLargestDigit);
    if (const std::uint64_t high = value >> kDigitBits; high != 0) {
      const std::uint64_t start = std::max(home(counter), free_from);
      write(start, key, high);
      free_from = start + digits_of(high);
      in_use += digits_of(high);
    }
  }
  first.fade(done, first.count(), fading.pairs());
  ledger_->in_use = in_use;
}

Result<void> DigitTable::check(std::uint64_t offset) const {
  if (ledger_->in_use > ledger_->peak || ledger_->peak > digits_ || ledger_->first_free != 0) {
    return wrong("impossible counts of digits", sizeof(Ledger) + offset);
  }
  if (!slots_.is_tail_zero()) {
    return wrong("bits after the last slot are not zero", offset + slots_.byte_of(slots_.count()));
  }
  return check_slots(offset);
}

Result<void> DigitTable::check_slots(std::uint64_t offset) const {
  std::uint64_t previous = 0;
  std::uint64_t free_from = 0;
  std::uint64_t in_use = 0;
  for (std::uint64_t at = 0; at < slots_.count();) {
    const std::uint64_t place = offset + slots_.byte_of(at);
    const std::uint64_t key = key_at(at);
    if (key == 0) {
      if (slots_[at] != 0) {
        return wrong("a digit of no counter", place);
      }
      ++at;
      continue;
    }
    if (key <= previous || key > counters_ || at != std::max(home(key - 1), free_from)) {
      return wrong("counter " + std::to_string(key - 1) + " is not where its digits belong", place);
    }
    const Run run = run_at(at, key);
    if (run.digits > kMaxExtraDigits || run.digits != digits_of(run.high)) {
      return wrong("counter " + std::to_string(key - 1) + " has too many digits", place);
    }
    previous = key;
    at += run.digits;
    free_from = at;
    in_use += run.digits;
  }
  return in_use == ledger_->in_use ? Result<void>{} : wrong("the table has not as many digits as are counted", offset);
}

Bits DigitTable::bits() const noexcept {
  const std::uint64_t key_bits = number_bits(counters_);
  return {.digits = slots_.count() * kDigitBits,
          .lookup = slots_.count() * key_bits,
          .digits_used = ledger_->in_use * kDigitBits,
          .lookup_used = ledger_->in_use * key_bits};
}

DigitLists::DigitLists(std::uint64_t* words, const Shape& shape, Heads heads, Ledger* ledger) noexcept
    : ledger_(ledger), group_(heads == Heads::each ? 1 : kShared), counters_(shape.counters) {
  const unsigned link_bits = number_bits(shape.digits);
  const auto next_part = [&words](std::uint64_t count, unsigned bits) {
    const PackedFields part(words, count, bits);
    words += PackedFields::words_for(count, bits);
    return part;
  };
  digits_ = next_part(shape.digits, kDigitBits);
  next_ = next_part(shape.digits, link_bits);
  heads_ = next_part(divide_up(shape.counters, group_), link_bits);
  if (heads == Heads::shared) {
    owners_ = next_part(shape.digits, number_bits(shape.counters));
  }
}

std::uint64_t DigitLists::words_for(const Shape& shape, Heads heads) noexcept {
  const unsigned link_bits = number_bits(shape.digits);
  const std::uint64_t both =
      PackedFields::words_for(shape.digits, kDigitBits) + PackedFields::words_for(shape.digits, link_bits);
  return heads == Heads::each ? both + PackedFields::words_for(shape.counters, link_bits)
                              : both + PackedFields::words_for(divide_up(shape.counters, kShared), link_bits) +
                                    PackedFields::words_for(shape.digits, number_bits(shape.counters));
}

std::uint64_t DigitLists::high(std::uint64_t counter) const noexcept {
  std::uint64_t high = 0;
  unsigned shift = 0;
  for (std::uint64_t link = heads_[counter / group_]; link != 0; link = next_[link - 1]) {
    if (belongs(link - 1, counter)) {
      high |= digits_[link - 1] << shift;
      shift += kDigitBits;
    }
  }
  return high;
}

std::uint64_t DigitLists::take() noexcept {
  std::uint64_t digit = ledger_->peak;
  if (ledger_->first_free != 0) {
    digit = ledger_->first_free - 1;
    ledger_->first_free = next_[digit];
    next_.set(digit, 0);
  } else {
    ++ledger_->peak;
  }
  ++ledger_->in_use;
  return digit;
}

void DigitLists::give_back(std::uint64_t digit) noexcept {
  digits_.set(digit, 0);
  if (group_ != 1) {
    owners_.set(digit, 0);
  }
  next_.set(digit, ledger_->first_free);
  ledger_->first_free = digit + 1;
  --ledger_->in_use;
}

// Appends new digits to the list, so that a counter's digits stay in order.
void DigitLists::raise(std::uint64_t counter, std::uint64_t high) noexcept {
  std::uint64_t last = 0;
  for (std::uint64_t link = heads_[counter / group_]; link != 0; link = next_[link - 1]) {
    if (belongs(link - 1, counter)) {
      digits_.set(link - 1, high & kLargestDigit);
      high >>= kDigitBits;
    }
    last = link;
  }
  for (; high != 0; high >>= kDigitBits) {
    const std::uint64_t digit = take();
    digits_.set(digit, high & kLargestDigit);
    if (group_ != 1) {
      owners_.set(digit, counter + 1);
    }
    last == 0 ? heads_.set(counter / group_, digit + 1) : next_.set(last - 1, digit + 1);
    last = digit + 1;
  }
}

DigitLists::Group DigitLists::read(std::uint64_t group) const noexcept {
  Group found;
  for (std::uint64_t link = heads_[group]; link != 0; link = next_[link - 1]) {
    const std::uint64_t counter = group_ == 1 ? 0 : (owners_[link - 1] - 1) % kShared;
    found.high[counter] |= digits_[link - 1] << (kDigitBits * found.digits[counter]);
    ++found.digits[counter];
  }
  return found;
}

// Writes numbers with no more digits than before, and frees the others.
void DigitLists::rewrite(std::uint64_t group, const std::array<std::uint64_t, kShared>& highs) noexcept {
  std::array<std::uint64_t, kShared> left = highs;
  std::uint64_t last = 0;
  for (std::uint64_t link = heads_[group]; link != 0;) {
    const std::uint64_t next = next_[link - 1];
    std::uint64_t& high = left[group_ == 1 ? 0 : (owners_[link - 1] - 1) % kShared];
    if (high == 0) {
      last == 0 ? heads_.set(group, next) : next_.set(last - 1, next);
      give_back(link - 1);
    } else {
      digits_.set(link - 1, high & kLargestDigit);
      high >>= kDigitBits;
      last = link;
    }
    link = next;
  }
}

void DigitLists::fade(FirstDigits& first, const Fading& fading) noexcept {
  std::uint64_t done = 0;
  for (std::uint64_t group = 0; group < heads_.count(); ++group) {
    if (heads_[group] == 0) {
      continue;
    }
    Group found = read(group);
    for (std::uint64_t i = 0; i < group_; ++i) {
      if (found.digits[i] == 0) {
        continue;
      }
      const std::uint64_t counter = group * group_ + i;
      first.fade(done, counter, fading.pairs());
      done = counter + 1;
      const std::uint64_t value = fading(found.high[i] << kDigitBits | first[counter]);
      first.set(counter, value & kLargestDigit);
      found.high[i] = value >> kDigitBits;
    }
    rewrite(group, found.high);
  }
  first.fade(done, first.count(), fading.pairs());
}

namespace {

// Marks a digit as seen; returns whether it was marked before.
bool is_again(std::span<std::uint64_t> seen, std::uint64_t digit) noexcept {
  std::uint64_t& word = seen[digit / kWordBits];
  const std::uint64_t bit = std::uint64_t{1} << (digit % kWordBits);
  const bool was = (word & bit) != 0;
  word |= bit;
  return was;
}

}  // namespace

// Visits every digit at most once, so lists neither join nor loop, and the traversal ends.
Result<void> DigitLists::check(std::uint64_t offset) const {
  if (ledger_->in_use > ledger_->peak || ledger_->peak > digits_.count() || ledger_->first_free > ledger_->peak) {
    return wrong("impossible counts of digits", offset);
  }
  if (!digits_.is_tail_zero() || !next_.is_tail_zero() || !heads_.is_tail_zero() ||
      (group_ != 1 && !owners_.is_tail_zero())) {
    return wrong("bits after the last link are not zero, in what begins", offset);
  }
  std::vector<std::uint64_t> seen(divide_up<std::uint64_t>(digits_.count(), kWordBits));
  for (std::uint64_t group = 0; group < heads_.count(); ++group) {
    MANKAI_TRY(check_list(group, seen, offset));
  }
  std::uint64_t met = 0;
  for (const std::uint64_t word : seen) {
    met += static_cast<std::uint64_t>(std::popcount(word));
  }
  if (met != ledger_->in_use) {
    return wrong("the lists have not as many digits as are counted, in what begins", offset);
  }
  return check_free(seen, offset);
}

Result<void> DigitLists::check_list(std::uint64_t group, std::span<std::uint64_t> seen, std::uint64_t offset) const {
  std::array<std::uint8_t, kShared> digits{};
  std::array<std::uint64_t, kShared> last{};
  for (std::uint64_t link = heads_[group]; link != 0; link = next_[link - 1]) {
    if (link > ledger_->peak || is_again(seen, link - 1)) {
      return wrong("a link to no digit, or to one that has an owner, in what begins", offset);
    }
    const std::uint64_t owner = group_ == 1 ? group + 1 : owners_[link - 1];
    if (owner == 0 || owner > counters_ || (owner - 1) / group_ != group) {
      return wrong("a digit of a counter of another list, in what begins", offset);
    }
    const std::uint64_t counter = (owner - 1) % group_;
    last[counter] = digits_[link - 1];
    if (++digits[counter] > kMaxExtraDigits) {
      return wrong("a counter with too many digits, in what begins", offset);
    }
  }
  for (std::uint64_t i = 0; i < group_; ++i) {
    if (digits[i] != 0 && last[i] == 0) {
      return wrong("a counter that ends with a digit of 0, in what begins", offset);
    }
  }
  return {};
}

Result<void> DigitLists::check_free(std::span<std::uint64_t> seen, std::uint64_t offset) const {
  std::uint64_t listed = ledger_->in_use;
  for (std::uint64_t link = ledger_->first_free; link != 0; link = next_[link - 1]) {
    if (link > ledger_->peak || is_again(seen, link - 1)) {
      return wrong("a free digit that is not, in what begins", offset);
    }
    if (digits_[link - 1] != 0 || (group_ != 1 && owners_[link - 1] != 0)) {
      return wrong("a free digit that is not zero, in what begins", offset);
    }
    ++listed;
  }
  if (listed != ledger_->peak) {
    return wrong("digits that are neither in use nor free, in what begins", offset);
  }
  for (std::uint64_t digit = ledger_->peak; digit < digits_.count(); ++digit) {
    if (digits_[digit] != 0 || next_[digit] != 0 || (group_ != 1 && owners_[digit] != 0)) {
      return wrong("a digit that was never used is not zero, in what begins", offset);
    }
  }
  return {};
}

Bits DigitLists::bits() const noexcept {
  const std::uint64_t owners = group_ == 1 ? 0 : owners_.bits();
  const std::uint64_t links = next_.bits() + owners;
  return {.digits = digits_.bits(),
          .lookup = links + heads_.bits(),
          .digits_used = ledger_->in_use * kDigitBits,
          .lookup_used = links / digits_.count() * ledger_->in_use + heads_.bits()};
}

}  // namespace mankai::pool
