// Changes from anywhere, done to a filter of any kind. Byte 0 chooses the filter; then each change is a byte of
// operation, one of keys and flags, one of length, and that many words of payload. With the flag, names get their
// digests, so that what lies behind that check is reached.
//
// A change that is refused is `corrupt` and changed nothing. What was done is done alike with answers and without, and
// leaves a filter whose image opens.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mankai/base/assert.hpp"
#include "tests/support/image_edit.hpp"
#include "tests/support/requests.hpp"

namespace {

using namespace mankai;
using Bytes = std::vector<std::byte>;
using Input = std::span<const std::uint8_t>;

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::size_t kHeadBytes = 3;
constexpr std::size_t kChangesMax = 40;
constexpr std::uint8_t kKeysMask = 31;
constexpr std::uint8_t kHasRightDigests = 32;
constexpr std::uint8_t kIsCut = 64;

AnyFilter opened(const Bytes& image) {
  auto region = Region::allocate(system_memory(), image.size()).value();
  std::ranges::copy(image, region.bytes().begin());
  return filter_from_region(std::move(region), Trust::checked).value();
}

// Where the arrays of names stand is in docs/formats/journal.md.
void fix_digests(Bytes& payload, std::size_t keys, const Hasher& hash) {
  const std::size_t ends_at = 2 * kWord * keys;
  const std::size_t names_at = ends_at + (keys * sizeof(std::uint32_t) + kWord - 1) / kWord * kWord;
  std::uint32_t begin = 0;
  for (std::size_t i = 0; i < keys && names_at <= payload.size(); ++i) {
    std::uint32_t end = 0;
    std::memcpy(&end, payload.data() + ends_at + i * sizeof(end), sizeof(end));
    if (end < begin || end > payload.size() - names_at) {
      return;
    }
    const auto* name = reinterpret_cast<const char*>(payload.data() + names_at);
    const Digest digest = hash(std::string_view(name + begin, end - begin));
    std::memcpy(payload.data() + i * kWord, &digest, kWord);
    begin = end;
  }
}

struct OwnedChange {
  Operation operation;
  std::uint32_t keys;
  Bytes payload;
};

std::vector<OwnedChange> changes_of(Input input, const AnyFilter& filter) {
  std::vector<OwnedChange> changes;
  while (input.size() >= kHeadBytes && changes.size() < kChangesMax) {
    const std::uint8_t flags = input[1];
    const std::size_t bytes = std::min(input.size() - kHeadBytes, input[2] * kWord);
    const auto payload = std::as_bytes(input.subspan(kHeadBytes, bytes));
    OwnedChange change{.operation = static_cast<Operation>(input[0] % 9),
                       .keys = std::uint32_t{flags} & kKeysMask,
                       .payload = Bytes(payload.begin(), payload.end())};
    if ((flags & kIsCut) == 0) {
      change.payload.resize((bytes + kWord - 1) / kWord * kWord);
    }
    if (change.operation == Operation::insert_at && (flags & kHasRightDigests) != 0) {
      fix_digests(change.payload, change.keys, filter.hasher());
    }
    changes.push_back(std::move(change));
    input = input.subspan(kHeadBytes + bytes);
  }
  return changes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string spec = test::example_spec_of(data[0]);
  AnyFilter silent = test::filter_of(spec);
  AnyFilter answering = test::filter_of(spec);
  for (const OwnedChange& owned : changes_of({data + 1, size - 1}, silent)) {
    test::AlignedBytes payload(owned.payload);
    const Change change{.operation = owned.operation, .keys = owned.keys, .payload = payload.span()};
    const Bytes before = test::image_of(silent);
    const auto done = silent.apply(change);
    MANKAI_ASSERT(done.has_value() == test::applied(answering, change).has_value());
    if (!done) {
      MANKAI_ASSERT(done.error().code == ErrorCode::corrupt && test::image_of(silent) == before);
    }
  }
  const Bytes image = test::image_of(silent);
  MANKAI_ASSERT(test::image_of(answering) == image && test::image_of(opened(image)) == image);
  return 0;
}
