// Any bytes as the fields of a cuckoo filter, a count-min sketch or a top-k list of RedisBloom. Byte 0 chooses which,
// byte 1 is the encoding; the rest are fields as an RDB file has them.
//
// What is loaded takes additions and removals, saves what loads again as the same value, and takes no memory beyond a
// limit.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "mankai/base/assert.hpp"
#include "mankai/takeover/count_min.hpp"
#include "mankai/takeover/cuckoo_chain.hpp"
#include "mankai/takeover/dump.hpp"
#include "mankai/takeover/heavy_keeper.hpp"

namespace {

using mankai::Memory;
using mankai::takeover::ByteBuffer;
using mankai::takeover::ByteCursor;
using mankai::takeover::CountMin;
using mankai::takeover::CuckooChain;
using mankai::takeover::HeavyKeeper;

constexpr int kKeys = 20;

void* allocate_small(void* /*context*/, std::size_t bytes) noexcept {
  const Memory system = mankai::system_memory();
  return bytes <= std::size_t{1} << 20 ? system.allocate(system.context, bytes) : nullptr;
}

Memory small_memory() {
  const Memory system = mankai::system_memory();
  return {.allocate = allocate_small, .release = system.release, .context = system.context};
}

class Saved : public mankai::takeover::ModuleFieldWriter {
 public:
  using ModuleFieldWriter::out;
};

template <class Value>
ByteBuffer saved(const Value& value) {
  Saved writer;
  value.save(writer);
  return std::move(writer.out());
}

template <class Value>
mankai::Result<Value> load(std::span<const std::byte> fields, unsigned encver) {
  ByteCursor cursor(fields);
  mankai::takeover::ModuleFieldReader reader(cursor);
  return Value::load(reader, encver, small_memory());
}

void use(CuckooChain& chain) {
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i);
    const std::uint64_t before = chain.occupied_cells();
    const auto added = chain.add(key);
    const bool is_added = added && *added == mankai::takeover::CuckooAdded::added;
    MANKAI_ASSERT(chain.occupied_cells() == before + (is_added ? 1 : 0));
    MANKAI_ASSERT(!is_added || chain.may_contain(key));
    if (i % 2 == 0 && is_added) {
      MANKAI_ASSERT(chain.remove(key));
      MANKAI_ASSERT(chain.occupied_cells() == before);
    }
  }
  chain.compact();
  const auto header = mankai::takeover::CuckooShape::of_header(chain.shape().header());
  MANKAI_ASSERT(header.has_value());
  auto copy = CuckooChain::create(*header);
  for (auto chunk = chain.chunk(1); chunk.iterator != 0; chunk = chain.chunk(chunk.iterator)) {
    MANKAI_ASSERT(copy->load_chunk(chunk.iterator, chunk.bytes).has_value());
  }
  MANKAI_ASSERT(saved(*copy) == saved(chain));
}

void use(CountMin& sketch) {
  for (int i = 0; i < kKeys; ++i) {
    const std::string key = std::to_string(i);
    const auto before = sketch.estimate(key);
    const auto count = sketch.increment(key, i);
    MANKAI_ASSERT(!count || (*count == sketch.estimate(key) && *count >= before));
  }
  const CountMin* const sources[] = {&sketch, &sketch};
  const std::int64_t weights[] = {3, -2};
  static_cast<void>(sketch.merge(sources, weights));
}

void use(HeavyKeeper& top) {
  for (int i = 0; i < kKeys; ++i) {
    static_cast<void>(top.add(std::to_string(i), static_cast<std::uint32_t>(i) * 7));
    static_cast<void>(top.count(std::to_string(i)));
  }
  MANKAI_ASSERT(top.list().size() <= top.shape().most);
}

template <class Value>
void check(std::span<const std::byte> fields, unsigned encver, unsigned saved_encver) {
  auto value = load<Value>(fields, encver);
  if (!value) {
    return;
  }
  for (int round = 0; round < 2; ++round) {
    const ByteBuffer bytes = saved(*value);
    const auto again = load<Value>(bytes, saved_encver);
    MANKAI_ASSERT(again.has_value() && saved(*again) == bytes);
    use(*value);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) {
    return 0;
  }
  const auto fields = std::as_bytes(std::span(data + 2, size - 2));
  const unsigned encver = data[1];
  switch (data[0] % 3) {
    case 0: check<CuckooChain>(fields, encver, CuckooChain::kEncver); break;
    case 1: {
      const auto sketch = load<CountMin>(fields, encver);
      check<CountMin>(fields, encver, sketch ? sketch->encver() : 0);
      break;
    }
    default: check<HeavyKeeper>(fields, encver, HeavyKeeper::kEncver); break;
  }
  return 0;
}
