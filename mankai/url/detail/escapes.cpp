#include "mankai/url/detail/canonicalizer.hpp"

#include <algorithm>
#include <cstddef>

#include "mankai/url/detail/bytes.hpp"

namespace mankai::url {
namespace {

constexpr int kNoDigit = -1;
constexpr int kHexLetter = 10;

constexpr int hex_digit(char byte) noexcept {
  if (byte >= '0' && byte <= '9') {
    return byte - '0';
  }
  const char lower = static_cast<char>(byte | ' ');
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + kHexLetter : kNoDigit;
}

// Calls `use` with every byte except TAB, CR and LF.
template <class Use>
void for_each_url_byte(std::string_view raw, const Use& use) {
  for (const char byte : raw) {
    if (!is_line_byte(byte)) {
      use(byte);
    }
  }
}

// Appends bytes one by one and decodes each escape once, from the left, unless it is kept.
class OnceDecoder {
 public:
  explicit OnceDecoder(std::string& text) noexcept : text_(text) {}

  void append(char byte) {
    if (is_open() && hex_digit(byte) == kNoDigit) {
      close_as_percent();
    }
    if (byte == '%') {
      percent_ = text_.size();
    }
    text_ += byte;
    if (is_open() && text_.size() - percent_ == kEscapeBytes) {
      close_as_escape();
    }
  }
  void finish() {
    if (is_open()) {
      close_as_percent();
    }
  }

 private:
  [[nodiscard]] bool is_open() const noexcept { return percent_ != std::string::npos; }

  void close_as_escape() {
    const char byte = escaped_byte(std::string_view(text_).substr(percent_)).value_or('%');
    if (!is_kept_escaped(byte)) {
      text_.resize(percent_);
      text_ += byte;
    }
    percent_ = std::string::npos;
  }
  // At most one byte follows the percent sign.
  void close_as_percent() {
    text_.insert(percent_ + 1, "25");
    percent_ = std::string::npos;
  }

  std::string& text_;
  std::size_t percent_ = std::string::npos;  // of an incomplete escape
};

// Decodes the escape that ends at `end`, and repeats while the decoded byte completes another one; returns the new end.
// Escapes never overlap, so their order does not matter and one pass finds them all.
char* undo_escapes(const char* begin, char* end) noexcept {
  while (end - begin >= static_cast<std::ptrdiff_t>(kEscapeBytes) && end[-3] == '%') {
    const auto byte = escaped_byte({end - kEscapeBytes, kEscapeBytes});
    if (!byte) {
      break;
    }
    end -= kEscapeBytes - 1;
    end[-1] = *byte;
  }
  return end;
}

}  // namespace

std::optional<char> escaped_byte(std::string_view text) noexcept {
  if (text.size() < kEscapeBytes || text.front() != '%') {
    return std::nullopt;
  }
  const int high = hex_digit(text[1]);
  const int low = hex_digit(text[2]);
  if (high == kNoDigit || low == kNoDigit) {
    return std::nullopt;
  }
  return static_cast<char>(high * 16 + low);
}

void decode(std::string_view raw, UrlRules rules, std::string& decoded) {
  raw = without_blanks(raw.substr(0, raw.find('#')));
  if (rules == UrlRules::keys) {
    decoded.clear();
    OnceDecoder decoder(decoded);
    for_each_url_byte(raw, [&](char byte) { decoder.append(byte); });
    decoder.finish();
    return;
  }
  decoded.resize(raw.size());
  char* end = decoded.data();
  for_each_url_byte(raw, [&](char byte) {
    *end++ = byte;
    end = undo_escapes(decoded.data(), end);
  });
  decoded.resize(static_cast<std::size_t>(end - decoded.data()));
}

void append_escaped(std::string_view bytes, UrlRules rules, std::string& text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  while (!bytes.empty()) {
    const auto* const stop = std::find_if_not(bytes.begin(), bytes.end(), is_plain);
    const auto run = static_cast<std::size_t>(stop - bytes.begin());
    text.append(bytes.substr(0, run));
    bytes.remove_prefix(run);
    if (bytes.empty()) {
      return;
    }
    const bool is_kept = rules == UrlRules::keys && bytes.front() == '%';
    const auto byte = static_cast<unsigned char>(is_kept ? escaped_byte(bytes).value_or('%') : bytes.front());
    text += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    bytes.remove_prefix(is_kept ? kEscapeBytes : 1);
  }
}

}  // namespace mankai::url
