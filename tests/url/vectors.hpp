#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "mankai/base/error.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai::test {

inline nlohmann::json read_json(const std::filesystem::path& path) {
  return path.extension() == ".zst" ? nlohmann::json::parse(read_zstd(path))
                                    : nlohmann::json::parse(std::ifstream(path));
}

/// JSON has halves of surrogate pairs that stand for no character, and nlohmann's parser refuses them.
inline nlohmann::json read_json_with_halves(const std::filesystem::path& path) {
  std::ifstream file(path);
  const std::string text =
      path.extension() == ".zst" ? read_zstd(path) : std::string(std::istreambuf_iterator<char>(file), {});
  static const std::regex kHigh(R"(\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F]))");
  return nlohmann::json::parse(std::regex_replace(text, kHigh, "\\ufffd"));
}

/// Gives the bytes of a text whose characters, up to U+00FF, stand for one byte each.
inline std::string latin1_bytes(std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      bytes += utf8[i];
    } else {
      ++i;
      bytes += static_cast<char>((lead & 3U) << 6U | (static_cast<unsigned char>(utf8.at(i)) & 0x3FU));
    }
  }
  return bytes;
}

/// A vector that we answer otherwise, on purpose. `ours` is "error" where we refuse.
struct Difference {
  std::string_view vector;
  std::string_view ours;
  std::string_view reason;
};

/// Holds answers against vectors and a list of differences, which may hold nothing but true ones: a vector that is not
/// listed must agree, one that is listed must not, and our answer must be the listed one.
class Conformance {
 public:
  explicit Conformance(std::span<const Difference> differences) {
    for (const Difference& difference : differences) {
      listed_.emplace(difference.vector, difference);
    }
  }

  void check(const std::string& vector, const std::string& expected, const std::string& ours) {
    ++checked_;
    const auto found = listed_.find(vector);
    if (found == listed_.end()) {
      EXPECT_EQ(ours, expected) << "vector " << vector;
      return;
    }
    used_.insert(vector);
    EXPECT_NE(ours, expected) << "listed as different, and is not: " << vector;
    EXPECT_EQ(ours, found->second.ours) << "listed with another answer: " << vector;
  }

  /// Every listed vector must have been met. Returns how many vectors there were.
  std::size_t finish() const {
    for (const auto& [vector, difference] : listed_) {
      EXPECT_TRUE(used_.contains(vector)) << "listed, but not among the vectors: " << vector;
    }
    return checked_;
  }

 private:
  std::map<std::string, Difference, std::less<>> listed_;
  std::set<std::string> used_;
  std::size_t checked_ = 0;
};

}  // namespace mankai::test
