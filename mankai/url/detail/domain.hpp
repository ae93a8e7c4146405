#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mankai::url {

/// Maximum size of a name: 255 bytes including the lengths of its labels, of which at most 253 are text.
inline constexpr std::size_t kNameBytesMax = 255;

/// Treatment of characters that tables of IDNA map differently. IDNA 2003 and IDNA 2008 disagree about four: "ß", "ς",
/// and the invisible joiners U+200C and U+200D. Unicode 15.1 maps "ẞ" to "ß", older tables to "ss".
enum class Deviations : std::uint8_t {
  kept,            ///< the four stay, and "ẞ" is "ß", as in today's browsers
  capital_mapped,  ///< the four stay, and "ẞ" is "ss", as in Node 20 and libidn2
  mapped,  ///< to "ss", "σ" and nothing, as in Java, Python's "idna" codec, older browsers, curl's second attempt
};

struct Domain {
  bool is_text = false;              ///< false for invalid UTF-8: nothing was appended
  bool has_deviations = false;       ///< `Deviations::mapped` gives another name
  bool has_capital_sharp_s = false;  ///< `Deviations::capital_mapped` may give another name
};

/// Appends a domain name in ASCII. Characters are mapped as UTS 46 does (case, width, ligatures, invisible characters)
/// and composed (NFC); then each label beyond ASCII becomes punycode.
/// Shape:   utf8 is a host without escapes. Labels are mapped independently, and none is refused, whatever IDNA says
///          about its characters, hyphens, direction or length. A name that would exceed kNameBytesMax keeps more than
///          that: its last labels are right, the first one may lack characters, and those before it are missing. Longer
///          labels are truncated after 256 characters.
/// Cost:    checking UTF-8 takes about 1 ns per byte. Mapping takes up to 1024 characters, 0.2 to 5 µs each; characters
///          that are mapped to nothing, to '0', or to a dot beside a dot do not count, and take 20 to 50 ns.
/// Errors:  std::bad_alloc.
/// Source:  [UTS46] with CheckHyphens, CheckBidi, CheckJoiners, UseSTD3ASCIIRules and VerifyDnsLength off; [RFC3492].
///          Differs: characters that UTS 46 disallows are mapped as well, or stay.
Domain append_domain(std::string_view utf8, Deviations deviations, std::string& ascii);

}  // namespace mankai::url
