#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace mankai::test {

/// Runs `use` in a child process; returns its exit code.
inline int in_child(const std::function<bool()>& use) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(use() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace mankai::test
