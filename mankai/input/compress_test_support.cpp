#include "mankai/input/compress_test_support.hpp"

#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <vector>

#include "lab/traffic/random.hpp"
#include "mankai/base/assert.hpp"

namespace mankai::test {
namespace {

std::string deflate_all(std::string_view text, int flush) {
  z_stream stream{};
  MANKAI_ASSERT(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int outcome = deflate(&stream, flush);
  MANKAI_ASSERT(outcome == Z_OK || outcome == Z_STREAM_END);
  packed.resize(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

}  // namespace

std::string pack_gzip(std::string_view text) { return deflate_all(text, Z_FINISH); }
std::string pack_gzip_unfinished(std::string_view text) { return deflate_all(text, Z_SYNC_FLUSH); }

std::string pack_zstd(std::string_view text, int window_log) {
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, window_log == 0 ? 1 : 0);
  ZSTD_CCtx_setParameter(context, ZSTD_c_windowLog, window_log);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  ZSTD_inBuffer in{.src = text.data(), .size = text.size(), .pos = 0};
  ZSTD_outBuffer out{.dst = packed.data(), .size = packed.size(), .pos = 0};
  // The first call does not know the size yet and so keeps the window that was asked for.
  ZSTD_compressStream2(context, &out, &in, ZSTD_e_continue);
  MANKAI_ASSERT(ZSTD_compressStream2(context, &out, &in, ZSTD_e_end) == 0);
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  return packed;
}

std::string pack_xz(std::string_view text, unsigned dictionary_bytes) {
  lzma_options_lzma options{};
  lzma_lzma_preset(&options, 0);
  options.dict_size = dictionary_bytes;
  lzma_filter filters[] = {{.id = LZMA_FILTER_LZMA2, .options = &options},
                           {.id = LZMA_VLI_UNKNOWN, .options = nullptr}};
  std::string packed(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t length = 0;
  MANKAI_ASSERT(lzma_stream_buffer_encode(
                    filters, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                    reinterpret_cast<std::uint8_t*>(packed.data()), &length, packed.size()) == LZMA_OK);
  packed.resize(length);
  return packed;
}

std::string pack(Compression compression, std::string_view text) {
  switch (compression) {
    case Compression::gzip: return pack_gzip(text);
    case Compression::zstd: return pack_zstd(text);
    case Compression::xz: return pack_xz(text);
    case Compression::plain: break;
  }
  return std::string(text);
}

Delivered read_all(Source& source, std::size_t chunk_bytes) {
  Delivered delivered;
  std::vector<char> chunk(chunk_bytes);
  for (;;) {
    const Result<std::size_t> got = source.read(chunk);
    if (!got) {
      delivered.error = got.error();
      return delivered;
    }
    if (*got == 0) {
      return delivered;
    }
    delivered.text.append(chunk.data(), *got);
  }
}

Delivered read_all(std::string_view bytes, std::size_t chunk_bytes) {
  Source source = Source::from_memory(bytes, "memory", {.buffer_bytes = chunk_bytes});
  return read_all(source, chunk_bytes);
}

std::string join(std::initializer_list<std::string_view> parts) {
  std::string whole;
  for (const std::string_view part : parts) {
    whole += part;
  }
  return whole;
}

std::string random_lines(std::size_t bytes, std::uint64_t seed) {
  detail::Random random(seed);
  std::string text(bytes, '\0');
  for (char& character : text) {
    const std::uint64_t draw = random.below(64);
    character = draw == 0 ? '\n' : static_cast<char>('0' + draw);
  }
  return text;
}

}  // namespace mankai::test
