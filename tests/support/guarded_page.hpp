#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <span>

namespace mankai::test {

/// A page's bytes between two pages that cannot be accessed.
class GuardedPage {
 public:
  GuardedPage()
      : bytes_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        mapping_(static_cast<char*>(mmap(nullptr, 3 * bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    EXPECT_NE(mapping_, MAP_FAILED);
    EXPECT_EQ(mprotect(mapping_ + bytes_, bytes_, PROT_READ | PROT_WRITE), 0);
  }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;
  GuardedPage(GuardedPage&&) = delete;
  GuardedPage& operator=(GuardedPage&&) = delete;
  ~GuardedPage() { munmap(mapping_, 3 * bytes_); }

  [[nodiscard]] std::span<char> bytes() const { return {mapping_ + bytes_, bytes_}; }

 private:
  std::size_t bytes_;
  char* mapping_;
};

}  // namespace mankai::test
