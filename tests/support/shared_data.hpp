#pragma once

#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mankai::test {

/// Where the real data sets stand beside a checkout; tests that use them skip loudly when it is absent.
inline std::filesystem::path shared_data(const std::string& relative) {
  return std::filesystem::path(MANKAI_SHARED_DIR) / "data" / relative;
}

/// Reads a whole .zst file.
inline std::string read_zstd(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string packed((std::istreambuf_iterator<char>(file)), {});
  std::string text;
  std::vector<char> chunk(ZSTD_DStreamOutSize());
  ZSTD_DStream* stream = ZSTD_createDStream();
  ZSTD_DCtx_setParameter(stream, ZSTD_d_windowLogMax, 27);
  ZSTD_inBuffer in{packed.data(), packed.size(), 0};
  while (in.pos < in.size) {
    ZSTD_outBuffer out{chunk.data(), chunk.size(), 0};
    if (ZSTD_isError(ZSTD_decompressStream(stream, &out, &in)) != 0U) {
      ADD_FAILURE() << path << " is not readable zstd";
      break;
    }
    text.append(chunk.data(), out.pos);
  }
  ZSTD_freeDStream(stream);
  return text;
}

#define MANKAI_SKIP_WITHOUT(path)                                                           \
  if (!std::filesystem::exists(path)) {                                                     \
    GTEST_SKIP() << "SKIPPED: the shared data set " << (path) << " is not on this machine"; \
  }                                                                                         \
  static_assert(true, "takes the semicolon")

}  // namespace mankai::test
