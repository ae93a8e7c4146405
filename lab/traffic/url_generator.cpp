#include "lab/traffic/url_generator.hpp"

#include "lab/traffic/draws.hpp"
#include "mankai/base/assert.hpp"

namespace mankai {
namespace {

constexpr unsigned kShareBits = 53;  // of a double's mantissa, so the conversion of a share is exact

bool is_within(double value, double largest) { return value >= 0 && value <= largest; }

}  // namespace

UrlGenerator::UrlGenerator(const UrlGeneratorOptions& options)
    : options_(options),
      web_(options.hosts, options.zipf_exponent, options.seed),
      random_(detail::mix(options.seed + 1)),
      repeat_threshold_(static_cast<std::uint64_t>(options.repeat_share * 0x1p53)) {}

Result<UrlGenerator> UrlGenerator::create(const UrlGeneratorOptions& options) {
  if (options.count > 1'000'000'000'000) {
    return fail(ErrorCode::invalid_argument, "count must be at most 10^12");
  }
  if (options.hosts < 1 || options.hosts > 10'000'000) {
    return fail(ErrorCode::invalid_argument, "hosts must be from 1 to 10000000");
  }
  if (!is_within(options.zipf_exponent, 10)) {
    return fail(ErrorCode::invalid_argument, "the Zipf exponent must be from 0 to 10");
  }
  if (!is_within(options.repeat_share, 1)) {
    return fail(ErrorCode::invalid_argument, "the repeat share must be from 0 to 1");
  }
  return UrlGenerator(options);
}

GeneratedUrl UrlGenerator::next(std::string& out) {
  out.clear();
  return append_next(out);
}

GeneratedUrl UrlGenerator::append_next(std::string& out) {
  MANKAI_ASSERT(has_next());
  const bool is_repeat = random_.next() >> (64 - kShareBits) < repeat_threshold_ && distinct_ > 0;
  const std::uint64_t number = is_repeat ? choose_repeat() : distinct_++;
  ++emitted_;
  web_.append_url(number, out);
  return {.number = number, .is_repeat = is_repeat};
}

std::uint64_t UrlGenerator::choose_repeat() {
  const bool is_recent = random_.next() >> 63 != 0;
  const std::uint64_t position = detail::log_uniform(distinct_, random_);
  return is_recent ? distinct_ - position : position - 1;
}

}  // namespace mankai
