#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace mankai::url {

/// What becomes of the four characters that IDNA 2003 and IDNA 2008 read differently: "ß", "ς", and the two invisible
/// joiners U+200C and U+200D.
enum class Deviations : std::uint8_t {
  kept,    ///< they stay, as in today's browsers
  mapped,  ///< to "ss", "σ" and nothing, as in Java, Python's "idna" codec, older browsers, and curl's second attempt
};

/// What `append_domain` did.
struct Domain {
  bool is_text = false;         ///< false for invalid UTF-8: nothing was appended
  bool has_deviations = false;  ///< the other value of `Deviations` gives another name
};

/// Appends a domain name in ASCII: characters are mapped as UTS 46 does (case, width, ligatures, invisible characters),
/// composed (NFC), and each label that is then beyond ASCII becomes punycode.
///
/// Shape:   utf8 is a host without escapes. Labels are mapped independently: none is refused, whatever IDNA says about
///          its characters, its hyphens, its direction or its length.
/// Cost:    linear: about 300 ns for each character beyond ASCII. Only the first 256 characters of a label are encoded;
///          the name is then longer than any rule's host.
/// Errors:  std::bad_alloc.
/// Threads: pure.
/// Source:  [UTS46] with CheckHyphens, CheckBidi, CheckJoiners, UseSTD3ASCIIRules and VerifyDnsLength off; [RFC3492].
///          Differs: characters that UTS 46 disallows are mapped as well, or stay.
Domain append_domain(std::string_view utf8, Deviations deviations, std::string& ascii);

}  // namespace mankai::url
