// Images of growing kinds that are not what they claim to be: altered in one bit, cut, extended, with slices that
// changed places, or made by somebody who knows the checksums. Every one gives an error that names its cause; none
// crashes (run under sanitizers too), and none makes the reader allocate before its checksums have been believed.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/filter/scalable_bloom/scalable_bloom.hpp"
#include "mankai/filter/scalable_counting_bloom/scalable_counting_bloom.hpp"
#include "tests/corrupt/forgery_test_support.hpp"
#include "tests/support/counting_memory.hpp"
#include "tests/support/growing_subject.hpp"

namespace mankai::test::corrupt::sliced {
namespace {

// Slices for 10 keys at 0.3: the smallest there are, of one line of cells or a few.
class CorruptSliced : public testing::TestWithParam<Example> {
 protected:
  CorruptSliced() : opener_(make_growing(GetParam(), {.keys = 10, .fpr = 0.3})) { insert_random(opener_, 1, 60); }

  /// Images are opened by the calls of its class.
  [[nodiscard]] const Subject& opener() const { return opener_; }
  [[nodiscard]] Bytes image() const { return opener_.to_bytes(); }

 private:
  Subject opener_;
};
INSTANTIATE_TEST_SUITE_P(every_kind, CorruptSliced, testing::ValuesIn(shapes(can_grow)), test_name);

// Where it is known what is absurd about the kind's own fields.
bool is_scalable(const KindDescription& kind) {
  return kind.kind == Kind{ScalableBloom::kKind} || kind.kind == Kind{ScalableCountingBloom::kKind};
}

class ForgedSliced : public CorruptSliced {};
INSTANTIATE_TEST_SUITE_P(every_shape, ForgedSliced, testing::ValuesIn(shapes(is_scalable)), test_name);

// The images of the slices, without the zeros between them.
std::vector<std::span<std::byte>> slices_of(std::span<std::byte> image) {
  std::vector<std::span<std::byte>> slices;
  for (std::size_t offset = kHeaderBytes; offset < image.size();) {
    const std::uint64_t cells = header_of(image.subspan(offset)).cells_bytes;
    const std::size_t bytes = kHeaderBytes + cells + (cells / kChunkBytes + (cells % kChunkBytes != 0) + 1) * 8;
    slices.push_back(image.subspan(offset, bytes));
    offset += (bytes + 63) / 64 * 64;
  }
  return slices;
}

// Refused in both ways of opening, for a cause that bytes can have, and copied only once it was believed.
void expect_refused(const Subject& filter, std::span<const std::byte> bytes, Trust trust, const std::string& what,
                    std::string_view says = "", std::size_t allocations_max = 0, ErrorCode code = ErrorCode::corrupt) {
  CountingMemory counter;
  const auto opened = filter.from_bytes(bytes, trust, counter.memory());
  ASSERT_FALSE(opened.has_value()) << what;
  ASSERT_TRUE(opened.error().code == code || (says.empty() && opened.error().code == ErrorCode::unsupported_version))
      << what << ": " << opened.error().detail;
  ASSERT_NE(opened.error().detail.find(says), std::string::npos) << what << ": " << opened.error().detail;
  ASSERT_TRUE(opened.error().detail.find("offset") != std::string::npos ||
              opened.error().detail.find("bytes") != std::string::npos)
      << what << ": " << opened.error().detail;
  ASSERT_LE(counter.calls, allocations_max) << what;
  ASSERT_EQ(counter.bytes_in_use, 0U) << what;
  AlignedBytes in_place(bytes);
  const auto taken = filter.attach(in_place.span(), trust);
  ASSERT_FALSE(taken.has_value()) << what;
  ASSERT_EQ(taken.error().detail, opened.error().detail) << what;
}

TEST_P(CorruptSliced, every_flipped_bit_is_found) {
  Bytes bytes = image();
  for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1U << (bit % 8));
    bytes[bit / 8] ^= mask;
    expect_refused(opener(), bytes, Trust::checked, "bit " + std::to_string(bit));
    if (testing::Test::HasFatalFailure()) {
      return;
    }
    bytes[bit / 8] ^= mask;
  }
}

TEST_P(CorruptSliced, every_truncation_is_found_even_when_trusted) {
  const Bytes bytes = image();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      // A copy of its own, so that a read past the end is seen.
      expect_refused(opener(), Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)), trust,
                     "cut to " + std::to_string(size));
      if (testing::Test::HasFatalFailure()) {
        return;
      }
    }
  }
}

// Cut at every place, and the header told so behind a right checksum.
TEST_P(CorruptSliced, truncations_that_the_header_agrees_with_are_found) {
  const Bytes bytes = image();
  for (std::size_t size = kHeaderBytes + 64; size < bytes.size(); size += 64) {
    Bytes cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    ImageHeader header = header_of(cut);
    header.cells_bytes = size - kHeaderBytes;
    for (std::uint64_t count = 1; count <= header_of(bytes).kind_state[0]; ++count) {
      header.kind_state[0] = count;
      set_header(cut, header);
      fix_header_checksum(cut);
      expect_refused(opener(), cut, Trust::fast, "cut to " + std::to_string(size));
    }
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST_P(CorruptSliced, every_extension_is_found_even_when_trusted) {
  Bytes bytes = image();
  for (std::size_t more = 1; more <= 200; ++more) {
    bytes.push_back(static_cast<std::byte>(more % 3));
    for (const bool is_told : {false, true}) {
      Bytes longer = bytes;
      if (is_told) {
        ImageHeader header = header_of(longer);
        header.cells_bytes = longer.size() - kHeaderBytes;
        set_header(longer, header);
        fix_header_checksum(longer);
      }
      expect_refused(opener(), longer, Trust::fast, std::to_string(more) + " more bytes");
    }
    if (testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

// All slices of constant growth have one size, so that only their order tells that they changed places.
TEST_P(CorruptSliced, slices_that_changed_places_are_found_even_when_trusted) {
  if (calls_of(*GetParam().kind).create_growing == nullptr) {
    GTEST_SKIP() << "slices of this kind grow by other rules";
  }
  auto filter =
      Subject(calls_of(*GetParam().kind).create_growing(10, 0.3, {.factor = 1, .tightening = 0.99}, kXxh3).value());
  insert_random(filter, 2, 40);
  Bytes bytes = filter.to_bytes();
  const auto slices = slices_of(bytes);
  ASSERT_GE(slices.size(), 3U);
  ASSERT_EQ(slices[1].size(), slices[2].size());
  const Bytes second(slices[1].begin(), slices[1].end());
  std::copy(slices[2].begin(), slices[2].end(), slices[1].begin());
  expect_refused(opener(), bytes, Trust::fast, "a slice twice", "order");
  std::copy(second.begin(), second.end(), slices[2].begin());
  expect_refused(opener(), bytes, Trust::fast, "slices that changed places", "order");
}

TEST_P(CorruptSliced, another_filters_slice_is_found_even_when_trusted) {
  HashSpec seeded = kXxh3;
  seeded.seed[0] ^= 1;
  auto other = make_growing(GetParam(), {.keys = 10, .fpr = 0.3, .hash = seeded});
  insert_random(other, 1, 60);
  Bytes theirs = other.to_bytes();
  Bytes bytes = image();
  const auto slices = slices_of(bytes);
  ASSERT_EQ(slices_of(theirs)[1].size(), slices[1].size());
  std::ranges::copy(slices_of(theirs)[1], slices[1].begin());
  expect_refused(opener(), bytes, Trust::fast, "a foreign slice", "order");
}

// Filters made alike have slices that are alike but for what is in them.
TEST_P(CorruptSliced, a_like_made_filters_slice_is_found_even_when_trusted) {
  auto like = make_growing(GetParam(), {.keys = 10, .fpr = 0.3});
  insert_random(like, 2, GetParam().kind->has_ttl ? 150 : 60);
  Bytes theirs = like.to_bytes();
  const Bytes original = image();
  const std::size_t count = std::min(slices_of(theirs).size(), header_of(original).kind_state[0]);
  ASSERT_GE(count, 2U);
  for (std::size_t which = 0; which < count; ++which) {
    Bytes bytes = original;
    const auto slice = slices_of(bytes)[which];
    ASSERT_EQ(slices_of(theirs)[which].size(), slice.size());
    std::ranges::copy(slices_of(theirs)[which], slice.begin());
    expect_refused(opener(), bytes, Trust::fast, "slice " + std::to_string(which), "order");
  }
}

TEST_P(CorruptSliced, an_older_copy_of_a_slice_is_found_even_when_trusted) {
  auto filter = make_growing(GetParam(), {.keys = 10, .fpr = 0.3});
  insert_random(filter, 1, 55);
  for (std::uint64_t seed = 100; filter.slice(filter.slice_count() - 1).is_full(); ++seed) {
    insert_random(filter, seed, 1);
  }
  Bytes older = filter.to_bytes();
  const std::uint64_t keys = filter.keys_inserted();
  for (std::uint64_t seed = 200; filter.keys_inserted() == keys; ++seed) {
    insert_random(filter, seed, 1);
  }
  Bytes bytes = filter.to_bytes();
  ASSERT_EQ(bytes.size(), older.size());
  std::ranges::copy(slices_of(older).back(), slices_of(bytes).back().begin());
  expect_refused(opener(), bytes, Trust::fast, "an older slice", "order");
}

// After a merge slices of one generation stand side by side.
TEST_P(CorruptSliced, slices_of_one_generation_that_changed_places_are_found_even_when_trusted) {
  auto filter = make_growing(GetParam(), {.keys = 10, .fpr = 0.3});
  auto like = filter.create_like().value();
  insert_random(filter, 1, 60);
  insert_random(like, 2, GetParam().kind->has_ttl ? 150 : 60);
  ASSERT_TRUE(filter.merge(like).has_value());
  Bytes bytes = filter.to_bytes();
  const auto slices = slices_of(bytes);
  const auto is_like_the_first = [&](std::span<const std::byte> slice) {
    const ImageHeader first = header_of(slices[0]);
    const ImageHeader header = header_of(slice);
    return header.capacity_keys == first.capacity_keys && header.fpr_target_bits == first.fpr_target_bits &&
           header.slice_tag == first.slice_tag;
  };
  const auto twin = std::find_if(slices.begin() + 1, slices.end(), is_like_the_first);
  ASSERT_NE(twin, slices.end());
  ASSERT_EQ(twin->size(), slices[0].size());
  std::ranges::swap_ranges(slices[0], *twin);
  expect_refused(opener(), bytes, Trust::fast, "twins that changed places", "order");
}

TEST_P(CorruptSliced, bytes_between_slices_must_be_zero_even_when_trusted) {
  Bytes bytes = image();
  const auto slices = slices_of(bytes);
  std::size_t checked = 0;
  for (const auto slice : slices) {
    const auto end = static_cast<std::size_t>(slice.data() + slice.size() - bytes.data());
    for (std::size_t at = end; at % 64 != 0; ++at, ++checked) {
      bytes[at] = std::byte{1};
      expect_refused(opener(), bytes, Trust::fast, "byte " + std::to_string(at), "not zero");
      bytes[at] = std::byte{0};
    }
  }
  EXPECT_GT(checked, 40U);
}

TEST_P(CorruptSliced, trusted_cells_are_taken_as_they_are_until_verified) {
  const Bytes original = image();
  Bytes bytes = original;
  for (const auto slice : slices_of(bytes)) {
    slice[kHeaderBytes + 3] ^= std::byte{0x10};
    const auto opened = opener().from_bytes(bytes, Trust::fast);
    // Counters after the last are always checked.
    if (opened) {
      const auto verified = opened->verify();
      ASSERT_FALSE(verified.has_value());
      EXPECT_EQ(verified.error().code, ErrorCode::corrupt);
      EXPECT_NE(verified.error().detail.find("slice "), std::string::npos) << verified.error().detail;
    }
    expect_refused(opener(), bytes, Trust::checked, "a changed cell", "slice ");
    bytes = original;
  }
}

TEST_P(CorruptSliced, a_misaligned_image_cannot_be_used_in_place) {
  const Bytes bytes = image();
  AlignedBytes room(Bytes(bytes.size() + 64));
  for (const std::size_t shift : {1U, 8U, 32U, 63U}) {
    const auto shifted = room.span().subspan(shift, bytes.size());
    std::copy(bytes.begin(), bytes.end(), shifted.begin());
    const auto taken = opener().attach(shifted);
    ASSERT_FALSE(taken.has_value());
    EXPECT_EQ(taken.error().code, ErrorCode::invalid_argument);
  }
}

TEST_P(CorruptSliced, flat_and_sliced_images_are_told_apart) {
  for (const Example& flat : shapes(is_flat)) {
    const Subject filter = make(flat, {.keys = 10, .fpr = 0.05});
    expect_refused(opener(), filter.to_bytes(), Trust::checked, flat.spec, "layout 0 at offset 13");
    const auto as_flat = filter.from_bytes(image());
    ASSERT_FALSE(as_flat.has_value());
    EXPECT_EQ(as_flat.error().code, ErrorCode::corrupt);
    EXPECT_NE(as_flat.error().detail.find("layout 1 at offset 13"), std::string::npos) << as_flat.error().detail;
  }
}

TEST_P(CorruptSliced, one_kind_is_not_the_other) {
  for (const Example& other : shapes(can_grow)) {
    if (other.kind != GetParam().kind) {
      expect_refused(opener(), make_growing(other).to_bytes(), Trust::checked, other.spec,
                     "kind " + std::to_string(static_cast<std::uint16_t>(other.kind->kind)) + " at offset 10");
    }
  }
}

std::vector<Forgery> forged_outers() {
  std::vector<Forgery> all = {
      {"no slices", "offset 96", [](ImageHeader& h) { h.kind_state[0] = 0; }},
      {"a slice less", "belong to no slice", [](ImageHeader& h) { h.kind_state[0] -= 1; }},
      {"a slice more", "truncated", [](ImageHeader& h) { h.kind_state[0] += 1; }},
      {"too many slices", "offset 96", [](ImageHeader& h) { h.kind_state[0] = kMaxSlices + 1; }},
      {"all the slices there are", "offset 96", [](ImageHeader& h) { h.kind_state[0] = ~std::uint64_t{0}; }},
      {"another order", "offset 104", [](ImageHeader& h) { h.kind_state[1] ^= 1; }},
      {"a third state", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }},
      {"a tag", "offset 120", [](ImageHeader& h) { h.slice_tag = 1; }},
      {"growth of 0", "growth", [](ImageHeader& h) { h.kind_params[1] &= ~std::uint64_t{0xffffffff}; }},
      {"growth too large", "growth", [](ImageHeader& h) { h.kind_params[1] |= 0xffffffff; }},
      {"a later layout", "offset 76", [](ImageHeader& h) { h.kind_params[1] |= std::uint64_t{3} << 48; },
       ErrorCode::unsupported_version},
      {"a later bound", "offset 76", [](ImageHeader& h) { h.kind_params[1] |= std::uint64_t{3} << 32; },
       ErrorCode::unsupported_version},
      {"no capacity", "offset 40", [](ImageHeader& h) { h.capacity_keys = 0; }},
      {"impossible capacity", "offset 40", [](ImageHeader& h) { h.capacity_keys = ~std::uint64_t{0}; }},
      {"no hash", "offset 12", [](ImageHeader& h) { h.hash_kind = 0; }, ErrorCode::unsupported_version},
      {"a flag", "offset 13", [](ImageHeader& h) { h.flags = 1; }, ErrorCode::unsupported_version},
      {"newer version", "offset 8", [](ImageHeader& h) { h.format_version = 2; }, ErrorCode::unsupported_version},
      {"a terabyte", "truncated", [](ImageHeader& h) { h.cells_bytes = std::uint64_t{1} << 40; }},
      {"no bytes", "offset 16", [](ImageHeader& h) { h.cells_bytes = 0; }},
      {"count that could overflow", "offset 56", [](ImageHeader& h) { h.keys_inserted = kMaxKeysInserted + 1; }},
  };
  for (const double ratio :
       {0.0, 1.0, -0.5, 2.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    all.push_back({"tightening " + std::to_string(ratio), "tightening",
                   [ratio](ImageHeader& h) { h.kind_params[0] = bits_of(ratio); }});
  }
  for (const double fpr : {0.0, 1.0, -0.5, std::numeric_limits<double>::quiet_NaN()}) {
    all.push_back(
        {"rate " + std::to_string(fpr), "offset 48", [fpr](ImageHeader& h) { h.fpr_target_bits = bits_of(fpr); }});
  }
  return all;
}

// What the kind itself finds absurd about the outer header.
std::vector<Forgery> forged_outers_of(const KindDescription& kind) {
  if (kind.kind == Kind{ScalableCountingBloom::kKind}) {
    return {{"a first id that cannot be", "offset 80", [](ImageHeader& h) { h.kind_params[2] = ~std::uint64_t{0}; }}};
  }
  return {{"a third parameter", "offset 88", [](ImageHeader& h) { h.kind_params[2] = 1; }}};
}

TEST_P(ForgedSliced, absurd_outer_fields_behind_right_checksums_are_refused_without_allocating) {
  const Bytes original = image();
  std::vector<Forgery> forgeries = forged_outers();
  std::ranges::copy(forged_outers_of(*GetParam().kind), std::back_inserter(forgeries));
  for (const Forgery& forgery : forgeries) {
    const Bytes bytes = with_forgery(original, forgery);
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      expect_refused(opener(), bytes, trust, forgery.name, forgery.says, 0, forgery.code);
    }
  }
}

// Makes the outer header name the slices as they are, so that what they say of themselves is all that is wrong.
void fix_order(std::span<std::byte> image) {
  std::uint64_t order = 0;
  for (const auto slice : slices_of(image)) {
    std::array<std::byte, 16> sums;
    std::ranges::copy(slice.subspan(offsetof(ImageHeader, checksum), 8), sums.begin());
    std::ranges::copy(slice.last(8), sums.begin() + 8);
    order = XXH3_64bits_withSeed(sums.data(), sums.size(), order);
  }
  ImageHeader outer = header_of(image);
  outer.kind_state[1] = order;
  set_header(image, outer);
  fix_header_checksum(image);
}

std::vector<Forgery> forged_slices() {
  return {
      {"another seed", "offset 24", [](ImageHeader& h) { h.seed[0] ^= 1; }},
      {"another capacity", "offset 40", [](ImageHeader& h) { h.capacity_keys += 1; }},
      {"impossible capacity", "offset 40", [](ImageHeader& h) { h.capacity_keys = ~std::uint64_t{0}; }},
      {"no rate", "offset 48", [](ImageHeader& h) { h.fpr_target_bits = bits_of(0); }},
      {"more cells than there are", "truncated", [](ImageHeader& h) { h.cells_bytes = std::uint64_t{1} << 47; }},
      {"all the cells there are", "truncated", [](ImageHeader& h) { h.cells_bytes = ~std::uint64_t{63}; }},
      {"no cells", "offset", [](ImageHeader& h) { h.cells_bytes = 0; }},
      {"another kind", "offset 10", [](ImageHeader& h) { h.kind = 1; }},
      {"a growing kind inside", "bytes", [](ImageHeader& h) { h.layout = 1; }},
      {"no shape", "offset 64", [](ImageHeader& h) { h.kind_params[0] = 0; }},
      {"last state", "offset 120", [](ImageHeader& h) { h.kind_state[2] = 1; }},
  };
}

// What the kind itself finds absurd about a slice.
std::vector<Forgery> forged_bloom_slices() {
  return {
      {"another generation", "offset 88", [](ImageHeader& h) { h.slice_tag += kMaxSlices; }},
      {"the last generation", "offset 88", [](ImageHeader& h) { h.slice_tag = ~std::uint64_t{0}; }},
      {"a state", "offset 120", [](ImageHeader& h) { h.kind_state[0] = 1; }},
      {"blocks of a later version", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 8; },
       ErrorCode::unsupported_version},
  };
}

std::vector<Forgery> forged_counting_slices() {
  return {
      {"a range backwards", "ids",
       [](ImageHeader& h) {
         h.slice_tag = 10;
         h.kind_state[1] = 9;
       }},
      {"a first id that cannot be", "ids",
       [](ImageHeader& h) {
         h.slice_tag = ~std::uint64_t{0};
         h.kind_state[1] = ~std::uint64_t{0};
       }},
      {"other counters", "offset",
       [](ImageHeader& h) {
         const bool is_blocked = h.kind_params[1] >> 32 == 0;
         h.kind_params[1] = (h.kind_params[1] & 0xffffffffU) | static_cast<std::uint64_t>(is_blocked) << 32;
       }},
      {"more stuck counters than there are", "offset 96", [](ImageHeader& h) { h.kind_state[0] = 1U << 20; }},
  };
}

void expect_slice_forgery_refused(const Subject& filter, const Bytes& original, const Forgery& forgery) {
  const std::size_t slices = header_of(original).kind_state[0];
  for (std::size_t which = 0; which < slices; ++which) {
    Bytes bytes = original;
    const auto slice = slices_of(bytes)[which];
    const bool is_same_size = [&] {
      ImageHeader header = header_of(slice);
      forgery.forge(header);
      const bool is_same = header.cells_bytes == header_of(slice).cells_bytes;
      set_header(slice, header);
      fix_header_checksum(slice);
      fix_trailer(slice);
      return is_same;
    }();
    if (is_same_size) {
      fix_order(bytes);
    }
    for (const Trust trust : {Trust::checked, Trust::fast}) {
      // The copy and the header of its own: what a slice means is asked in place.
      expect_refused(filter, bytes, trust, forgery.name + " in slice " + std::to_string(which), forgery.says, 2,
                     forgery.code);
    }
  }
}

TEST_P(ForgedSliced, absurd_slices_behind_right_checksums_are_refused) {
  const Bytes original = image();
  for (const Forgery& forgery : forged_slices()) {
    expect_slice_forgery_refused(opener(), original, forgery);
  }
  const bool can_erase = GetParam().kind->can_erase;
  for (const Forgery& forgery : can_erase ? forged_counting_slices() : forged_bloom_slices()) {
    expect_slice_forgery_refused(opener(), original, forgery);
  }
  if (const auto bound = header_of(original).kind_params[1] >> 32; !can_erase && bound == 0) {
    expect_slice_forgery_refused(opener(), original,
                                 {"several blocks per key", "offset 72", [](ImageHeader& h) { h.kind_params[1] = 1; }});
  }
}

// The filter's first id is the first slice's, and no slice begins below it.
class ForgedIds : public CorruptSliced {};
INSTANTIATE_TEST_SUITE_P(every_kind, ForgedIds, testing::ValuesIn(shapes([](const KindDescription& kind) {
                           return kind.can_grow && kind.key_shape == KeyShape::numbered;
                         })),
                         test_name);

TEST_P(ForgedIds, slices_that_begin_before_the_filters_first_id_are_refused) {
  Bytes bytes = image();
  ImageHeader header = header_of(bytes);
  header.kind_params[2] += 1;
  set_header(bytes, header);
  fix_header_checksum(bytes);
  expect_refused(opener(), bytes, Trust::fast, "another first id", "begin at " + std::to_string(header.kind_params[2]),
                 2);
}

// What is odd but not absurd opens, and nothing that is asked of it goes out of bounds.
TEST_P(ForgedSliced, odd_counts_behind_right_checksums_are_only_numbers) {
  for (const std::uint64_t count : {std::uint64_t{0}, std::uint64_t{1} << 53, kMaxKeysInserted}) {
    Bytes bytes = image();
    for (const auto slice : slices_of(bytes)) {
      ImageHeader header = header_of(slice);
      header.keys_inserted = count;
      set_header(slice, header);
      fix_header_checksum(slice);
    }
    fix_order(bytes);
    auto opened = opener().from_bytes(bytes);
    ASSERT_TRUE(opened.has_value()) << opened.error().detail;
    EXPECT_LE(opened->keys_inserted(), kMaxKeysInserted);
    insert_random(*opened, 3, 50);
    EXPECT_TRUE(opened->merge(opener().from_bytes(bytes).value()).has_value());
    EXPECT_TRUE(opener().from_bytes(opened->to_bytes()).has_value());
    EXPECT_EQ(opened->may_contain(Random(3).digest()), true);
  }
}

}  // namespace
}  // namespace mankai::test::corrupt::sliced
