#pragma once

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mankai::test::golden {

using Bytes = std::vector<std::byte>;

/// Of a file in this folder; `name` has no .mk.
inline std::filesystem::path path_of(std::string_view name) {
  return std::filesystem::path(MANKAI_GOLDEN_DIR) / (std::string(name) + ".mk");
}

inline Bytes read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto raw = std::as_bytes(std::span(text));
  return {raw.begin(), raw.end()};
}

inline void write(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline std::uint64_t sum_of(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

/// A file in this folder, without .mk, and how today's code makes it. golden.tsv pins its bytes and answers.
struct Golden {
  const char* name;
  Bytes (*make)();
};

inline void expect_files(std::span<const Golden> goldens) {
  for (const Golden& golden : goldens) {
    EXPECT_EQ(golden.make(), read(path_of(golden.name))) << golden.name;
  }
}

inline void write_files(std::span<const Golden> goldens) {
  for (const Golden& golden : goldens) {
    write(path_of(golden.name), golden.make());
  }
}

}  // namespace mankai::test::golden
