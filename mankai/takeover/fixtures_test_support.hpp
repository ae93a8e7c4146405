#pragma once

/// Reads data/redisbloom of the shared folder: what RedisBloom and valkey-bloom save and answer; its README says how.

#include <gtest/gtest.h>
#include <sodium.h>
#include <zlib.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/shared_data.hpp"

namespace mankai::takeover::test {

using Json = nlohmann::json;

/// Reads data/redisbloom/NAME.json.gz. Pre: the file exists, see MANKAI_SKIP_WITHOUT.
inline Json fixture(std::string_view name) {
  const std::filesystem::path path = mankai::test::shared_data("redisbloom") / (std::string(name) + ".json.gz");
  gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  std::vector<char> part(std::size_t{1} << 20);
  for (int got = 0; (got = gzread(file, part.data(), static_cast<unsigned>(part.size()))) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(got));
  }
  gzclose(file);
  return Json::parse(text);
}

inline std::string from_base64(std::string_view text) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char digit : text) {
    if (digit == '=') {
      break;
    }
    bits = bits << 6U | static_cast<std::uint32_t>(kDigits.find(digit));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>(bits >> static_cast<unsigned>(count)));
    }
  }
  return bytes;
}

inline std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

/// Bytes in zlib's format and base64: payloads and chunks.
inline std::string unpack(const Json& packed) {
  const std::string raw = from_base64(packed.get<std::string>());
  z_stream stream{};
  EXPECT_EQ(inflateInit(&stream), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
  stream.avail_in = static_cast<unsigned>(raw.size());
  std::string bytes;
  std::vector<char> part(std::size_t{1} << 16);
  for (int state = Z_OK; state == Z_OK;) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<unsigned>(part.size());
    state = inflate(&stream, Z_NO_FLUSH);
    bytes.append(part.data(), part.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return bytes;
}

/// A word of a command or a bulk string of a reply: text, or bytes in hex.
inline std::string bytes_of(const Json& word) {
  if (word.is_string()) {
    return word.get<std::string>();
  }
  return word.contains("hex") ? from_hex(word["hex"].get<std::string>()) : word["bulk"].get<std::string>();
}

/// The items of a step or of probes: prefix0, prefix1 …, or all of them in hex.
inline std::vector<std::string> items_of(const Json& items) {
  std::vector<std::string> all;
  if (items.contains("hex")) {
    for (const Json& each : items["hex"]) {
      all.push_back(from_hex(each.get<std::string>()));
    }
    return all;
  }
  const auto prefix = items["prefix"].get<std::string>();
  const auto from = items["from"].get<std::size_t>();
  for (std::size_t i = from; i < from + items["count"].get<std::size_t>(); ++i) {
    all.push_back(prefix + std::to_string(i));
  }
  return all;
}

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

/// SHA-256, in hex, of chunks as `chunks_sha256` has it: iterator and bytes of each.
class ChunksDigest {
 public:
  ChunksDigest() { crypto_hash_sha256_init(&state_); }

  void add(std::uint64_t iterator, std::span<const std::byte> bytes) {
    add(std::as_bytes(std::span(&iterator, 1)));
    add(bytes);
  }
  std::string hex() {
    std::array<unsigned char, crypto_hash_sha256_BYTES> digest{};
    crypto_hash_sha256_final(&state_, digest.data());
    std::string text(2 * digest.size() + 1, 0);
    sodium_bin2hex(text.data(), text.size(), digest.data(), digest.size());
    text.pop_back();
    return text;
  }

 private:
  void add(std::span<const std::byte> bytes) {
    crypto_hash_sha256_update(&state_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }

  crypto_hash_sha256_state state_{};
};

#define MANKAI_SKIP_WITHOUT_REDISBLOOM() MANKAI_SKIP_WITHOUT(mankai::test::shared_data("redisbloom/keys.json.gz"))

}  // namespace mankai::takeover::test
