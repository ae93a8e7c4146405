// Any bytes as a value of RedisBloom or valkey-bloom. Byte 0 chooses the form and, by its highest bit, whether the rest
// is the value itself, or changes to a good one: three bytes each are a place and a byte to put there, and what is left
// over truncates. Checksums of DUMP payloads are off, so that changes reach the fields.
//
// What is refused has allocated no more than its bytes. What is accepted is saved and loaded without a difference, and
// has no false negatives.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/takeover/bloom_chain.hpp"
#include "mankai/takeover/dump.hpp"
#include "mankai/takeover/valkey_bloom.hpp"

namespace {

using namespace mankai;
using namespace mankai::takeover;

constexpr std::size_t kMostBytes = std::size_t{1} << 20;
std::size_t allocated_bytes = 0;

// As the engine's, of a server with little memory.
void* allocate(void* /*context*/, std::size_t bytes) noexcept {
  if (bytes > kMostBytes) {
    return nullptr;
  }
  allocated_bytes += bytes;
  const Memory system = system_memory();
  return system.allocate(system.context, bytes);
}

const Memory kMemory = {.allocate = allocate, .release = system_memory().release, .context = nullptr};
constexpr std::array<std::string_view, 12> kKeys = {"", "a", "b", "c", "d", "e", "f", "g", "h", "hello", "world", "a"};

template <class Filter>
ByteBuffer dump_of(const Filter& filter) {
  DumpWriter writer(Filter::kTypeName, Filter::kEncver);
  filter.save(writer);
  return writer.finish();
}

template <class Filter>
Result<Filter> loaded(std::span<const std::byte> payload) {
  MANKAI_ASSIGN(const DumpReader dump, DumpReader::open(payload));
  if (dump.type().name != Filter::kTypeName) {
    return fail(ErrorCode::invalid_argument, "another type");
  }
  return dump.read([&](FieldReader& fields) { return Filter::load(fields, dump.type().encver, kMemory); });
}

template <class Filter>
void use(Filter filter) {
  const ByteBuffer saved = dump_of(filter);
  const auto again = loaded<Filter>(saved);
  MANKAI_ASSERT(again && dump_of(*again) == saved);
  const auto copy = filter.clone();
  MANKAI_ASSERT(copy && dump_of(*copy) == saved);
  std::array<bool, kKeys.size()> fresh{};
  const std::size_t done = filter.add(kKeys, fresh).done;
  std::array<bool, kKeys.size()> present{};
  filter.may_contain(kKeys, present);
  for (std::size_t i = 0; i < kKeys.size(); ++i) {
    MANKAI_ASSERT(present[i] == filter.may_contain(kKeys[i]) && (present[i] || i >= done));
  }
  MANKAI_ASSERT(filter.fpr_estimate() >= 0 && filter.fpr_estimate() <= 1);
}

template <class Filter>
void use_dump(ByteBuffer payload) {
  constexpr std::size_t kCrcBytes = 8;
  if (payload.size() >= kCrcBytes) {
    std::fill(payload.end() - kCrcBytes, payload.end(), std::byte{0});
  }
  auto filter = loaded<Filter>(payload);
  constexpr std::size_t kMostRatio = 88;  // of compressed strings
  MANKAI_ASSERT(allocated_bytes <= kMostRatio * payload.size());
  if (filter) {
    use(*std::move(filter));
  }
}

void use_header(ByteBuffer header) {
  auto chain = BloomChain::from_header(header, kMostBytes, kMemory);
  MANKAI_ASSERT(allocated_bytes <= kMostBytes);
  if (!chain) {
    MANKAI_ASSERT(allocated_bytes == 0);
    return;
  }
  auto again = BloomChain::from_header(chain->header(), kMostBytes, kMemory);
  MANKAI_ASSERT(again && again->header() == chain->header());
  static_cast<void>(chain->load_chunk(header.size() + 1, header));
  for (auto chunk = chain->chunk(1); chunk.iterator != 0; chunk = chain->chunk(chunk.iterator)) {
    MANKAI_ASSERT(again->load_chunk(chunk.iterator, chunk.bytes) == BloomChain::ChunkStatus::copied);
  }
  MANKAI_ASSERT(dump_of(*again) == dump_of(*chain));
  use(*std::move(chain));
}

void use_blob(ByteBuffer blob) {
  auto bloom = ValkeyBloom::from_blob(blob, kMemory);
  MANKAI_ASSERT(allocated_bytes <= blob.size());
  if (bloom) {
    MANKAI_ASSERT(bloom->to_blob() == blob);
    use(*std::move(bloom));
  }
}

template <class Filter>
Filter grown() {
  Filter filter = Filter::create({.keys = 3, .fpr = 0.1}).value();
  for (const std::string_view key : kKeys) {
    static_cast<void>(filter.add(key));
  }
  return filter;
}

/// A form of a value: an example, and what takes it.
struct Form {
  ByteBuffer (*good)();
  void (*use)(ByteBuffer bytes);
};

template <class Filter>
constexpr Form kDump = {.good = [] { return dump_of(grown<Filter>()); }, .use = use_dump<Filter>};

constexpr std::array kForms = {
    kDump<BloomChain>,
    Form{.good = [] { return grown<BloomChain>().header(); }, .use = use_header},
    kDump<ValkeyBloom>,
    Form{.good = [] { return grown<ValkeyBloom>().to_blob(); }, .use = use_blob},
};
constexpr unsigned kIsWhole = 0x80;

ByteBuffer changed(ByteBuffer bytes, std::span<const std::byte> input) {
  std::size_t i = 0;
  for (; i + 3 <= input.size(); i += 3) {
    const auto page = std::to_integer<std::size_t>(input[i]);
    bytes[(page * 256 + std::to_integer<std::size_t>(input[i + 1])) % bytes.size()] = input[i + 2];
  }
  if (i < input.size()) {
    bytes.resize(std::to_integer<std::size_t>(input[i]));
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const auto input = std::as_bytes(std::span(data, size)).subspan(1);
  const Form& form = kForms[(data[0] & ~kIsWhole) % kForms.size()];
  allocated_bytes = 0;
  form.use((data[0] & kIsWhole) != 0 ? ByteBuffer(input.begin(), input.end()) : changed(form.good(), input));
  return 0;
}
