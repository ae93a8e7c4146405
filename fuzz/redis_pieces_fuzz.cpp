// Any bytes as what LOADCHUNK and RESTORE give to the module for Redis: changes laid over a good header and good pieces
// of cells. Byte 0 chooses the family, and what is made right afterwards: the checksums of pieces, those of the headers
// of images, both or none. Three bytes each are a place and a byte to put there; what is left over cuts a piece.
//
// A header that is refused has allocated nothing. What is taken in whole answers, takes more, and comes back from its
// own pieces.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/filter/parts/image.hpp"
#include "mankai/hash/checksum.hpp"
#include "modules/redis/bloom/value.hpp"
#include "modules/redis/counting/value.hpp"
#include "modules/redis/fade/value.hpp"
#include "modules/redis/hot/value.hpp"
#include "modules/redis/image/pieces.hpp"
#include "modules/redis/topk/value.hpp"
#include "modules/redis/url/value.hpp"
#include "tests/support/engine_memory.hpp"

namespace {

using namespace mankai;
using namespace mankai::redis;
using test::engine_memory_use;
using Bytes = std::vector<std::byte>;
/// A header, and pieces behind it.
using Pieces = std::vector<Bytes>;

constexpr std::size_t kMostBytes = std::size_t{1} << 22;
constexpr std::size_t kPrefixBytes = 16;
constexpr std::size_t kCellsOfPiece = 200;

constexpr unsigned kHasRightPieces = 1;
constexpr unsigned kHasRightHeaders = 2;
constexpr unsigned kFamilies = 6;

constexpr HashSpec kHash = {.kind = HashKind::siphash, .seed = {1, 2}};
constexpr GrowingSettings kGrowing = {.fpr = 0.3, .capacity_keys = 8, .expansion = 2, .hash = kHash};
constexpr BloomSettings kSmall = {.capacity_keys = 25, .fpr = 0.01, .expansion = 2, .hash = kHash};
constexpr FadeSettings kFading = {.fpr = 0.1, .capacity_keys = 30, .hash = kHash};
constexpr TopSettings kListing = {.most = 5, .width = 1, .depth = 1, .half_life = std::chrono::hours(1), .hash = kHash};
constexpr Time kNow = Time(std::chrono::hours(480'000));

template <class Value>
Value make() {
  if constexpr (std::is_same_v<Value, HotValue>) {
    const HotSettings settings{.decay = {.lambda_q32 = std::uint32_t{1} << 31, .epoch = std::chrono::minutes(1)},
                               .bytes = 4096,
                               .capacity_keys = 0,
                               .fpr = 0.01,
                               .hash = kHash};
    return HotValue::create(settings).value();
  } else if constexpr (std::is_same_v<Value, BloomValue>) {
    return BloomValue::create(kSmall).value();
  } else if constexpr (std::is_same_v<Value, FadeValue>) {
    return FadeValue::create(kFading).value();
  } else if constexpr (std::is_same_v<Value, TopList>) {
    return TopList::create(kListing).value();
  } else {
    return Value::create(kGrowing).value();
  }
}

constexpr std::array<std::string_view, 20> kKeys = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                                    "k", "l", "m", "n", "o", "p", "q", "r", "s", "t"};

void insert(CountingValue& value) {
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    // Refused where an image's first id is above.
    static_cast<void>(value.filter().insert(value.filter().hasher()(kKeys[i]), i));
  }
}
void insert(UrlValue& value) {
  std::array<bool, kKeys.size()> seen;
  const AddReport report = value.add(kKeys, seen);
  MANKAI_ASSERT(report.done == kKeys.size() || report.stop == AddStop::full);
}
void insert(BloomValue& value) {
  std::array<bool, kKeys.size()> outcomes;
  const AddReport report = value.add(kKeys, outcomes);
  value.ask(kKeys, outcomes);
  const auto added = std::span(outcomes).first(report.done);
  MANKAI_ASSERT(std::ranges::find(added, false) == added.end());
}
void insert(FadeValue& value) {
  std::array<bool, kKeys.size()> fresh;
  value.put(kKeys, fresh);
}
void insert(HotValue& value) {
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    value.add(kKeys[i], 3, kNow + std::chrono::seconds(i));
  }
}
void insert(TopList& value) {
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    static_cast<void>(value.add(value.hasher()(kKeys[i]), kKeys[i], 3, kNow + std::chrono::minutes(i)));
  }
}

void check_answers(const FadeValue& value) {
  // The newest is not overwritten yet.
  bool known = false;
  value.ask(std::span(kKeys).last(1), {&known, 1});
  MANKAI_ASSERT(known);
}
void check_answers(const HotValue& value) {
  for (const std::string_view key : kKeys) {
    MANKAI_ASSERT(value.count(key, kNow) >= 0);
  }
  MANKAI_ASSERT(value.top(kKeys.size(), 0, kNow).size() <= kKeys.size());
}
void check_answers(const TopList& value) {
  for (const TopList::Item& item : value.items(kNow)) {
    MANKAI_ASSERT(value.is_listed(item.text) && value.count(item.text, kNow) == item.count);
  }
}
void check_answers(const UrlValue& value) {
  std::array<bool, kKeys.size()> seen{};
  value.ask(kKeys, seen);
  MANKAI_ASSERT(std::ranges::find(seen, false) == seen.end());
}
void check_answers(CountingValue& value) {
  ScalableCountingBloom& filter = value.filter();
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    const Digest digest = filter.hasher()(kKeys[i]);
    MANKAI_ASSERT(!filter.check_id(i) || filter.may_contain(digest));
    filter.erase(digest, i);
  }
}

template <class Value>
Pieces taken_apart(const Value& value) {
  const ImageParts parts = value.parts();
  Pieces pieces = {header_of(Value::kFamily, parts)};
  for (std::uint64_t start = 0; start < parts.cells_bytes();) {
    pieces.push_back(piece_of(parts, start, kCellsOfPiece));
    start += pieces.back().size() - kPieceChecksumBytes;
  }
  return pieces;
}

template <class Value>
const Pieces& good_pieces() {
  static const Pieces kPieces = [] {
    auto value = make<Value>();
    insert(value);
    return taken_apart(value);
  }();
  return kPieces;
}

void set_checksum(std::span<std::byte> bytes, std::uint64_t place) noexcept {
  const std::uint64_t sum = checksum(bytes.first(bytes.size() - sizeof(sum)), place);
  std::memcpy(bytes.last(sizeof(sum)).data(), &sum, sizeof(sum));
}

Pieces changed(Pieces pieces, std::span<const std::byte> input) {
  std::size_t i = 0;
  for (; i + 3 <= input.size(); i += 3) {
    Bytes& piece = pieces[std::to_integer<std::size_t>(input[i]) % pieces.size()];
    // The header's bytes are more than one byte can name.
    const std::size_t page = std::to_integer<std::size_t>(input[i]) / pieces.size();
    piece[(page * 256 + std::to_integer<std::size_t>(input[i + 1])) % piece.size()] = input[i + 2];
  }
  if (i + 2 == input.size()) {
    Bytes& piece = pieces[std::to_integer<std::size_t>(input[i]) % pieces.size()];
    piece.resize(std::to_integer<std::size_t>(input[i + 1]));
  }
  return pieces;
}

void make_right(Pieces& pieces, bool is_of_one_moment, unsigned mode) {
  Bytes& header = pieces.front();
  for (std::size_t at = kPrefixBytes;
       (mode & kHasRightHeaders) != 0 && at + sizeof(ImageHeader) + kPieceChecksumBytes <= header.size();
       at += sizeof(ImageHeader)) {
    ImageHeader image;
    std::memcpy(&image, header.data() + at, sizeof(image));
    seal_header(image);
    std::memcpy(header.data() + at, &image, sizeof(image));
  }
  if ((mode & kHasRightPieces) == 0 || header.size() < kPrefixBytes + kPieceChecksumBytes) {
    return;
  }
  constexpr std::uint64_t kHeaderPlace = ~std::uint64_t{0};
  set_checksum(header, kHeaderPlace);
  const auto images = std::span(header).subspan(kPrefixBytes, header.size() - kPrefixBytes - kPieceChecksumBytes);
  const std::uint64_t moment = is_of_one_moment ? checksum(images, kHeaderPlace) : 0;
  std::uint64_t place = 0;
  for (Bytes& piece : std::span(pieces).subspan(1)) {
    if (piece.size() >= kPieceChecksumBytes) {
      set_checksum(piece, place ^ moment);
      place += piece.size() - kPieceChecksumBytes;
    }
  }
}

// Errors: whatever an absent key's bytes may give.
template <class Value>
Result<Value> assembled(const Pieces& pieces) {
  engine_memory_use() = {.most_bytes = kMostBytes, .calls = 0, .bytes_in_use = 0};
  auto assembly = Assembly::begin(Value::kFamily, pieces.front());
  if (!assembly) {
    return std::unexpected(assembly.error());
  }
  MANKAI_ASSERT(engine_memory_use().calls == 0);
  for (const Bytes& piece : std::span(pieces).subspan(1)) {
    const std::uint64_t end = assembly->received_bytes() + piece.size() - std::min(piece.size(), kPieceChecksumBytes);
    if (auto added = assembly->add(end, piece); !added) {
      return std::unexpected(added.error());
    }
    MANKAI_ASSERT(header_of(Value::kFamily, assembly->parts()) == pieces.front());
    MANKAI_ASSERT(assembly->parts().cells_bytes() == end);
  }
  if (!assembly->is_complete()) {
    return fail(ErrorCode::corrupt, "not complete");
  }
  return Value::from_image(assembly->finish());
}

// A forged image may want slices of 2^48 keys next; what is made here must stay small.
constexpr std::uint64_t kKeysMax = 1U << 14U;
template <class Value>
bool may_take_more(const Value& value) {
  if constexpr (requires { value.filter().slice_count(); }) {
    const auto& filter = value.filter();
    return filter.initial_keys() < kKeysMax && filter.growth().factor <= 4 && filter.slice_count() <= 4;
  }
  return true;
}
bool may_take_more(const BloomValue& value) {
  const BloomSettings settings = value.settings();
  return settings.capacity_keys < kKeysMax && settings.expansion <= 4 && value.slice_count() <= 4;
}

template <class Value>
void use(Value& value, const Pieces& /*apart*/, Value& /*again*/) {
  insert(value);
  check_answers(value);
}

// A small filter is in the memory of its key, as in a server, and then is as one that is not.
void use(BloomValue& value, const Pieces& apart, BloomValue& again) {
  struct alignas(kCacheLineBytes) Block {
    std::array<std::byte, kCacheLineBytes> object;
    std::array<std::byte, TinyBloom::kMostCells> cells;
  } block;
  const std::unique_ptr<BloomValue, void (*)(BloomValue*)> key(new (block.object.data()) BloomValue(std::move(value)),
                                                               [](BloomValue* object) { std::destroy_at(object); });
  if (const std::size_t bytes = key->bytes_beside(); bytes != 0) {
    key->settle(std::span(block.cells).first(bytes));
  }
  MANKAI_ASSERT(taken_apart(*key) == apart);
  insert(*key);
  insert(again);
  MANKAI_ASSERT(taken_apart(*key) == taken_apart(again));
}

template <class Value>
void run(std::span<const std::byte> input, unsigned mode) {
  Pieces pieces = changed(good_pieces<Value>(), input);
  make_right(pieces, Value::kFamily.is_of_one_moment, mode);
  auto value = assembled<Value>(pieces);
  if (!value) {
    return;
  }
  const Pieces apart = taken_apart(*value);
  auto again = assembled<Value>(apart);
  MANKAI_ASSERT(again.has_value() && taken_apart(*again) == apart);
  if (!may_take_more(*value)) {
    return;
  }
  try {
    use(*value, apart, *again);
  } catch (const std::bad_alloc&) {
    return;  // the next slice is too large for so little memory
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  constexpr std::array<void (*)(std::span<const std::byte>, unsigned), kFamilies> kRuns = {
      run<CountingValue>, run<UrlValue>, run<FadeValue>, run<HotValue>, run<TopList>, run<BloomValue>};
  kRuns[(data[0] >> 2U) % kFamilies](input, data[0]);
  return 0;
}
