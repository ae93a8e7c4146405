#include "lab/traffic/synthetic_web.hpp"

#include <array>
#include <bit>

#include "lab/traffic/draws.hpp"
#include "lab/traffic/random.hpp"
#include "lab/traffic/url_text.hpp"

namespace mankai::detail {

/// Properties shared by all URLs of a host, drawn from its rank.
struct Site {
  std::uint64_t seed;
  bool is_secure;     // https
  bool is_dated;      // directories such as 2024/05/17
  std::uint8_t form;  // how most of its pages are named
  std::uint8_t extension;
  std::uint8_t subdomain;
  std::uint8_t domain;
  bool has_hyphen;
};

namespace {

// The tables encode frequencies by repetition. Each length is a power of two, so a few bits choose.

constexpr std::array<std::string_view, 16> kSubdomains = {"www.", "www.",  "www.",  "www.", "www.",  "www.",
                                                          "www.", "",      "",      "",     "blog.", "shop.",
                                                          "m.",   "news.", "docs.", "en."};
constexpr std::array<std::string_view, 32> kDomains = {
    ".com", ".com", ".com", ".com", ".com", ".com", ".com", ".com", ".com",    ".com",   ".com",
    ".com", ".com", ".org", ".org", ".org", ".net", ".net", ".de",  ".de",     ".co.uk", ".co.uk",
    ".fr",  ".jp",  ".io",  ".it",  ".nl",  ".pl",  ".ru",  ".edu", ".com.br", ".info"};
constexpr std::array<std::string_view, 8> kPageExtensions = {"", "", "", "", ".html", ".html", ".htm", ".php"};
constexpr std::array<std::string_view, 8> kFileExtensions = {".jpg", ".png",  ".pdf", ".css",
                                                             ".js",  ".webp", ".svg", ".xml"};
constexpr std::array<std::string_view, 8> kNames = {"item", "article", "post", "page", "view", "entry", "id", "story"};
constexpr std::array<std::string_view, 4> kScripts = {"index.php", "view", "show.php", "item.aspx"};
constexpr std::array<std::string_view, 8> kParameters = {
    "ref=home", "lang=en", "sort=price", "view=list", "print=yes", "from=search", "utm_source=newsletter", "amp=true"};
/// Path segments, including the page; 3.0 on average.
constexpr std::array<std::uint8_t, 32> kDepths = {0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3,
                                                  3, 3, 3, 3, 3, 4, 4, 4, 4, 4, 4, 5, 5, 5, 6, 6};

enum Form : std::uint8_t { slug_and_id, bare_id, named_id, id_in_query, form_count };

bool one_in(std::uint64_t n, Random& random) { return random.below(n) == 0; }

// A permutation of `bits`-bit values: odd multiplication, addition and shift-xor each are one.
std::uint64_t permute(std::uint64_t value, unsigned bits, std::uint64_t seed) {
  if (bits == 0) {
    return value;
  }
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  value = (value * (mix(seed) | 1) + seed) & mask;
  value ^= value >> ((bits + 1) / 2);
  return (value * 0x9E3779B97F4A7C15U) & mask;
}

// Of 16 children the first gets 40% of the draws, the first two half.
std::uint64_t popular_child(Random& random) {
  const std::uint64_t uniform = random.below(256);
  return uniform * uniform * uniform >> 20;
}

unsigned write_date(unsigned directories, Random& random, UrlText& text) {
  text.put_number(2012 + random.below(14));
  text.put('/');
  text.put_two_digits(1 + random.below(12));
  text.put('/');
  if (directories < 3) {
    return 2;
  }
  text.put_two_digits(1 + random.below(28));
  text.put('/');
  return 3;
}

void write_directories(const Site& site, unsigned count, Random& random, UrlText& text) {
  std::uint64_t node = site.seed;
  for (unsigned level = 0; level < count; ++level) {
    if (site.is_dated && count - level >= 2 && count - level <= 3) {
      level += write_date(count - level, random, text) - 1;
      continue;
    }
    node = mix(node + popular_child(random) + 1);
    if (level > 0 && node >> 61 == 0) {  // every eighth inner directory is a number
      text.put_number(node % 1000);
    } else {
      text.put(level == 0 ? pick(kSections, node) : pick(kWords, node));
    }
    text.put('/');
  }
}

void write_slug(Random& random, UrlText& text) {
  const std::uint64_t uniform = random.next();
  const unsigned words = 2 + static_cast<unsigned>(uniform >> 62);
  for (unsigned i = 0; i < words; ++i) {
    text.put(pick(kWords, uniform >> (8 * i)));
    text.put('-');
  }
}

void write_page(const Site& site, Form form, std::uint64_t id, Random& random, UrlText& text) {
  switch (form) {
    case slug_and_id: write_slug(random, text); break;
    case named_id:
      text.put(pick(kNames, random.next()));
      text.put('-');
      break;
    case id_in_query:
      text.put(pick(kScripts, site.seed));
      text.put('?');
      if (one_in(4, random)) {
        text.put("page=");
        text.put_number(1 + popular_child(random));
        text.put('&');
      }
      text.put("id=");
      break;
    default: break;
  }
  text.put_number(id);
  if (form != id_in_query) {
    text.put(one_in(12, random) ? pick(kFileExtensions, random.next()) : kPageExtensions[site.extension]);
  }
}

}  // namespace

SyntheticWeb::SyntheticWeb(std::uint64_t host_count, double zipf_exponent, std::uint64_t seed)
    : hosts_(host_count, zipf_exponent),
      host_seed_(mix(mix(seed) + 1)),
      url_seed_(mix(mix(seed) + 2)),
      id_seed_(mix(mix(seed) + 3)) {}

std::uint64_t SyntheticWeb::url_seed(std::uint64_t number) const noexcept { return mix(url_seed_ + mix(number)); }

std::uint64_t SyntheticWeb::host_rank(std::uint64_t number) const noexcept {
  return hosts_.rank(Random(url_seed(number)).next());
}

// Permutes the numbers of each bit length among themselves, so the output does not depend on how many follow.
std::uint64_t SyntheticWeb::public_id(std::uint64_t number) const noexcept {
  constexpr std::uint64_t kSmallestId = 100;
  const auto bits = static_cast<unsigned>(std::bit_width(number + 1)) - 1;
  const std::uint64_t first = std::uint64_t{1} << bits;
  return kSmallestId + first + permute(number + 1 - first, bits, id_seed_ + bits);
}

Site SyntheticWeb::site(std::uint64_t rank) const noexcept {
  const std::uint64_t seed = mix(host_seed_ + mix(rank));
  return {.seed = seed,
          .is_secure = (seed >> 8) % 16 != 0,
          .is_dated = (seed >> 12) % 4 == 0,
          .form = static_cast<std::uint8_t>((seed >> 14) % form_count),
          .extension = static_cast<std::uint8_t>((seed >> 16) % kPageExtensions.size()),
          .subdomain = static_cast<std::uint8_t>((seed >> 19) % kSubdomains.size()),
          .domain = static_cast<std::uint8_t>((seed >> 23) % kDomains.size()),
          .has_hyphen = (seed >> 28) % 8 == 0};
}

void SyntheticWeb::write_host(const Site& site, std::uint64_t rank, UrlText& text) const {
  constexpr unsigned kPairBits = 16;
  const std::uint64_t pair = permute(rank & 0xFFFF, kPairBits, host_seed_);
  text.put(kSubdomains[site.subdomain]);
  text.put(kWords[pair >> 8]);
  if (site.has_hyphen) {
    text.put('-');
  }
  text.put(kWords[pair & 0xFF]);
  if (const std::uint64_t round = rank >> kPairBits; round > 0) {
    text.put_number(round);
  }
  text.put(kDomains[site.domain]);
}

void SyntheticWeb::append_host(std::uint64_t rank, std::string& out) const {
  UrlText text;
  write_host(site(rank), rank, text);
  out.append(text.view());
}

void SyntheticWeb::append_url(std::uint64_t number, std::string& out) const {
  Random random(url_seed(number));
  const std::uint64_t rank = hosts_.rank(random.next());
  const Site home = site(rank);
  UrlText text;
  text.put(home.is_secure ? std::string_view("https://") : std::string_view("http://"));
  write_host(home, rank, text);
  text.put('/');
  const unsigned depth = pick(kDepths, random.next());
  if (depth == 0) {
    text.put("?p=");
    text.put_number(public_id(number));
  } else {
    write_directories(home, depth - 1, random, text);
    const bool is_usual = !one_in(4, random);
    const auto form = static_cast<Form>(is_usual ? home.form : random.below(form_count));
    write_page(home, form, public_id(number), random, text);
  }
  if (one_in(8, random)) {
    text.put(text.view().find('?') == std::string_view::npos ? '?' : '&');
    text.put(pick(kParameters, random.next()));
  }
  out.append(text.view());
}

}  // namespace mankai::detail
