#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/filter/parts/image.hpp"
#include "tests/support/image_edit.hpp"

namespace mankai::test::corrupt {

using Bytes = std::vector<std::byte>;

inline constexpr std::size_t kHeaderBytes = sizeof(ImageHeader);

/// One absurd field behind right checksums, and what the error must say.
struct Forgery {
  std::string name;
  std::string_view says;
  std::function<void(ImageHeader&)> forge;
  ErrorCode code = ErrorCode::corrupt;
};

inline std::uint64_t bits_of(double value) { return std::bit_cast<std::uint64_t>(value); }

/// Bytes with one field of their header forged, behind a right checksum of the header.
inline Bytes with_forgery(const Bytes& good, const Forgery& forgery) {
  Bytes bytes = good;
  ImageHeader header = header_of(bytes);
  forgery.forge(header);
  set_header(bytes, header);
  fix_header_checksum(bytes);
  return bytes;
}

template <class Opened>
void expect_names(const Opened& opened, const Forgery& forgery) {
  ASSERT_FALSE(opened.has_value()) << forgery.name;
  EXPECT_EQ(opened.error().code, forgery.code) << forgery.name;
  EXPECT_NE(opened.error().detail.find(forgery.says), std::string::npos)
      << forgery.name << ": " << opened.error().detail;
}

template <class F>
void expect_all_refused(const Bytes& good, const std::vector<Forgery>& forgeries) {
  for (const Forgery& forgery : forgeries) {
    Bytes bytes = with_forgery(good, forgery);
    fix_trailer(bytes);
    ASSERT_NO_FATAL_FAILURE(expect_names(F::from_bytes(bytes, Trust::fast), forgery));
  }
}

}  // namespace mankai::test::corrupt
