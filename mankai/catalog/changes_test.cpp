#include "mankai/catalog/changes.hpp"

#include <gtest/gtest.h>

#include "mankai/catalog/catalog.hpp"
#include "mankai/catalog/keys.hpp"

namespace mankai {
namespace {

TEST(Changes, an_applied_insertion_is_what_insert_keys_does) {
  for (const KindInfo& info : kinds()) {
    AnyFilter a = create_filter({.kind = info.kind, .keys = 2000, .seed = std::array<std::uint64_t, 2>{1, 0}}).value();
    AnyFilter b = create_filter({.kind = info.kind, .keys = 2000, .seed = std::array<std::uint64_t, 2>{1, 0}}).value();
    const std::array<std::string_view, 4> keys{"a.org/x", "b", "", "c.org/d/e/f"};
    ChangeEncoder encoder(a);
    const auto change = encoder.insert(keys);
    ASSERT_TRUE(change.has_value());
    const auto applied = apply_change(a, *change);
    ASSERT_TRUE(applied.has_value()) << applied.error().message();
    insert_keys(b, keys);
    EXPECT_EQ(std::visit([](auto& f) { return f.to_bytes(); }, a), std::visit([](auto& f) { return f.to_bytes(); }, b));
  }
}

}  // namespace
}  // namespace mankai
