#include "mankai/input/source.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <thread>

#include "mankai/input/compress_test_support.hpp"

namespace mankai {
namespace {

using test::Delivered;
using test::pack;
using test::read_all;

constexpr std::array kPackedFormats = {Compression::gzip, Compression::zstd, Compression::xz};
constexpr std::array kFormats = {Compression::plain, Compression::gzip, Compression::zstd, Compression::xz};
constexpr std::array<std::size_t, 8> kChunks = {1, 2, 3, 5, 7, 64, 4096, 1 << 18};

struct Pipe {
  Pipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~Pipe() {
    close(ends[0]);
    close_writer();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void write(std::string_view bytes) const {
    EXPECT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  void close_writer() {
    if (ends[1] >= 0) {
      close(ends[1]);
      ends[1] = -1;
    }
  }
  std::array<int, 2> ends{};
};

std::string read_some(Source& source) {
  std::string bytes(4096, '\0');
  const Result<std::size_t> got = source.read(bytes);
  bytes.resize(got.value_or(0));
  return bytes;
}

TEST(Source, every_format_round_trips_at_every_chunk_size) {
  const std::string text = test::random_lines(10'000, 1);
  for (const Compression format : kFormats) {
    const std::string packed = pack(format, text);
    for (const std::size_t chunk : kChunks) {
      Source source = Source::from_memory(packed, "memory", {.buffer_bytes = chunk});
      const Delivered delivered = read_all(source, chunk);
      EXPECT_FALSE(delivered.error.has_value()) << name(format) << ' ' << delivered.error->message();
      EXPECT_EQ(delivered.text, text) << name(format) << " in chunks of " << chunk;
      EXPECT_EQ(source.compression(), format);
      EXPECT_EQ(source.raw_bytes_consumed(), packed.size());
      EXPECT_EQ(source.raw_bytes_total(), packed.size());
    }
  }
}

TEST(Source, input_far_larger_than_all_buffers_round_trips) {
  const std::string text = test::random_lines(3'000'000, 2);
  for (const Compression format : kFormats) {
    const Delivered delivered = read_all(pack(format, text), 1 << 16);
    EXPECT_FALSE(delivered.error.has_value());
    EXPECT_TRUE(delivered.text == text) << name(format);
  }
}

TEST(Source, a_small_input_that_unpacks_to_much_is_delivered_piece_by_piece) {
  const std::string text(5'000'000, 'x');
  for (const Compression format : kPackedFormats) {
    const Delivered delivered = read_all(pack(format, text), 1000);
    EXPECT_FALSE(delivered.error.has_value());
    EXPECT_TRUE(delivered.text == text) << name(format);
  }
}

TEST(Source, empty_input_and_empty_content_are_empty) {
  for (const Compression format : kFormats) {
    const Delivered delivered = read_all(pack(format, ""), 16);
    EXPECT_FALSE(delivered.error.has_value()) << name(format);
    EXPECT_EQ(delivered.text, "");
  }
}

TEST(Source, members_frames_and_streams_are_joined_and_padding_is_skipped) {
  for (const Compression format : kPackedFormats) {
    for (const std::size_t padding : {0U, 1U, 8U, 1000U}) {
      const std::string joint(padding, '\0');
      const std::string packed =
          test::join({pack(format, "one\n"), joint, pack(format, ""), joint, pack(format, "two\n"), joint});
      for (const std::size_t chunk : kChunks) {
        const Delivered delivered = read_all(packed, chunk);
        EXPECT_FALSE(delivered.error.has_value()) << name(format) << ' ' << delivered.error->message();
        EXPECT_EQ(delivered.text, "one\ntwo\n") << name(format) << " in chunks of " << chunk;
      }
    }
  }
}

TEST(Source, skippable_zstd_frames_are_skipped_wherever_they_stand) {
  using namespace std::string_literals;
  const std::string skippable = "\x53\x2A\x4D\x18\x05\0\0\0abcde"s;
  for (const std::size_t chunk : kChunks) {
    const Delivered delivered = read_all(test::join({skippable, pack(Compression::zstd, "a"), skippable}), chunk);
    EXPECT_FALSE(delivered.error.has_value()) << delivered.error->message();
    EXPECT_EQ(delivered.text, "a");
  }
}

TEST(Source, text_that_begins_like_a_magic_number_is_plain) {
  for (const std::string_view text : {"P", "P*", "P*M", "PQRS\n", "\x28\xB5/", "\xFD\x37zXY", "\x1f", "\x1fx"}) {
    for (const std::size_t chunk : {1U, 100U}) {
      Source source = Source::from_memory(text, "memory", {.buffer_bytes = chunk});
      EXPECT_EQ(read_all(source, 100).text, text);
      EXPECT_EQ(source.compression(), Compression::plain);
    }
  }
}

// Goal: a cut anywhere is reported, and what was delivered is a true prefix. Method: every cut of a two-block input.
TEST(Source, truncation_at_every_byte_is_corrupt_after_a_true_prefix) {
  constexpr std::array<std::size_t, 4> kMagicBytes = {0, 2, 4, 6};
  const std::string text = test::random_lines(300, 3);
  for (const Compression format : kPackedFormats) {
    const std::string packed = pack(format, text);
    for (std::size_t length = kMagicBytes[static_cast<std::size_t>(format)]; length < packed.size(); ++length) {
      for (const std::size_t chunk : {1U, 4096U}) {
        const Delivered delivered = read_all(std::string_view(packed).substr(0, length), chunk);
        ASSERT_TRUE(delivered.error.has_value()) << name(format) << " cut at " << length;
        EXPECT_EQ(delivered.error->code, ErrorCode::corrupt);
        EXPECT_NE(delivered.error->detail.find("compressed byte " + std::to_string(length)), std::string::npos)
            << delivered.error->detail;
        EXPECT_TRUE(text.starts_with(delivered.text));
      }
    }
  }
}

TEST(Source, a_cut_short_large_input_still_delivers_what_was_complete) {
  const std::string text = test::random_lines(1'000'000, 4);
  for (const Compression format : kPackedFormats) {
    const std::string packed = pack(format, text);
    const Delivered delivered = read_all(std::string_view(packed).substr(0, packed.size() - 20), 1 << 18);
    EXPECT_TRUE(delivered.error.has_value());
    EXPECT_TRUE(text.starts_with(delivered.text));
    EXPECT_GE(delivered.text.size(), text.size() - (128U << 10)) << name(format);
  }
}

TEST(Source, a_wrong_check_sum_is_corrupt_after_all_content) {
  constexpr std::array<std::size_t, 4> kCheckFromEnd = {0, 8, 4, 0};
  const std::string text = test::random_lines(1'000'000, 5);
  for (const Compression format : {Compression::gzip, Compression::zstd}) {
    std::string packed = pack(format, text);
    packed[packed.size() - kCheckFromEnd[static_cast<std::size_t>(format)]] ^= 1;
    const Delivered delivered = read_all(packed, 1 << 18);
    ASSERT_TRUE(delivered.error.has_value()) << name(format);
    EXPECT_EQ(delivered.error->code, ErrorCode::corrupt);
    EXPECT_TRUE(delivered.text == text) << name(format);
  }
}

// zstd's library forgets what it wrote before an error unless it is fed with care; see ZstdDecoder.
TEST(Source, what_is_delivered_before_an_error_does_not_depend_on_buffer_sizes) {
  const std::string text = test::random_lines(700'000, 11);
  for (const Compression format : kPackedFormats) {
    const std::string good = pack(format, text);
    for (std::size_t place = 1000; place < good.size(); place += good.size() / 20) {
      std::string packed = good;
      packed[place] = static_cast<char>(packed[place] ^ 0x55);
      const Delivered with_large = read_all(packed, 1 << 20);
      const Delivered with_small = read_all(packed, 1 << 10);
      EXPECT_EQ(with_large.error.has_value(), with_small.error.has_value()) << name(format) << ' ' << place;
      EXPECT_TRUE(with_large.text == with_small.text)
          << name(format) << ' ' << place << ' ' << with_large.text.size() << ' ' << with_small.text.size();
    }
  }
}

TEST(Source, any_flipped_bit_ends_in_an_error_or_an_end) {
  const std::string text = test::random_lines(200, 6);
  for (const Compression format : kPackedFormats) {
    std::string packed = pack(format, text);
    for (std::size_t bit = 0; bit < packed.size() * 8; ++bit) {
      const char flip = static_cast<char>(1 << (bit % 8));
      packed[bit / 8] = static_cast<char>(packed[bit / 8] ^ flip);
      for (const std::size_t chunk : {3U, 4096U}) {
        EXPECT_LT(read_all(packed, chunk).text.size(), 10'000U);
      }
      packed[bit / 8] = static_cast<char>(packed[bit / 8] ^ flip);
    }
  }
}

TEST(Source, the_error_repeats) {
  Source source = Source::from_memory("\x1f\x8bxxxxxxxxxx", "a.gz");
  std::array<char, 10> into{};
  const Result<std::size_t> first = source.read(into);
  const Result<std::size_t> second = source.read(into);
  ASSERT_FALSE(first.has_value());
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(first.error().detail, second.error().detail);
  EXPECT_TRUE(first.error().detail.starts_with("a.gz: the gzip data is damaged near compressed byte "))
      << first.error().detail;
}

// A gzip member of "a\n" with these flags of RFC 1952, and all that they announce but a correct checksum.
std::string member_with(unsigned flags, std::string_view checksum = "") {
  using namespace std::string_literals;
  const std::string packed = pack(Compression::gzip, "a\n");
  std::string member = packed.substr(0, 10);
  member[3] = static_cast<char>(flags);
  member += (flags & 4U) != 0 ? "\5\0extra"s : "";
  member += (flags & 8U) != 0 ? "name\0"s : "";
  member += (flags & 16U) != 0 ? "comment\0"s : "";
  return member.append(checksum).append(packed.substr(10));
}

TEST(Source, the_optional_fields_of_a_gzip_header_are_skipped) {
  for (const std::size_t chunk : kChunks) {
    for (unsigned flags = 0; flags < 32; ++flags) {
      const std::string member = member_with(flags & ~2U);
      EXPECT_EQ(read_all(member + member, chunk).text, "a\na\n") << "flags " << flags << " in chunks of " << chunk;
    }
    EXPECT_FALSE(read_all(member_with(2 + 8, "\x43\x5c"), chunk).error.has_value());
  }
}

TEST(Source, a_gzip_header_with_a_wrong_checksum_or_unknown_flags_is_corrupt) {
  for (const std::size_t chunk : kChunks) {
    for (const std::string& member : {member_with(2 + 8, "??"), member_with(32), member_with(64), member_with(128)}) {
      const Delivered delivered = read_all(pack(Compression::gzip, "a\n") + member, chunk);
      EXPECT_EQ(delivered.text, "a\n");
      ASSERT_TRUE(delivered.error.has_value());
      EXPECT_EQ(delivered.error->code, ErrorCode::corrupt);
    }
  }
}

// The fast loop of ISA-L counts a match before it looks at its distance.
TEST(Source, an_invalid_distance_adds_nothing_to_what_is_delivered) {
  using namespace std::string_literals;
  const std::string head = pack(Compression::gzip, "").substr(0, 10);
  const std::string packed =
      head + "\x4b\x4c\x4a\x1e\xbd\xff\x1f"s + std::string(600, '\0');  // abc, 258 of 32768 before
  for (const std::size_t chunk : kChunks) {
    const Delivered delivered = read_all(packed, chunk);
    EXPECT_EQ(delivered.text, "abc") << "in chunks of " << chunk;
    EXPECT_TRUE(delivered.error.has_value());
  }
}

TEST(Source, garbage_after_compressed_data_is_corrupt_after_all_content) {
  using namespace std::string_literals;
  for (const Compression format : kPackedFormats) {
    const Compression other = format == Compression::gzip ? Compression::xz : Compression::gzip;
    constexpr std::string_view kPrefix = "truncated data or ";
    const std::array<std::pair<std::string, std::string_view>, 7> rests = {{{"x", ""},
                                                                            {"\x1f", kPrefix},
                                                                            {"PQ", ""},
                                                                            {"\xFD\x37z", kPrefix},
                                                                            {"garbage" + pack(format, "b\n"), ""},
                                                                            {pack(other, "b\n"), name(other)},
                                                                            {"PK\3\4", "zip"}}};
    for (const auto& [garbage, found] : rests) {
      for (const std::string& padding : {""s, "\0\0\0"s}) {
        for (const std::size_t chunk : kChunks) {
          const std::string packed = pack(format, "a\n") + padding;
          const Delivered delivered = read_all(packed + garbage, chunk);
          EXPECT_EQ(delivered.text, "a\n");
          ASSERT_TRUE(delivered.error.has_value()) << name(format) << ' ' << garbage;
          EXPECT_EQ(delivered.error->code, ErrorCode::corrupt);
          const std::string end = std::to_string(packed.size());
          const std::string advice =
              found.empty() || found == kPrefix
                  ? test::join({", and ", found, "other bytes follow; head -c ", end, " FILE leaves them out"})
                  : test::join({", and ", found, " data follows; head -c ", end, " FILE is the first part, tail -c +",
                                std::to_string(packed.size() + 1), " FILE the other"});
          EXPECT_EQ(delivered.error->detail,
                    test::join({"memory: the ", name(format), " data ends at compressed byte ", end, advice}));
        }
      }
    }
  }
}

TEST(Source, formats_that_are_not_supported_are_corrupt_and_name_what_unpacks_them) {
  using namespace std::string_literals;
  const std::array refused = {
      std::pair("BZh91AY&SY"s, "bzip2 -dc"s),        std::pair("BZh1\x17\x72\x45\x38\x50\x90"s, "bzip2 -dc"s),
      std::pair("\x04\x22\x4D\x18"s, "lz4 -dc"s),    std::pair("LZIP\1"s, "lzip -dc"s),
      std::pair("\x1f\x9d"s, "gzip -dc"s),           std::pair("PK\3\4"s, "unzip -p"s),
      std::pair("7z\xBC\xAF\x27\x1C"s, "7z x -so"s), std::pair("PK\5\6"s, "unzip -p"s),
      std::pair("\x89LZO\0"s, "lzop -dc"s),          std::pair("Rar!\x1A\7"s, "unrar p -inul"s)};
  for (const auto& [magic, unpacker] : refused) {
    for (const std::size_t chunk : kChunks) {
      const Delivered delivered = read_all(magic + " and so on\n", chunk);
      EXPECT_EQ(delivered.text, "");
      ASSERT_TRUE(delivered.error.has_value()) << magic;
      EXPECT_EQ(delivered.error->code, ErrorCode::corrupt);
      EXPECT_TRUE(delivered.error->detail.contains("is not supported; pipe in the output of " + unpacker))
          << delivered.error->detail;
      const std::string cut = magic.substr(0, magic.size() - 1);
      EXPECT_EQ(read_all(cut, chunk).text, cut);
      EXPECT_EQ(read_all(cut + "\n", chunk).text, cut + "\n");
    }
  }
}

TEST(Source, a_tar_file_is_refused_also_compressed) {
  std::string tar = "folder/name" + std::string(246, '\0') + "ustar" + std::string(250, '\0') + "text\n";
  for (const Compression format : kFormats) {
    const Delivered delivered = read_all(pack(format, tar), 4096);
    ASSERT_TRUE(delivered.error.has_value()) << name(format);
    EXPECT_EQ(delivered.error->code, ErrorCode::corrupt);
    EXPECT_TRUE(delivered.error->detail.contains("tar -xOf FILE")) << delivered.error->detail;
  }
  std::ranges::replace(tar, '\0', ' ');
  EXPECT_EQ(read_all(tar, 4096).text, tar);
  EXPECT_EQ(read_all("two\n" + tar, 4096).text, "two\n" + tar);
}

// As a slow pipe delivers them.
std::optional<Error> error_in_pieces(std::string_view bytes, std::size_t piece = 1) {
  Source source = Source::from_function(
      [bytes, piece](std::span<char> into) mutable -> Result<std::size_t> {
        const std::size_t length = bytes.copy(into.data(), std::min(piece, into.size()));
        bytes.remove_prefix(length);
        return length;
      },
      "a pipe");
  std::array<char, 4096> into;
  for (;;) {
    const auto got = source.read(into);
    if (!got || *got == 0) {
      return got ? std::nullopt : std::optional(got.error());
    }
  }
}

TEST(Source, a_tar_file_is_refused_in_pieces) {
  const std::string tar = "name" + std::string(253, '\0') + "ustar" + std::string(250, '\0') + "text\n";
  for (const Compression format : kFormats) {
    const auto error = error_in_pieces(pack(format, tar), 100);
    ASSERT_TRUE(error) << name(format);
    EXPECT_TRUE(error->detail.contains("tar -xOf FILE")) << error->detail;
  }
  EXPECT_FALSE(error_in_pieces(std::string(300, '\0')));
  EXPECT_FALSE(error_in_pieces(std::string(3, '\0')));
}

TEST(Source, what_is_compressed_twice_is_refused) {
  using namespace std::string_literals;
  for (const Compression outer : {Compression::gzip, Compression::zstd, Compression::xz}) {
    for (const Compression inner : {Compression::gzip, Compression::zstd, Compression::xz}) {
      const std::string twice = pack(outer, pack(inner, "a line\n"));
      const auto error = error_in_pieces(twice);
      ASSERT_TRUE(error);
      const std::string expected =
          std::string(name(outer)) + " data contains " + std::string(name(inner)) + " data; unpack both";
      EXPECT_TRUE(error->detail.contains(expected)) << error->detail;
      EXPECT_EQ(read_all(twice, 4096).text, "");
    }
    EXPECT_TRUE(error_in_pieces(pack(outer, "BZh91AY&SY"s))->detail.contains("contains bzip2 data"));
    EXPECT_FALSE(error_in_pieces(pack(outer, "BZh9 is a line\n"s)));
    EXPECT_FALSE(error_in_pieces(pack(outer, "BZh"s)));
  }
}

TEST(Source, windows_up_to_long_27_open_and_larger_ones_say_how_to_go_on) {
  EXPECT_EQ(read_all(test::pack_zstd("a\n", 27), 4096).text, "a\n");
  const Delivered delivered = read_all(test::pack_zstd("a\n", 28), 4096);
  ASSERT_TRUE(delivered.error.has_value());
  EXPECT_EQ(delivered.error->code, ErrorCode::out_of_space);
  EXPECT_NE(delivered.error->detail.find("--long"), std::string::npos);
}

TEST(Source, xz_dictionaries_beyond_the_limit_are_refused_with_the_need) {
  EXPECT_EQ(read_all(test::pack_xz("a\n", 64U << 20), 4096).text, "a\n");
  const Delivered delivered = read_all(test::pack_xz("a\n", 512U << 20), 4096);
  ASSERT_TRUE(delivered.error.has_value());
  EXPECT_EQ(delivered.error->code, ErrorCode::out_of_space);
  EXPECT_NE(delivered.error->detail.find("limit is 256 MiB"), std::string::npos) << delivered.error->detail;
}

TEST(Source, a_missing_file_is_not_found_and_named) {
  const Result<Source> source = Source::open("no/such/file.log");
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::not_found);
  EXPECT_EQ(source.error().message(), "no/such/file.log: cannot open: No such file or directory");
}

TEST(Source, a_directory_is_refused_as_such) {
  const Result<Source> source = Source::open(testing::TempDir());
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::io);
  EXPECT_EQ(source.error().os_error, EISDIR);
  EXPECT_NE(source.error().message().find("Is a directory"), std::string::npos);
}

TEST(Source, a_closed_descriptor_is_an_io_error) {
  const Result<Source> source = Source::from_descriptor(-1, "nothing");
  ASSERT_FALSE(source.has_value());
  EXPECT_EQ(source.error().code, ErrorCode::io);
  EXPECT_EQ(source.error().os_error, EBADF);
}

TEST(Source, a_file_is_read_and_its_size_is_known) {
  const std::string path = testing::TempDir() + "mankai_source_test_" + std::to_string(getpid());
  std::ofstream(path) << "a\nb\n";
  Result<Source> source = Source::open(path);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(source->raw_bytes_total(), 4U);
  EXPECT_EQ(read_all(*source, 3).text, "a\nb\n");
  EXPECT_EQ(source->raw_bytes_consumed(), 4U);
  std::remove(path.c_str());
}

TEST(Source, a_stalled_pipe_holds_nothing_back) {
  Pipe input;
  Source source = Source::from_descriptor(input.ends[0], "pipe").value();
  EXPECT_FALSE(source.raw_bytes_total().has_value());
  input.write("first\nhal");
  EXPECT_EQ(read_some(source), "first\nhal");
  input.write("f");
  EXPECT_EQ(read_some(source), "f");
  input.close_writer();
  EXPECT_EQ(read_some(source), "");
}

TEST(Source, a_stalled_compressed_pipe_delivers_what_was_flushed) {
  Pipe input;
  Source source = Source::from_descriptor(input.ends[0], "pipe").value();
  input.write(test::pack_gzip_unfinished("flushed\n"));
  EXPECT_EQ(read_some(source), "flushed\n");
}

TEST(Source, a_signal_does_not_disturb_a_waiting_read) {
  struct sigaction quiet{};
  quiet.sa_handler = [](int) {};
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGUSR1, &quiet, &before), 0);
  Pipe input;
  Source source = Source::from_descriptor(input.ends[0], "pipe").value();
  const pthread_t reader = pthread_self();
  std::thread writer([&input, reader] {
    for (int i = 0; i < 20; ++i) {
      pthread_kill(reader, SIGUSR1);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    input.write("a");
  });
  EXPECT_EQ(read_some(source), "a");
  writer.join();
  sigaction(SIGUSR1, &before, nullptr);
}

TEST(Source, a_readable_stop_descriptor_ends_the_wait) {
  Pipe input;
  const Pipe stop;
  Source source = Source::from_descriptor(input.ends[0], "pipe", {.stop_fd = stop.ends[0]}).value();
  input.write("a");
  EXPECT_EQ(read_some(source), "a");
  stop.write("!");
  std::array<char, 10> into{};
  const Result<std::size_t> got = source.read(into);
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().os_error, EINTR);
}

TEST(Source, an_error_of_the_function_behind_it_is_named_and_kept) {
  int calls = 0;
  Source source = Source::from_function(
      [&calls](std::span<char> into) -> Result<std::size_t> {
        into[0] = 'a';
        return ++calls == 1 ? Result<std::size_t>(1) : fail(ErrorCode::io, "cannot read", EIO);
      },
      "tape");
  const Delivered delivered = read_all(source, 10);
  EXPECT_EQ(delivered.text, "a");
  ASSERT_TRUE(delivered.error.has_value());
  EXPECT_EQ(delivered.error->message(), "tape: cannot read: Input/output error");
  EXPECT_EQ(calls, 2);
}

TEST(Source, a_first_line_is_looked_at_and_not_taken) {
  for (const std::string& bytes : {std::string("first\nsecond\n"), test::pack_gzip("first\nsecond\n")}) {
    Source source = Source::from_memory(bytes, "memory", {.buffer_bytes = 3});
    EXPECT_EQ(source.peek_line(100).value(), "first");
    EXPECT_EQ(test::read_all(source, 2).text, "first\nsecond\n");
  }
  Source longer = Source::from_memory("first\nsecond", "memory");
  EXPECT_EQ(longer.peek_line(3).value(), "fir");
  EXPECT_EQ(test::read_all(longer, 100).text, "first\nsecond");
  Source shorter = Source::from_memory("x", "memory");
  EXPECT_EQ(shorter.peek_line(3).value(), "x");
  EXPECT_EQ(test::read_all(shorter, 100).text, "x");
  EXPECT_EQ(Source::from_memory("", "memory").peek_line(3).value(), "");
  std::string broken = test::pack_gzip("first");
  broken.resize(broken.size() - 9);
  Source cut = Source::from_memory(broken, "memory");
  EXPECT_TRUE(std::string_view("first").starts_with(cut.peek_line(100).value_or("")));
  EXPECT_TRUE(test::read_all(cut, 100).error.has_value());
}

// A line that has arrived is told at once: looking further would wait for the next one.
TEST(Source, a_first_line_is_not_held_back) {
  int reads = 0;
  Source source = Source::from_function(
      [&reads](std::span<char> into) -> Result<std::size_t> {
        ++reads;
        return std::string_view("line\n").copy(into.data(), into.size());
      },
      "pipe");
  EXPECT_EQ(source.peek_line(1000).value(), "line");
  EXPECT_LE(reads, 2);  // what is packed is found out from the first bytes
}

}  // namespace
}  // namespace mankai
