// Very many filters of 272 bytes in one pool: bytes a filter, ns a put, a get and a copy, and the time to open.
//
//   filter_pool FOLDER [COUNT]
//
// Prints one line of TSV a measurement. The ids come in an order that looks random, so each is a line of its own in
// memory; `copy` copies as many bytes from places as far apart.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "bench/random.hpp"
#include "mankai/durable/filter_pool.hpp"
#include "mankai/filter/fading_fingerprints/fading_fingerprints.hpp"

namespace mankai::bench {
namespace {

constexpr std::uint64_t kFilters = 1'000'000;
constexpr std::uint64_t kSlots = 128;

template <class Work>
double ns_per(std::uint64_t count, const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
  return taken.count() / static_cast<double>(count);
}

void print(const char* what, double value, const char* unit) { std::printf("%s\t%.1f\t%s\n", what, value, unit); }

void fill(FilterPool& pool, FadingFingerprints& filter, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    filter.insert(Digest{random_integer(i)});
    static_cast<void>(pool.put(random_integer(i), filter).value());
  }
}

std::uint64_t read_all(const FilterPool& pool, std::uint64_t count, Trust trust) {
  std::vector<std::byte> image(pool.image_bytes());
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    static_cast<void>(pool.get(random_integer(random_integer(i) % count), image, trust).value());
    sum += std::to_integer<std::uint64_t>(image[sizeof(ImageHeader)]);
  }
  return sum;
}

void run(const std::string& path, std::uint64_t count) {
  auto filter = FadingFingerprints::create({.slots = kSlots, .k = 2, .bits = 8}).value();
  auto pool = FilterPool::create(path, filter.to_bytes()).value();
  print("put_new", ns_per(count, [&] { fill(pool, filter, count); }), "ns");
  print("put_again", ns_per(count, [&] { fill(pool, filter, count); }), "ns");
  const auto image = filter.to_bytes();
  print("put_image",
        ns_per(count,
               [&] {
                 for (std::uint64_t i = 0; i < count; ++i) {
                   static_cast<void>(pool.put(random_integer(random_integer(i) % count), image, Trust::fast).value());
                 }
               }),
        "ns");
  std::uint64_t sum = 0;
  print("get_checked", ns_per(count, [&] { sum += read_all(pool, count, Trust::checked); }), "ns");
  print("get_fast", ns_per(count, [&] { sum += read_all(pool, count, Trust::fast); }), "ns");
  const std::vector<std::byte> apart(count * pool_slot_bytes(image.size()));
  std::vector<std::byte> into(image.size());
  print("copy",
        ns_per(count,
               [&] {
                 for (std::uint64_t i = 0; i < count; ++i) {
                   const std::uint64_t place = random_integer(random_integer(i) % count) % count;
                   std::memcpy(into.data(), apart.data() + place * pool_slot_bytes(image.size()), into.size());
                   sum += std::to_integer<std::uint64_t>(into[0]);
                 }
               }),
        "ns");
  print("file", static_cast<double>(pool.file_bytes()) / static_cast<double>(count), "bytes a filter");
  print("index", static_cast<double>(pool.index_bytes()) / static_cast<double>(count), "bytes a filter");
  print("checksum_of_it_all", static_cast<double>(sum % 256), "");
}

}  // namespace
}  // namespace mankai::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: filter_pool FOLDER [COUNT]\n", stderr);
    return 2;
  }
  using namespace mankai;  // NOLINT(google-build-using-namespace)
  const std::uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : bench::kFilters;
  const std::string path = std::string(argv[1]) + "/bench.pool";
  static_cast<void>(std::remove(path.c_str()));
  bench::run(path, count);
  bench::print(
      "open",
      bench::ns_per(
          1'000'000,
          [&] { std::printf("filters\t%zu\t\n", FilterPool::open(path, FilterPool::Mode::read).value().size()); }),
      "ms");
  static_cast<void>(std::remove(path.c_str()));
}
