#include "lab/outside.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace mankai::lab {
namespace {

namespace fs = std::filesystem;

double seconds_of(clockid_t clock) {
  constexpr double kNano = 1e-9;
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

// The child's part of Program::start. Only async-signal-safe calls.
[[noreturn]] void become(const std::vector<char*>& words, const char* folder, int output) noexcept {
  constexpr int kNotStarted = 127;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (::chdir(folder) == 0 && nowhere >= 0) {
    ::dup2(nowhere, STDIN_FILENO);
    ::dup2(output, STDOUT_FILENO);
    ::dup2(nowhere, STDERR_FILENO);
    ::execv(words.front(), words.data());
  }
  ::_exit(kNotStarted);
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::create() {
  std::error_code failed;
  std::string name = (fs::temp_directory_path(failed) / "mankai-lab-XXXXXX").string();
  if (failed || mkdtemp(name.data()) == nullptr) {
    return fail(ErrorCode::io, "cannot make a temporary folder");
  }
  return TemporaryFolder(std::move(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) {
    fs::remove_all(path_, ignored);
  }
}

std::optional<std::string> Program::find(std::string_view name, std::string_view beside) {
  std::error_code failed;
  const fs::path own = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (fs::path found = own / beside / name; !failed && fs::exists(found, failed)) {
    return fs::weakly_canonical(found, failed).string();
  }
  const char* const path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe): nothing here changes the environment
  std::string_view rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t end = rest.find(':');
    std::string found = std::string(rest.substr(0, end)) + "/" + std::string(name);
    if (::access(found.c_str(), X_OK) == 0) {
      return found;
    }
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return std::nullopt;
}

Result<Program> Program::start(const std::vector<std::string>& words, const std::string& folder) {
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(
        const_cast<char*>(word.c_str()));  // NOLINT(cppcoreguidelines-pro-type-const-cast): execv's type
  }
  arguments.push_back(nullptr);
  int ends[2];  // NOLINT(cppcoreguidelines-avoid-c-arrays): pipe's type
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::io, "cannot make a pipe");
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    become(arguments, folder.c_str(), ends[1]);
  }
  ::close(ends[1]);
  Program started(pid, ends[0]);
  if (pid < 0) {
    return fail(ErrorCode::io, "cannot start " + words.front());
  }
  return started;
}

Program::~Program() {
  if (output_ >= 0) {
    ::close(output_);
  }
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    ::waitpid(pid_, nullptr, 0);
  }
}

Result<std::string> Program::read_line() const {
  std::string line;
  for (char byte = 0; ::read(output_, &byte, 1) == 1; line += byte) {
    if (byte == '\n') {
      return line;
    }
  }
  return fail(ErrorCode::io, "a program ended without a line of output");
}

Result<void> Program::wait() {
  int status = 0;
  const bool has_ended = ::waitpid(std::exchange(pid_, 0), &status, 0) > 0;
  if (!has_ended || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(ErrorCode::io, "a program failed");
  }
  return {};
}

double Program::cpu_seconds() const {
  clockid_t clock{};
  return clock_getcpuclockid(pid_, &clock) == 0 ? seconds_of(clock) : 0;
}

std::optional<std::string> find_redis_module() {
  constexpr std::string_view kFile = "mankai-redis.so";
  const auto built = Program::find(kFile, "../lib");
  return built ? built : Program::find(kFile, "../lib/mankai");
}

std::optional<std::string> find_postgresql() {
  std::error_code error;
  std::vector<std::string> found;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    if (std::filesystem::exists(version.path() / "bin" / "postgres", error)) {
      found.push_back(version.path() / "bin");
    }
  }
  return found.empty() ? std::nullopt : std::optional(*std::ranges::max_element(found));
}

double thread_cpu_seconds() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace mankai::lab
