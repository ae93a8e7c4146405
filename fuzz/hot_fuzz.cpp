// decayed-top and rotating-bloom: operations beside exact models, and any bytes as their images. Byte 0 chooses which;
// then two bytes are an operation, or three a change to a good image, whose checksums are made right.

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/hot/exact_decayed_counts.hpp"
#include "tests/support/hot_keys.hpp"
#include "tests/support/image_edit.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;
using Input = std::span<const std::uint8_t>;

constexpr std::size_t kOperationsMax = 300;

Bytes changed(Bytes image, Input input) {
  test::change_bytes(image, std::as_bytes(input));
  test::fix_header_checksum(image);
  test::fix_trailer(image);
  return image;
}

void use(DecayedTop filter) {
  const Hasher hash = filter.hasher();
  auto other = DecayedTop::from_bytes(filter.to_bytes());
  MANKAI_ASSERT(other.has_value());
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::string key(i * 3, 'z');
    filter.insert(hash(std::string_view(key)), key, filter.newest() + Duration(static_cast<std::int64_t>(i)));
    MANKAI_ASSERT(filter.rounding() == CountRounding::balanced || filter.decay().lambda_q32 == 0 ||
                  filter.estimate(hash(std::string_view(key))).raw > 0);
  }
  filter.advance(Tick{filter.tick().value + 2});
  MANKAI_ASSERT(filter.merge(*other).has_value());
  const auto entries = filter.top(100);
  for (std::size_t i = 1; i < entries.size(); ++i) {
    MANKAI_ASSERT(entries[i - 1].count.raw >= entries[i].count.raw);
  }
  MANKAI_ASSERT(filter.fill_ratio() >= 0 && filter.fill_ratio() <= 1);
  MANKAI_ASSERT(DecayedTop::from_bytes(filter.to_bytes()).has_value());
}

void use(RotatingBloom filter) {
  auto other = RotatingBloom::from_bytes(filter.to_bytes());
  MANKAI_ASSERT(other.has_value());
  filter.insert(Digest{42});
  MANKAI_ASSERT(filter.observe(Digest{42}));
  filter.advance(Tick{filter.tick().value + 1});
  MANKAI_ASSERT(filter.may_contain(Digest{42}) || filter.tick().value == kMaxTick);
  MANKAI_ASSERT(filter.merge(*other).has_value());
  MANKAI_ASSERT(filter.fpr_estimate() >= 0 && filter.fpr_estimate() <= 1);
  MANKAI_ASSERT(RotatingBloom::from_bytes(filter.to_bytes()).has_value());
}

template <class F>
void open(const Bytes& bytes) {
  auto opened = F::from_bytes(bytes, Trust::fast);
  if (opened) {
    use(std::move(*opened));
  } else {
    MANKAI_ASSERT(opened.error().code == ErrorCode::corrupt || opened.error().code == ErrorCode::unsupported_version);
  }
}

// Byte 0 of an operation is the key and its length, byte 1 how time moves.
void run_top(Input input, std::uint8_t choice) {
  constexpr double kLambdas[] = {1, 0.99, 0.5, 0};
  const Decay decay = Decay::of(kLambdas[choice & 3U], Duration(10)).value();
  auto filter = DecayedTop::create({.bytes = 3000, .decay = decay, .hash = test::kXxh3}).value();
  const Hasher hash = filter.hasher();
  ExactDecayedCounts exact(decay.lambda());
  std::int64_t now = 1000;
  for (std::size_t i = 0; i + 2 <= input.size() && i < 2 * kOperationsMax; i += 2) {
    const std::string key(input[i] % 100, static_cast<char>('a' + input[i] / 100));
    const std::uint8_t move = input[i + 1];
    now += move < 128 ? move / 8 : 0;
    const Time at(Duration(move >= 128 ? now - move : now));
    filter.insert(hash(std::string_view(key)), key, at);
    exact.insert(key, tick_of(at, decay.epoch));
    if (move == 255) {
      filter = DecayedTop::from_bytes(filter.to_bytes()).value();
    }
  }
  for (const auto& [key, count] : exact.top(exact.size(), filter.tick())) {
    MANKAI_ASSERT(filter.estimate(hash(key)).raw * (1 + 1e-12) >= count);
  }
}

void run_rotating(Input input, std::uint8_t choice) {
  const std::uint32_t generations = 2 + choice % 5U;
  auto filter =
      RotatingBloom::create({.keys = 100, .window = Duration(100), .generations = generations, .hash = test::kXxh3})
          .value();
  const Hasher hash = filter.hasher();
  std::map<std::uint64_t, Time> last;
  Time now{Duration(5000)};
  for (std::size_t i = 0; i + 2 <= input.size() && i < 2 * kOperationsMax; i += 2) {
    now += Duration(input[i + 1] % 64);
    filter.advance(tick_of(now, filter.epoch()));
    filter.insert(hash(std::uint64_t{input[i]}));
    last[input[i]] = now;
    for (const auto& [key, when] : last) {
      MANKAI_ASSERT(now - when > filter.window() || filter.may_contain(hash(key)));
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  static const Bytes kTop = test::filled_top().to_bytes();
  static const Bytes kBalanced = test::filled_top(test::kXxh3, CountRounding::balanced).to_bytes();
  static const Bytes kRotating = test::filled_rotating().to_bytes();
  const Input input = Input(data, size).subspan(1);
  switch (data[0] & 3U) {
    case 0: run_top(input, data[0] >> 2); break;
    case 1: run_rotating(input, data[0] >> 2); break;
    case 2: open<DecayedTop>(changed((data[0] & 4U) == 0 ? kTop : kBalanced, input)); break;
    default: open<RotatingBloom>(changed(kRotating, input));
  }
  return 0;
}
