#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace mankai::url {

/// No name is longer in text: 255 bytes with the lengths of its labels, of which at most 253 are text.
inline constexpr std::size_t kNameBytesMax = 255;

/// What becomes of the four characters that IDNA 2003 and IDNA 2008 read differently: "ß", "ς", and the two invisible
/// joiners U+200C and U+200D; and of "ẞ", which Unicode 15.1 maps to "ß", and older tables to "ss".
enum class Deviations : std::uint8_t {
  kept,            ///< the four stay, and "ẞ" is "ß", as in today's browsers
  capital_mapped,  ///< the four stay, and "ẞ" is "ss", as in Node 20 and libidn2
  mapped,  ///< to "ss", "σ" and nothing, as in Java, Python's "idna" codec, older browsers, curl's second attempt
};

/// What `append_domain` did.
struct Domain {
  bool is_text = false;              ///< false for invalid UTF-8: nothing was appended
  bool has_deviations = false;       ///< `Deviations::mapped` gives another name
  bool has_capital_sharp_s = false;  ///< `Deviations::capital_mapped` may give another name
};

/// Appends a domain name in ASCII: characters are mapped as UTS 46 does (case, width, ligatures, invisible characters),
/// composed (NFC), and each label that is then beyond ASCII becomes punycode.
///
/// Shape:   utf8 is a host without escapes. Labels are mapped independently: none is refused, whatever IDNA says about
///          its characters, its hyphens, its direction or its length. A name that would have more than kNameBytesMax
///          bytes keeps more than that: its last labels are right, the first one may lack characters, and those before
///          it are missing. Labels that are longer are cut after 256 characters.
/// Cost:    UTF-8 is checked, about 1 ns per byte. Mapping takes up to 1024 characters, 0.2 to 5 µs each; characters
///          that are mapped to nothing, to '0', or to a dot beside a dot do not count, and take 20 to 50 ns.
/// Errors:  std::bad_alloc.
/// Threads: pure.
/// Source:  [UTS46] with CheckHyphens, CheckBidi, CheckJoiners, UseSTD3ASCIIRules and VerifyDnsLength off; [RFC3492].
///          Differs: characters that UTS 46 disallows are mapped as well, or stay.
Domain append_domain(std::string_view utf8, Deviations deviations, std::string& ascii);

}  // namespace mankai::url
