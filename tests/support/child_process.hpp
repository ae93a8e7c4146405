#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace mankai::test {

/// Runs `use` in a child process; returns its exit code, or -1 if a signal ended it, as after two minutes. `start` is
/// fork(), or _Fork(), which calls no handlers of pthread_atfork().
inline int in_child(const std::function<bool()>& use, pid_t (*start)() noexcept = ::fork) {
  const pid_t child = start();
  if (child == 0) {
    ::alarm(120);
    ::_exit(use() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace mankai::test
