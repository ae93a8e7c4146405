// Goal: the rules of keys change spellings only. Method: URLs drawn from pieces that the rules act on, and any bytes:
// canonicalizing twice is canonicalizing once; two URLs that differ in the escape of a reserved byte have different
// keys; what is spelled with more escapes of other bytes has the same one. The seed is fixed; RC_PARAMS="seed=..." in
// the environment searches elsewhere.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/url/canonical_url.hpp"
#include "mankai/url/detail/canonicalizer.hpp"

namespace mankai::url {
namespace {

// rapidcheck reads its settings once, when the first property runs.
const bool kIsSeeded = ::setenv("RC_PARAMS", "seed=20261122 max_success=20000 max_size=60", 0) == 0;

std::string escape(char byte) {
  std::string text;
  constexpr std::string_view kDigits = "0123456789aBcDeF";
  return text.append(1, '%').append(1, kDigits[static_cast<unsigned char>(byte) >> 4U]).append(1, kDigits[byte & 15]);
}

rc::Gen<std::string> any_piece() {
  return rc::gen::oneOf(
      rc::gen::elementOf(std::vector<std::string>{
          "http://", "/",    "//",      "..",  ".",   "?",   "&",   "=",  "+", "%",        "%25",
          "%2",      "41",   "%2f",     "%2F", "%41", "%e4", "%5c", "\\", "@", ":",        ":80",
          "[",       "]",    "a",       "Z",   "-",   "~",   "\t",  " ",  "#", "\xC3\xBC", "\xEF\xBC\x85",
          "%00",     "xn--", "1.2.3.4", "0x7f"}),
      rc::gen::map(rc::gen::arbitrary<char>(), [](char byte) { return std::string(1, byte); }),
      rc::gen::map(rc::gen::arbitrary<char>(), escape));
}

rc::Gen<std::string> any_text() {
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(any_piece()), [](const auto& pieces) {
    std::string text;
    for (const std::string& piece : pieces) {
      text += piece;
    }
    return text;
  });
}

RC_GTEST_PROP(CanonicalProperty, twice_is_once, ()) {
  static_cast<void>(kIsSeeded);
  const std::string text = *any_text();
  for (const std::string& raw : {text, "http://" + text, "https://h.example/" + text, "http://h/?" + text}) {
    for (const UrlRules rules : {UrlRules::safe_browsing, UrlRules::keys}) {
      const auto once = canonicalize(raw, rules);
      if (once) {
        const auto twice = canonicalize(once->text(), rules);
        RC_ASSERT(twice.has_value());
        RC_ASSERT(twice->text() == once->text());
        RC_ASSERT(twice->host() == once->host());
      }
    }
  }
}

// Bytes of a path or query that no rule removes: dots, slashes and '#' aside.
rc::Gen<std::string> any_word() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcXYZ019_~&=+;,@:!$'()*[]\\?")));
}

RC_GTEST_PROP(CanonicalProperty, keys_keep_apart_what_a_reserved_byte_tells_apart, ()) {
  const char reserved = *rc::gen::elementOf(std::string(":/?#[]@!$&'()*+,;=\\"));
  const std::string before = std::string("http://h/a") + *any_word();
  const std::string after = "b" + *any_word();
  const auto escaped = canonicalize(before + escape(reserved) + after, UrlRules::keys);
  const auto bare = canonicalize(before + reserved + after, UrlRules::keys);
  RC_ASSERT(escaped.has_value() && bare.has_value());
  RC_ASSERT(escaped->text() != bare->text());
}

RC_GTEST_PROP(CanonicalProperty, keys_ignore_how_other_bytes_are_escaped, ()) {
  std::string bare = "http://h/";
  std::string spelled = "http://h/";
  for (const char byte : *rc::gen::container<std::string>(rc::gen::arbitrary<char>())) {
    const bool is_dropped = byte == '\t' || byte == '\r' || byte == '\n' || byte == ' ';
    if (is_kept_escaped(byte) || is_dropped) {
      continue;
    }
    bare += byte;
    spelled += *rc::gen::arbitrary<bool>() ? escape(byte) : std::string(1, byte);
  }
  // Control bytes at the end are white space around the URL.
  bare += "/a";
  spelled += "/a";
  RC_ASSERT(canonicalize(bare, UrlRules::keys)->text() == canonicalize(spelled, UrlRules::keys)->text());
}

}  // namespace
}  // namespace mankai::url
