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
#include <span>
#include <vector>

#include "mankai/url/detail/newer_characters.hpp"

namespace mankai::url {
namespace {

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

// Appends what one of the four becomes. Returns false for any other character.
bool append_deviation(std::uint32_t character, Deviations deviations, Characters& mapped) {
  if (deviations == Deviations::mapped) {
    switch (character) {
      case kSharpS:
      case kCapitalSharpS: mapped.insert(mapped.end(), 2, 's'); return true;
      case kFinalSigma: mapped.push_back(kSigma); return true;
      case kNonJoiner:
      case kJoiner: return true;
      default: return false;
    }
  }
  switch (character) {
    case kCapitalSharpS: mapped.push_back(kSharpS); return true;
    case kSharpS:
    case kFinalSigma:
    case kNonJoiner:
    case kJoiner: mapped.push_back(character); return true;
    default: return false;
  }
}

constexpr bool is_deviation(std::uint32_t character) noexcept {
  return character == kSharpS || character == kCapitalSharpS || character == kFinalSigma || character == kNonJoiner ||
         character == kJoiner;
}

// One character by NFKC_Casefold, from which UTS 46 derives its table: folded and decomposed until it stays as it is.
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

void append_mapped(std::uint32_t character, Deviations deviations, Characters& mapped) {
  if (character < kAsciiEnd) {
    mapped.push_back(lower(character));
  } else if (const auto target = newer_target(character)) {
    mapped.push_back(*target);
  } else if (!append_deviation(character, deviations, mapped) &&
             !::uc_is_property_default_ignorable_code_point(character)) {
    append_folded(character, mapped);
  }
}

// Returns the characters in normal form C.
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

// [RFC3492] §5 and §6.1, in its own names.
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

// Pre: few characters, or their number times that of the different ones takes long, and `delta` overflows.
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
  Domain domain;
  Characters mapped;
  mapped.reserve(utf8.size());
  while (!utf8.empty()) {
    ucs4_t character = 0;
    const int bytes = ::u8_mbtoucr(&character, reinterpret_cast<const std::uint8_t*>(utf8.data()), utf8.size());
    if (bytes <= 0) {
      return {};
    }
    utf8.remove_prefix(static_cast<std::size_t>(bytes));
    domain.has_deviations |= is_deviation(character);
    append_mapped(character, deviations, mapped);
  }
  std::ranges::replace(mapped, kIdeographicFullStop, std::uint32_t{'.'});
  append_labels(composed(mapped), ascii);
  domain.is_text = true;
  return domain;
}

}  // namespace mankai::url
