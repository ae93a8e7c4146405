#include "mankai/url/detail/domain.hpp"

#include <unicase.h>
#include <unictype.h>
#include <uninorm.h>
#include <unistr.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mankai::url {
namespace {

// Characters of Unicode 15 to 17 that UTS 46 maps to another one. Debian 12's libunistring has the tables of Unicode
// 14, and browsers have newer ones: they read U+A7F1 as "s", and U+1CCD6 to U+1CCF9 as ASCII letters and digits.
struct NewerRange {
  std::uint32_t first;
  std::uint32_t last;
  std::uint32_t target;  ///< of the first character; the others follow
};

constexpr NewerRange kNewerRanges[] = {
    {0x1c89, 0x1c89, 0x1c8a},     // Cyrillic
    {0xa7cb, 0xa7cb, 0x264},      // Latin
    {0xa7cc, 0xa7cc, 0xa7cd},     //
    {0xa7ce, 0xa7ce, 0xa7cf},     //
    {0xa7d2, 0xa7d2, 0xa7d3},     //
    {0xa7d4, 0xa7d4, 0xa7d5},     //
    {0xa7da, 0xa7da, 0xa7db},     //
    {0xa7dc, 0xa7dc, 0x19b},      //
    {0xa7f1, 0xa7f1, 's'},        // modifier letter
    {0x10d50, 0x10d65, 0x10d70},  // Garay
    {0x16ea0, 0x16eb8, 0x16ebb},  // Beria Erfe
    {0x1ccd6, 0x1ccef, 'a'},      // outlined Latin letters
    {0x1ccf0, 0x1ccf9, '0'},      // outlined digits
};

// Modifiers of Cyrillic letters, from U+1E030 on.
constexpr std::uint32_t kNewerCyrillic = 0x1e030;
constexpr std::array<std::uint16_t, 62> kNewerCyrillicTargets = {
    0x430, 0x431, 0x432, 0x433, 0x434, 0x435, 0x436, 0x437, 0x438, 0x43a, 0x43b,  0x43c, 0x43e,  0x43f, 0x440, 0x441,
    0x442, 0x443, 0x444, 0x445, 0x446, 0x447, 0x448, 0x44b, 0x44d, 0x44e, 0xa689, 0x4d9, 0x456,  0x458, 0x4e9, 0x4af,
    0x4cf, 0x430, 0x431, 0x432, 0x433, 0x434, 0x435, 0x436, 0x437, 0x438, 0x43a,  0x43b, 0x43e,  0x43f, 0x441, 0x443,
    0x444, 0x445, 0x446, 0x447, 0x448, 0x44a, 0x44b, 0x491, 0x456, 0x455, 0x45f,  0x4ab, 0xa651, 0x4b1};

constexpr std::optional<std::uint32_t> newer_target(std::uint32_t character) noexcept {
  if (character >= kNewerCyrillic && character - kNewerCyrillic < kNewerCyrillicTargets.size()) {
    return kNewerCyrillicTargets[character - kNewerCyrillic];
  }
  const auto* const range = std::ranges::find_if(
      kNewerRanges, [&](const NewerRange& each) { return character >= each.first && character <= each.last; });
  return range == std::end(kNewerRanges) ? std::nullopt : std::optional(range->target + (character - range->first));
}

using Characters = std::vector<std::uint32_t>;

constexpr std::uint32_t kAsciiEnd = 0x80;
constexpr std::uint32_t kSharpS = 0xdf;
constexpr std::uint32_t kCapitalSharpS = 0x1e9e;
constexpr std::uint32_t kFinalSigma = 0x3c2;
constexpr std::uint32_t kSigma = 0x3c3;
constexpr std::uint32_t kNonJoiner = 0x200c;
constexpr std::uint32_t kJoiner = 0x200d;
constexpr std::uint32_t kIdeographicFullStop = 0x3002;

constexpr std::uint32_t lower(std::uint32_t character) noexcept {
  return character >= 'A' && character <= 'Z' ? character + ('a' - 'A') : character;
}

constexpr bool is_deviation(std::uint32_t character) noexcept {
  return character == kSharpS || character == kCapitalSharpS || character == kFinalSigma || character == kNonJoiner ||
         character == kJoiner;
}

void append_deviation(std::uint32_t character, Deviations deviations, Characters& mapped) {
  const bool is_mapped = deviations == Deviations::mapped;
  const bool is_joiner = character == kNonJoiner || character == kJoiner;
  if (character == kCapitalSharpS && deviations == Deviations::kept) {
    mapped.push_back(kSharpS);
  } else if (character == kCapitalSharpS || (character == kSharpS && is_mapped)) {
    mapped.insert(mapped.end(), 2, 's');
  } else if (!is_mapped) {
    mapped.push_back(character);
  } else if (!is_joiner) {
    mapped.push_back(kSigma);
  }
}

// Maps one character by NFKC_Casefold, from which UTS 46 derives its table: folds and decomposes until nothing changes.
void append_folded(std::uint32_t character, Characters& mapped) {
  constexpr std::size_t kLongest = 64;  // the longest expansion has 18 characters
  std::array<std::uint32_t, kLongest> text{character};
  std::size_t size = 1;
  for (bool is_changing = true; is_changing;) {
    std::array<std::uint32_t, kLongest> folded{};
    std::size_t folded_size = folded.size();
    if (::u32_casefold(text.data(), size, nullptr, UNINORM_NFKC, folded.data(), &folded_size) == nullptr) {
      throw std::bad_alloc();
    }
    is_changing = !std::ranges::equal(std::span(text).first(size), std::span(folded).first(folded_size));
    text = folded;
    size = folded_size;
  }
  mapped.insert(mapped.end(), text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size));
}

constexpr bool is_dot(std::uint32_t character) noexcept {
  return character == '.' || character == kIdeographicFullStop;
}

// Maps a name from its last character to its first, so that a part too far left for any rule need not be mapped.
class Mapper {
 public:
  explicit Mapper(Deviations deviations) : deviations_(deviations) {}

  void prepend(std::uint32_t character) {
    const std::size_t begin = reversed_.size();
    append_mapped(character);
    for (std::size_t i = begin; i < reversed_.size(); ++i) {
      count(reversed_[i]);
    }
  }

  // Whether the name is longer than kNameBytesMax, whatever precedes the mapped part. NFC merges at most four
  // characters, an escape has three bytes, and dots beside dots count as one. Zeros may be any number in an address.
  [[nodiscard]] bool is_full() const noexcept {
    constexpr std::size_t kMostComposed = 4;
    constexpr std::size_t kMostInAddress = 64;  // four numbers of eleven digits and "0x", and their dots
    return counted_ > kMostComposed * (kNameBytesMax + 1) && other_than_zero_ > kMostInAddress;
  }

  [[nodiscard]] Characters release() {
    std::ranges::reverse(reversed_);
    std::ranges::replace(reversed_, kIdeographicFullStop, std::uint32_t{'.'});
    return std::move(reversed_);
  }

 private:
  struct Known {
    std::uint32_t character = 0;
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  static constexpr std::size_t kKnown = 251;

  // Appends the mapping of a character in reverse.
  void append_mapped(std::uint32_t character) {
    if (character < kAsciiEnd) {
      reversed_.push_back(lower(character));
    } else if (const auto target = newer_target(character)) {
      reversed_.push_back(*target);
    } else if (is_deviation(character)) {
      append_deviation(character, deviations_, reversed_);
    } else if (!::uc_is_property_default_ignorable_code_point(character)) {
      append_other(character);
    }
  }

  // Reuses earlier mappings: the library takes 0.2 to 5 µs, and a row of zeros may have any length.
  void append_other(std::uint32_t character) {
    Known& known = known_[character % kKnown];
    if (known.character != character) {
      const std::size_t begin = reversed_.size();
      append_folded(character, reversed_);
      std::ranges::reverse(std::span(reversed_).subspan(begin));
      known = {.character = character,
               .begin = static_cast<std::uint32_t>(begin),
               .size = static_cast<std::uint32_t>(reversed_.size() - begin)};
      return;
    }
    for (std::uint32_t i = 0; i < known.size; ++i) {
      reversed_.push_back(reversed_[known.begin + i]);
    }
  }

  void count(std::uint32_t character) noexcept {
    const bool is_run = is_dot(character) && is_after_dot_;
    is_after_dot_ = is_dot(character);
    counted_ += is_run ? 0U : 1U;
    other_than_zero_ += is_run || character == '0' ? 0U : 1U;
  }

  Deviations deviations_;
  Characters reversed_;
  std::array<Known, kKnown> known_{};
  std::size_t counted_ = 0;
  std::size_t other_than_zero_ = 0;
  bool is_after_dot_ = false;
};

Characters composed(const Characters& mapped) {
  struct Free {
    void operator()(std::uint32_t* memory) const noexcept { std::free(memory); }  // NOLINT(*-no-malloc): libunistring's
  };
  if (mapped.empty()) {
    return {};
  }
  std::size_t size = 0;
  const std::unique_ptr<std::uint32_t, Free> found(
      ::u32_normalize(UNINORM_NFC, mapped.data(), mapped.size(), nullptr, &size));
  if (!found) {
    throw std::bad_alloc();
  }
  return {found.get(), found.get() + size};
}

// [RFC3492] §5 and §6.1, with its own names.
constexpr std::uint32_t kBase = 36;
constexpr std::uint32_t kTmin = 1;
constexpr std::uint32_t kTmax = 26;
constexpr std::uint32_t kSkew = 38;
constexpr std::uint32_t kDamp = 700;
constexpr std::uint32_t kInitialBias = 72;

constexpr char digit_of(std::uint32_t value) noexcept {
  constexpr std::string_view kDigits = "abcdefghijklmnopqrstuvwxyz0123456789";
  return kDigits[value];
}

std::uint32_t adapted(std::uint32_t delta, std::uint32_t points, bool is_first) noexcept {
  delta = is_first ? delta / kDamp : delta / 2;
  delta += delta / points;
  std::uint32_t k = 0;
  for (; delta > (kBase - kTmin) * kTmax / 2; k += kBase) {
    delta /= kBase - kTmin;
  }
  return k + (kBase - kTmin + 1) * delta / (delta + kSkew);
}

void append_integer(std::uint32_t value, std::uint32_t bias, std::string& ascii) {
  for (std::uint32_t k = kBase;; k += kBase) {
    const std::uint32_t threshold = k <= bias ? kTmin : std::min(k - bias, kTmax);
    if (value < threshold) {
      ascii += digit_of(value);
      return;
    }
    ascii += digit_of(threshold + (value - threshold) % (kBase - threshold));
    value = (value - threshold) / (kBase - threshold);
  }
}

// Pre: a short label: the cost is quadratic with many different characters, and `delta` could overflow.
void append_punycode(std::span<const std::uint32_t> label, std::string& ascii) {
  const std::size_t begin = ascii.size();
  for (const std::uint32_t character : label) {
    if (character < kAsciiEnd) {
      ascii += static_cast<char>(character);
    }
  }
  const auto basic = static_cast<std::uint32_t>(ascii.size() - begin);
  if (basic != 0) {
    ascii += '-';
  }
  std::uint32_t bias = kInitialBias;
  std::uint32_t delta = 0;
  std::uint32_t least = kAsciiEnd;
  for (std::uint32_t handled = basic; handled < label.size();) {
    std::uint32_t next = UINT32_MAX;
    for (const std::uint32_t character : label) {
      next = character >= least ? std::min(next, character) : next;
    }
    delta += (next - least) * (handled + 1);
    for (const std::uint32_t character : label) {
      delta += static_cast<std::uint32_t>(character < next);
      if (character == next) {
        append_integer(delta, bias, ascii);
        bias = adapted(delta, handled + 1, handled == basic);
        ++handled;
        delta = 0;
      }
    }
    ++delta;
    least = next + 1;
  }
}

void append_label(std::span<const std::uint32_t> label, std::string& ascii) {
  constexpr std::size_t kMostEncoded = 256;
  if (std::ranges::all_of(label, [](std::uint32_t character) { return character < kAsciiEnd; })) {
    for (const std::uint32_t character : label) {
      ascii += static_cast<char>(character);
    }
    return;
  }
  ascii += "xn--";
  append_punycode(label.first(std::min(label.size(), kMostEncoded)), ascii);
}

void append_labels(std::span<const std::uint32_t> name, std::string& ascii) {
  while (true) {
    const auto dot = std::ranges::find(name, std::uint32_t{'.'});
    append_label({name.begin(), dot}, ascii);
    if (dot == name.end()) {
      return;
    }
    ascii += '.';
    name = {dot + 1, name.end()};
  }
}

}  // namespace

Domain append_domain(std::string_view utf8, Deviations deviations, std::string& ascii) {
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(utf8.data());
  if (::u8_check(begin, utf8.size()) != nullptr) {
    return {};
  }
  Domain domain{.is_text = true};
  Mapper mapper(deviations);
  const std::uint8_t* at = begin + utf8.size();
  while (at != begin && !mapper.is_full()) {
    ucs4_t character = 0;
    at = ::u8_prev(&character, at, begin);
    domain.has_deviations |= is_deviation(character);
    domain.has_capital_sharp_s |= character == kCapitalSharpS;
    mapper.prepend(character);
  }
  append_labels(composed(mapper.release()), ascii);
  return domain;
}

}  // namespace mankai::url
