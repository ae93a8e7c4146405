// Every instruction set's kernels against the reference, word for word and answer for answer: any cells, any keys, any
// shape. Bytes 0 to 7 are the shape and the number of keys, then come keys; cells start as a few of the same bytes.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "mankai/base/assert.hpp"
#include "mankai/base/region.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/kernel/block_ops.hpp"
#include "mankai/kernel/block_ops_reference.hpp"
#include "mankai/kernel/bloom_ops.hpp"
#include "mankai/kernel/bloom_ops_inline.hpp"
#include "mankai/kernel/bloom_ops_reference.hpp"
#include "mankai/kernel/tuning.hpp"

namespace {

using mankai::Digest;

constexpr std::uint64_t kBlocksBeyondCache = mankai::kernel::kNearBytes / 64;

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  std::uint64_t number(std::size_t bytes) {
    std::uint64_t value = 0;
    const std::size_t taken = std::min({bytes, size_, sizeof(value)});
    std::memcpy(&value, data_, taken);
    data_ += taken;
    size_ -= taken;
    return value;
  }
  [[nodiscard]] bool is_empty() const { return size_ == 0; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

// Cells aligned as kernels want them.
class Cells {
 public:
  explicit Cells(std::size_t words) : region_(mankai::Region::allocate(mankai::system_memory(), words * 8).value()) {}

  std::uint64_t* words() { return reinterpret_cast<std::uint64_t*>(region_.bytes().data()); }
  bool operator==(const Cells& other) const {
    return std::memcmp(region_.bytes().data(), other.region_.bytes().data(), region_.size()) == 0;
  }
  void copy(const Cells& other) { std::memcpy(region_.bytes().data(), other.region_.bytes().data(), region_.size()); }

 private:
  mankai::Region region_;
};

struct Keys {
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> integers;
  std::vector<Digest> digests;  // of the integers
};

// Few bytes make many keys: after the input's own come twins and multiples of them.
Keys keys_of(Input& input) {
  Keys keys;
  const std::size_t count = input.number(2) % 1000;
  keys.seed = input.number(4);
  while (keys.integers.size() < count) {
    if (!input.is_empty()) {
      keys.integers.push_back(input.number(8));
      continue;
    }
    const std::uint64_t i = keys.integers.size();
    const std::uint64_t earlier = i < 3 ? i : keys.integers[i / 2];
    keys.integers.push_back(i % 3 == 0 ? earlier : earlier * 0x100000001b3U + i);
  }
  for (const std::uint64_t key : keys.integers) {
    keys.digests.push_back(mankai::mix_integer(key, keys.seed));
  }
  return keys;
}

bool asked_one(const mankai::kernel::BlockOps& ops, const std::uint64_t* words, std::uint64_t blocks, Digest digest) {
  return ops.may_contain_one(words, blocks, digest);
}
bool asked_one(const mankai::kernel::BloomOps& /*ops*/, const std::uint64_t* words,
               const mankai::kernel::BloomShape& shape, Digest digest) {
  return mankai::kernel::may_contain_single(words, shape, digest);
}

// `Ops` and `Shape` of one layout, whose reference functions are found by their arguments' types.
template <class Ops, class Shape>
void compare(const Ops& ops, const Shape& shape, const Cells& start, const Keys& keys, std::size_t words) {
  namespace reference = mankai::kernel::reference;
  const std::size_t count = keys.digests.size();
  const auto expected = std::make_unique<bool[]>(count + 1);
  const auto actual = std::make_unique<bool[]>(count + 1);
  const auto agree = [&] { return std::equal(actual.get(), actual.get() + count, expected.get()); };

  Cells cells(words);
  cells.copy(start);
  for (std::size_t i = 0; i < count; ++i) {
    expected[i] = reference::may_contain(cells.words(), shape, keys.digests[i]);
    MANKAI_ASSERT(asked_one(ops, cells.words(), shape, keys.digests[i]) == expected[i]);
  }
  ops.may_contain(cells.words(), shape, keys.digests.data(), count, actual.get());
  MANKAI_ASSERT(agree());
  ops.may_contain_integers(cells.words(), shape, keys.integers.data(), keys.seed, count, actual.get());
  MANKAI_ASSERT(agree());
  MANKAI_ASSERT(cells == start);

  std::uint64_t fresh = 0;
  for (std::size_t i = 0; i < count; ++i) {
    expected[i] = reference::observe(cells.words(), shape, keys.digests[i]);
    fresh += expected[i] ? 0U : 1U;
  }
  Cells batch(words);
  batch.copy(start);
  MANKAI_ASSERT(ops.observe(batch.words(), shape, keys.digests.data(), count, actual.get()) == fresh);
  MANKAI_ASSERT(agree() && batch == cells);
  batch.copy(start);
  MANKAI_ASSERT(ops.insert(batch.words(), shape, keys.digests.data(), count) == fresh && batch == cells);
  batch.copy(start);
  MANKAI_ASSERT(ops.insert_integers(batch.words(), shape, keys.integers.data(), keys.seed, count) == fresh &&
                batch == cells);
  batch.copy(start);
  if constexpr (requires { ops.observe_one; }) {
    for (std::size_t i = 0; i < count; ++i) {
      MANKAI_ASSERT(ops.observe_one(batch.words(), shape, keys.digests[i]) == expected[i]);
    }
    MANKAI_ASSERT(batch == cells);
    batch.copy(start);
  }
  for (std::size_t i = 0; i < count; ++i) {
    MANKAI_ASSERT(reference::insert_concurrent(batch.words(), shape, keys.digests[i]) == !expected[i]);
  }
  MANKAI_ASSERT(batch == cells);
}

Cells cells_of(Input& input, std::size_t words) {
  Cells cells(words);
  const std::uint64_t pattern = input.number(2);
  for (std::size_t i = 0; i < words; ++i) {
    cells.words()[i] = pattern * 0x0001000100010001U * (i % 3);
  }
  return cells;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto kBlockOps = mankai::kernel::all_block_ops();
  static const auto kBloomOps = mankai::kernel::all_bloom_ops();
  Input input(data, size);
  // Every 16th input is about filters beyond the cache, which kernels visit differently.
  const std::uint64_t choice = input.number(1);
  const std::uint64_t blocks = 1 + input.number(1) % 30 + (choice % 16 == 0 ? kBlocksBeyondCache : 0);
  if (choice < 128) {
    const Cells start = cells_of(input, blocks * 8);
    const Keys keys = keys_of(input);
    for (const auto* ops : kBlockOps) {
      compare(*ops, blocks, start, keys, blocks * 8);
    }
    return 0;
  }
  const auto k = static_cast<std::uint32_t>(1 + input.number(1) % mankai::kernel::kMaxProbes);
  const std::uint64_t cells = 1 + (blocks * 512 - 1) * (1 + input.number(1)) / 256;
  mankai::kernel::BloomShape shape{.cell_count = cells, .k = k, .field_bits = 0};
  if (choice % 2 == 1 && cells > 1) {
    shape.cell_count = std::bit_floor(cells);
    shape.field_bits = static_cast<std::uint32_t>(std::countr_zero(shape.cell_count));
  }
  const Cells start = cells_of(input, blocks * 8);
  const Keys keys = keys_of(input);
  for (const auto* ops : kBloomOps) {
    compare(*ops, shape, start, keys, blocks * 8);
  }
  return 0;
}
