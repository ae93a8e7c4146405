// Any bytes as a file of dablooms. Byte 0 chooses capacity and rate, and whether damage is taken over; byte 1 whether
// the rest is the file, or changes to a good one, three bytes each: a place and what to put there, the last two a
// length.
//
// What is imported behaves, comes back from its own bytes, and answers as its counters say: a good file's members are
// all in it as long as nothing but its headers was changed.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/counting_bloom/counting_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "mankai/store/dablooms_import.hpp"
#include "tests/support/dablooms_file.hpp"

namespace {

using mankai::Digest;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kKeys = 60;

struct Shape {
  std::uint32_t capacity;
  double fpr;
};
constexpr Shape kShapes[] = {{20, 0.05}, {1, 0.9}, {7, 0.3}, {25, 1e-6}};

enum Mode : std::uint8_t { change_good_file = 1, change_counting_file = 2 };

Bytes good_file(const Shape& shape, bool is_counting) {
  auto file = is_counting ? mankai::test::DabloomsFile::counting(shape.capacity, shape.fpr)
                          : mankai::test::DabloomsFile::scaling(shape.capacity, shape.fpr);
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    is_counting ? file.add(std::to_string(i)) : file.add(std::to_string(i), i);
  }
  return file.bytes();
}

// Returns whether nothing behind the first `header` bytes was changed.
bool change(Bytes& bytes, std::span<const std::uint8_t> input, std::size_t header) {
  bool is_header_only = true;
  for (; input.size() >= 3; input = input.subspan(3)) {
    const std::size_t place = (input[0] | static_cast<std::size_t>(input[1]) << 8U) % bytes.size();
    bytes[place] = std::byte{input[2]};
    is_header_only = is_header_only && place < header;
  }
  if (input.size() == 2) {
    bytes.resize(input[0] | static_cast<std::size_t>(input[1]) << 8U);
  }
  return is_header_only && input.size() != 2;
}

template <class F>
void use(F filter) {
  if constexpr (requires { filter.saturated_cells(); }) {
    const mankai::Hasher hash = filter.hasher();
    std::vector<Digest> digests;
    for (std::uint64_t i = 0; i < kKeys; ++i) {
      digests.push_back(hash(std::to_string(i)));
    }
    bool answers[kKeys];
    filter.may_contain(std::span<const Digest>(digests), answers);
    for (std::size_t i = 0; i < digests.size(); ++i) {
      MANKAI_ASSERT(answers[i] == filter.may_contain(digests[i]));
      MANKAI_ASSERT(answers[i] == (filter.estimate(digests[i]).value != 0));
    }
    MANKAI_ASSERT(filter.fill_ratio() >= 0 && filter.fill_ratio() <= 1);
    MANKAI_ASSERT(filter.fpr_estimate() >= 0 && filter.fpr_estimate() <= 1);
    const auto bytes = filter.to_bytes();
    auto again = F::from_bytes(bytes);
    MANKAI_ASSERT(again.has_value());
    MANKAI_ASSERT(again->to_bytes() == bytes);
    filter.insert(std::span<const Digest>(digests));
    for (const Digest digest : digests) {
      MANKAI_ASSERT(filter.may_contain(digest));
    }
    static_cast<void>(filter.erase(digests.front()));
    MANKAI_ASSERT(F::from_bytes(filter.to_bytes()).has_value());
  }
}

bool has_all_keys(const mankai::AnyFilter& filter) {
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    const std::string text = std::to_string(i);
    const std::string_view key = text;
    bool found = false;
    filter.may_contain({&key, 1}, {&found, 1});
    if (!found) {
      return false;
    }
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const Shape& shape = kShapes[data[0] & 3U];
  const mankai::DabloomsRequest request{
      .capacity_keys = shape.capacity, .fpr = shape.fpr, .take_damaged = (data[0] & 4U) != 0};
  const std::span<const std::uint8_t> input(data + 2, size - 2);
  const auto raw = std::as_bytes(input);
  Bytes bytes(raw.begin(), raw.end());
  bool has_keys = false;
  if ((data[1] & (change_good_file | change_counting_file)) != 0) {
    using File = mankai::test::DabloomsFile;
    const bool is_counting = (data[1] & change_counting_file) != 0;
    bytes = good_file(shape, is_counting);
    has_keys = change(bytes, input, is_counting ? File::kFilterHeader : File::kScalingHeader);
  }
  auto imported = mankai::import_dablooms(bytes, request);
  if (!imported) {
    MANKAI_ASSERT(imported.error().code == mankai::ErrorCode::corrupt);
    return 0;
  }
  MANKAI_ASSERT(request.take_damaged || imported->damage.empty());
  MANKAI_ASSERT(!has_keys || has_all_keys(imported->filter));
  if (auto* const counting = imported->filter.as<mankai::CountingBloom>()) {
    use(std::move(*counting));
  } else {
    use(std::move(*imported->filter.as<mankai::ScalableCountingBloom>()));
  }
  return 0;
}
