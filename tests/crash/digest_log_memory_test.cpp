// Goal: where memory ends, a log of digests loses nothing that was committed. Method: each allocation of a batch finds
// no memory, one after the other; the log is used further, and opened again.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <new>
#include <string>

#include "mankai/seen/digest_log.hpp"
#include "tests/support/failing_memory.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

constexpr DigestLogKeys kKeys = {.first = {.kind = HashKind::xxh3, .seed = {1, 0}},
                                 .second = {.kind = HashKind::xxh3, .seed = {2, 0}}};
constexpr std::size_t kBatch = 8;
/// The second batch becomes a run.
constexpr std::size_t kRecent = 2 * kBatch;

WideDigest digest_of(std::size_t batch, std::size_t i) { return {.first = batch << 32U | i, .second = i}; }

Result<DigestLog> open(const std::string& path) { return DigestLog::open(path, kKeys, {.recent_digests = kRecent}); }

bool is_committed(DigestLog& log, std::size_t batch) {
  try {
    for (std::size_t i = 0; i < kBatch; ++i) {
      log.add(digest_of(batch, i));
    }
    return log.commit().has_value();
  } catch (const std::bad_alloc&) {
    return false;
  }
}

bool has_batch(const DigestLog& log, std::size_t batch) {
  bool has_all = true;
  for (std::size_t i = 0; i < kBatch; ++i) {
    has_all = has_all && log.contains(digest_of(batch, i));
  }
  return has_all;
}

TEST(DigestLogMemory, no_committed_batch_is_lost_when_memory_ends) {
  for (int allocation = 0;; ++allocation) {
    SCOPED_TRACE("allocation " + std::to_string(allocation));
    const TemporaryFolder folder;
    const std::string path = folder.file("seen.log");
    std::array<bool, 4> committed{};
    bool has_failed = false;
    {
      auto log = open(path);
      ASSERT_TRUE(log.has_value());
      committed[0] = is_committed(*log, 0);
      failing_allocation = allocation;
      committed[1] = is_committed(*log, 1);
      has_failed = !failing_allocation || *failing_allocation < 0;
      failing_allocation.reset();
      committed[2] = is_committed(*log, 2);
      committed[3] = is_committed(*log, 3);
      EXPECT_TRUE(committed[0] && (has_failed || (committed[1] && committed[2] && committed[3])));
    }
    const auto log = open(path);
    ASSERT_TRUE(log.has_value()) << log.error().message();
    for (std::size_t batch = 0; batch < committed.size(); ++batch) {
      EXPECT_TRUE(!committed[batch] || has_batch(*log, batch)) << batch;
    }
    if (!has_failed) {
      EXPECT_GT(allocation, 10);
      return;
    }
  }
}

}  // namespace
}  // namespace mankai::test
