#include "mankai/input/warc_reader.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "mankai/input/compress_test_support.hpp"
#include "mankai/input/time_text.hpp"

namespace mankai {
namespace {

struct Found {
  WarcType type;
  std::string uri;
  std::uint64_t bytes;

  friend bool operator==(const Found&, const Found&) = default;
};

struct Read {
  std::vector<Found> records;
  std::optional<Error> error;
};

Read read(std::string_view bytes, std::size_t chunk = 1 << 16, std::size_t max_header = 1 << 20) {
  auto reader = WarcReader::create(Source::from_memory(bytes, "a.warc", {.buffer_bytes = chunk}),
                                   {.buffer_bytes = chunk, .max_header_bytes = max_header});
  Read read;
  for (;;) {
    const auto batch = reader->next_batch();
    if (!batch) {
      read.error = batch.error();
      EXPECT_EQ(reader->next_batch().error().message(), batch.error().message());
      return read;
    }
    if (batch->empty()) {
      return read;
    }
    for (const WarcRecord& record : *batch) {
      read.records.push_back({.type = record.type, .uri = std::string(record.target_uri), .bytes = record.block_bytes});
    }
  }
}

std::string record(std::string_view type, std::string_view uri, std::string_view block,
                   std::string_view version = "1.1") {
  std::string text = "WARC/" + std::string(version) + "\r\nWARC-Type: " + std::string(type) + "\r\n";
  if (!uri.empty()) {
    text += "WARC-Target-URI: " + std::string(uri) + "\r\n";
  }
  return text + "WARC-Date: 2016-09-19T18:03:53Z\r\nWARC-Record-ID: <urn:uuid:1>\r\nContent-Length: " +
         std::to_string(block.size()) + "\r\n\r\n" + std::string(block) + "\r\n\r\n";
}

std::string crawl() {
  return record("warcinfo", "", "software: a crawler\r\n", "1.0") +
         record("request", "http://a.example/", "GET / HTTP/1.1\r\n\r\n") +
         record("response", "http://a.example/", "HTTP/1.1 200 OK\r\n\r\nWARC/1.0\r\nContent-Length: 7\r\n\r\n") +
         record("resource", "<http://b.example/x>", "") + record("revisit", "http://a.example/", "") +
         record("made-up", "http://c.example/", std::string(3000, 'x'));
}

const std::vector<Found> kCrawl = {{WarcType::warcinfo, "", 21},
                                   {WarcType::request, "http://a.example/", 18},
                                   {WarcType::response, "http://a.example/", 50},
                                   {WarcType::resource, "http://b.example/x", 0},
                                   {WarcType::revisit, "http://a.example/", 0},
                                   {WarcType::other, "http://c.example/", 3000}};

TEST(WarcReader, records_are_found_whatever_falls_between_two_reads) {
  const std::string text = crawl();
  for (std::size_t chunk = 1; chunk < 400; ++chunk) {
    const Read found = read(text, chunk);
    ASSERT_FALSE(found.error.has_value()) << chunk << ": " << found.error->message();
    ASSERT_EQ(found.records, kCrawl) << chunk;
  }
}

TEST(WarcReader, compressed_files_are_read_also_with_a_member_a_record) {
  std::string members;
  std::string frames;
  for (const std::string& one : {record("warcinfo", "", "x"), record("response", "http://a.example/", "long block"),
                                 record("response", "http://b.example/", "")}) {
    members += test::pack_gzip(one);
    frames += test::pack_zstd(one);
  }
  for (const std::string& packed : {members, frames, test::pack_gzip(crawl()), test::pack_xz(crawl())}) {
    const Read found = read(packed);
    ASSERT_FALSE(found.error.has_value()) << found.error->message();
    EXPECT_EQ(found.records.at(1).uri, "http://a.example/");
  }
  EXPECT_EQ(read(members).records.size(), 3U);
}

TEST(WarcReader, headers_are_read_as_writers_write_them) {
  const std::string text =
      "WARC/1.0\n"
      "content-length:5\n"
      "WARC-TARGET-URI: \t http://a.example/\t\n"
      "  folded\n"
      "WARC-Type: RESPONSE\n"
      "WARC-Target-URI: http://second.example/\n"
      "X: y: z\n"
      "\n"
      "12345\n\n\n\n"
      "WARC/0.17\r\nWARC-Type: response\r\nContent-Length: 0\r\nWARC-Date: 2016\r\n\r\n";
  auto reader = WarcReader::create(Source::from_memory(text, "a.warc"));
  const auto batch = reader->next_batch();
  ASSERT_TRUE(batch.has_value()) << batch.error().message();
  ASSERT_EQ(batch->size(), 2U);
  EXPECT_EQ((*batch)[0].target_uri, "http://a.example/ folded");
  EXPECT_EQ((*batch)[0].type, WarcType::response);
  EXPECT_EQ((*batch)[0].date, std::nullopt);
  EXPECT_EQ((*batch)[1].date, std::nullopt);
  EXPECT_EQ((*batch)[1].offset, text.find("WARC/0.17"));
}

TEST(WarcReader, dates_are_moments) {
  const std::string text = record("response", "http://a.example/", "");
  auto reader = WarcReader::create(Source::from_memory(text, "a.warc"));
  EXPECT_EQ(reader->next_batch()->front().date, parse_time("2016-09-19T18:03:53Z").value());
}

// Goal: a file cut off anywhere is read up to its last whole record, and the error says where the cut one begins.
TEST(WarcReader, a_file_cut_off_is_an_error_unless_between_records) {
  const std::string text = crawl();
  std::vector<std::size_t> begins;
  auto reader = WarcReader::create(Source::from_memory(text, "a.warc"));
  const auto batch = reader->next_batch();
  for (const WarcRecord& found : batch.value()) {
    begins.push_back(found.offset);
  }
  begins.push_back(text.size());
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    const Read found = read(std::string_view(text).substr(0, cut));
    const std::size_t whole = found.records.size();
    ASSERT_EQ(found.records, std::vector(kCrawl.begin(), kCrawl.begin() + static_cast<std::ptrdiff_t>(whole)));
    const bool is_between = cut <= begins[whole];
    ASSERT_EQ(found.error.has_value(), !is_between) << cut;
    if (found.error) {
      ASSERT_EQ(found.error->code, ErrorCode::corrupt);
      ASSERT_TRUE(found.error->detail.starts_with("a.warc: byte " + std::to_string(begins[whole]) + ": "))
          << found.error->detail;
    }
  }
}

TEST(WarcReader, wrong_lengths_are_errors_at_the_place_where_they_show) {
  const std::string good = record("response", "http://a.example/", "12345");
  std::string shorter = good;
  shorter.replace(shorter.find("Content-Length: 5"), 17, "Content-Length: 3");
  Read found = read(shorter + good);
  EXPECT_EQ(found.records.size(), 1U);
  ASSERT_TRUE(found.error.has_value());
  EXPECT_NE(found.error->detail.find("byte " + std::to_string(shorter.find("12345") + 3) + ": no record begins here"),
            std::string::npos)
      << found.error->detail;
  std::string longer = good;
  longer.replace(longer.find("Content-Length: 5"), 17, "Content-Length: 50");
  found = read(longer + good);
  ASSERT_TRUE(found.error.has_value());
  EXPECT_EQ(found.error->code, ErrorCode::corrupt);
}

TEST(WarcReader, what_is_no_record_is_refused_with_the_reason) {
  const std::string end = "\r\n\r\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"GET / HTTP/1.1" + end, "no record begins here"},
      {"WARC/1.0\r\nWARC-Type: response" + end, "has no Content-Length"},
      {"WARC/1.0\r\nContent-Length: 0" + end, "has no WARC-Type"},
      {"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: -1" + end, "invalid Content-Length"},
      {"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 12x" + end, "invalid Content-Length"},
      {"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 18446744073709551615" + end, "invalid Content-Length"},
      {"WARC/1.0\r\nWARC-Type: response\r\nContent-Length:" + end, "invalid Content-Length"},
      {"WARC/1.0\r\nWARC-Type: response\r\nnonsense\r\nContent-Length: 0" + end, "without a colon"},
      {"WARC/1.0\r\n folded\r\nContent-Length: 0" + end, "without a colon"},
      {"WARC/x\r\nWARC-Type: response\r\nContent-Length: 0" + end, "has no WARC version"},
      {"WARC/1.0", "ends within the header"},
      {"WARC/1.0\r\nX: " + std::string(5000, 'x') + end, "longer than 4096 bytes"},
      {"WARC/1.0\r\nX: " + std::string(5000, 'x'), "longer than 4096 bytes"},
  };
  for (const auto& [text, reason] : cases) {
    for (const std::size_t chunk : {1U, 1000U, 100'000U}) {
      const Read found = read(text, chunk, 4096);
      ASSERT_TRUE(found.error.has_value()) << text;
      EXPECT_EQ(found.error->code, ErrorCode::corrupt) << text;
      EXPECT_NE(found.error->detail.find(reason), std::string::npos) << found.error->detail;
    }
  }
  const Read later = read("WARC/2.0\r\nWARC-Type: response\r\nContent-Length: 0" + end);
  EXPECT_EQ(later.error->code, ErrorCode::unsupported_version);
  EXPECT_TRUE(read("").records.empty());
  EXPECT_FALSE(read("\r\n\r\n").error.has_value());
}

// A block is skipped, not kept: 8 GiB of it, made up as they are read, through a buffer of 64 KiB.
TEST(WarcReader, a_block_of_any_length_takes_no_memory) {
  const std::uint64_t block = std::uint64_t{8} << 30;
  const std::string header =
      "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nContent-Length: " +
      std::to_string(block) + "\r\n\r\n";
  std::uint64_t at = 0;
  const auto deliver = [&](std::span<char> into) -> Result<std::size_t> {
    if (at < header.size()) {
      const std::size_t length = header.copy(into.data(), into.size(), at);
      at += length;
      return length;
    }
    const auto length = std::min<std::uint64_t>(into.size(), header.size() + block - at);
    at += length;
    return static_cast<std::size_t>(length);
  };
  auto reader = WarcReader::create(Source::from_function(deliver, "a.warc"), {.buffer_bytes = 1 << 16});
  const auto batch = reader->next_batch();
  ASSERT_TRUE(batch.has_value());
  EXPECT_EQ(batch->front().target_uri, "http://a.example/");
  EXPECT_TRUE(reader->next_batch()->empty());
}

TEST(WarcReader, what_has_arrived_is_not_held_back) {
  const std::vector<std::string> pieces = {record("response", "http://a.example/", "1") + "WARC/1.0\r\n",
                                           "WARC-Type: response\r\nContent-Length: 0\r\n\r\n"};
  std::size_t delivered = 0;
  const auto deliver = [&](std::span<char> into) -> Result<std::size_t> {
    return delivered == pieces.size() ? 0 : pieces[delivered++].copy(into.data(), into.size());
  };
  auto reader = WarcReader::create(Source::from_function(deliver, "a.warc"));
  EXPECT_EQ(reader->next_batch()->size(), 1U);
  EXPECT_EQ(delivered, 1U);
  EXPECT_EQ(reader->next_batch()->size(), 1U);
}

TEST(WarcReader, sizes_of_nothing_are_refused) {
  EXPECT_EQ(WarcReader::create(Source::from_memory("", "x"), {.buffer_bytes = 0}).error().code,
            ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace mankai
