#pragma once

/// The fixtures of ../shared/data/redisbloom (its README describes them), and texts as bytes.

#include <gtest/gtest.h>
#include <sodium.h>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/takeover/bytes.hpp"
#include "tests/support/shared_data.hpp"

namespace mankai::takeover::test {

using Json = nlohmann::json;

inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Inflates what zlib or gzip packed.
inline std::string inflated(std::string_view packed) {
  constexpr int kZlibOrGzip = 15 + 32;
  std::string text;
  std::array<char, 1 << 16> chunk;
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  int status = inflateInit2(&stream, kZlibOrGzip);
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  EXPECT_EQ(status, Z_STREAM_END);
  return text;
}

inline std::string from_base64(std::string_view text) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char digit : text.substr(0, text.find('='))) {
    bits = bits << 6U | static_cast<std::uint32_t>(kDigits.find(digit));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> count));
    }
  }
  return bytes;
}

inline std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

/// The bytes of a payload or chunk.
inline std::string unpacked(const Json& packed) { return inflated(from_base64(packed.get<std::string>())); }

inline Json read_fixture(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Json::parse(inflated(std::string((std::istreambuf_iterator<char>(file)), {})));
}

/// As SCANDUMP returns them: the iterator after each, and its bytes. The first one is the header.
using Chunks = std::vector<std::pair<std::uint64_t, ByteBuffer>>;

/// `chunks_sha256` of the fixtures.
inline std::string sha256_of(const Chunks& chunks) {
  crypto_hash_sha256_state state;
  crypto_hash_sha256_init(&state);
  for (const auto& [iterator, bytes] : chunks) {
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(&iterator), sizeof(iterator));
    crypto_hash_sha256_update(&state, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  std::array<unsigned char, crypto_hash_sha256_BYTES> hash;
  crypto_hash_sha256_final(&state, hash.data());
  std::array<char, 2 * crypto_hash_sha256_BYTES + 1> hex;
  return sodium_bin2hex(hex.data(), hex.size(), hash.data(), hash.size());
}

/// The items of a step or of probes.
class Items {
 public:
  explicit Items(const Json& json) {
    if (json.contains("hex")) {
      for (const Json& item : json["hex"]) {
        texts_.push_back(from_hex(item.get<std::string>()));
      }
    } else {
      const auto from = json["from"].get<std::uint64_t>();
      for (std::uint64_t i = from; i < from + json["count"].get<std::uint64_t>(); ++i) {
        texts_.push_back(json["prefix"].get<std::string>() + std::to_string(i));
      }
    }
    views_.assign(texts_.begin(), texts_.end());
  }
  [[nodiscard]] std::span<const std::string_view> views() const { return views_; }

 private:
  std::vector<std::string> texts_;
  std::vector<std::string_view> views_;
};

/// The answers of `filter`, one character per key, as a batch; checks that single calls agree.
template <class Filter>
std::string answers_of(const Filter& filter, std::span<const std::string_view> keys) {
  const auto outcomes = std::make_unique<bool[]>(keys.size());
  filter.may_contain(keys, std::span(outcomes.get(), keys.size()));
  std::string answers;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(filter.may_contain(keys[i]), outcomes[i]);
    answers.push_back(outcomes[i] ? '1' : '0');
  }
  return answers;
}

}  // namespace mankai::takeover::test
