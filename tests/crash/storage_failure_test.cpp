/// The functions of mankai/file when a call to the system fails: each of their calls in its turn, in each way that
/// it can. Signals and short transfers are survived; all else is an error that says what the system said, after which
/// the file is as it was, or as it was to be, and nothing is left open or lying about.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <vector>

#include "mankai/file/file.hpp"
#include "mankai/file/mapped_file.hpp"
#include "tests/support/failing_calls.hpp"
#include "tests/support/simulated_disk.hpp"

namespace mankai::test {
namespace {

const std::string kPath = "/disk/a";
const std::string kOther = "/disk/b";
const std::string kOld(1500, 'o');
const std::string kNew(2600, 'n');

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

std::string contents(FileCalls& calls) {
  const auto read = read_file(kPath, system_memory(), calls);
  return read ? std::string(reinterpret_cast<const char*>(read->bytes().data()), read->size()) : "";
}

template <class T>
Result<void> outcome_of(const Result<T>& result) {
  return result ? Result<void>() : std::unexpected(result.error());
}

// Passes the first error on.
Result<void> all_of(std::initializer_list<std::function<Result<void>()>> steps) {
  for (const auto& step : steps) {
    if (auto done = step(); !done) {
      return done;
    }
  }
  return {};
}

struct Operation {
  std::string name;
  std::function<Result<void>(FileCalls&)> run;
  std::string result = kOld;      ///< what the file is afterwards
  bool changes_in_place = false;  ///< the file may be something else after an error
};

Result<void> with_mapped(FileCalls& calls, const std::function<Result<void>(MappedFile&)>& use) {
  auto file = MappedFile::open(kPath, MappedFile::Mode::write, calls);
  return file ? use(*file) : outcome_of(file);
}

std::vector<Operation> reading_operations() {
  return {
      {.name = "read_file",
       .run = [](FileCalls& calls) { return outcome_of(read_file(kPath, system_memory(), calls)); }},
      {.name = "read_start",
       .run =
           [](FileCalls& calls) {
             std::array<std::byte, 100> start{};
             return outcome_of(read_start(kPath, start, calls));
           }},
      {.name = "identify", .run = [](FileCalls& calls) { return outcome_of(identify(kPath, calls)); }},
      {.name = "resolve_links", .run = [](FileCalls& calls) { return outcome_of(resolve_links(kPath, calls)); }},
      {.name = "FileLock::acquire",
       .run = [](FileCalls& calls) { return outcome_of(FileLock::acquire(kPath, calls)); }},
      {.name = "sync_folder_of", .run = [](FileCalls& calls) { return sync_folder_of(kPath, calls); }},
      {.name = "MappedFile::open to read",
       .run = [](FileCalls& calls) { return outcome_of(MappedFile::open(kPath, MappedFile::Mode::read, calls)); }},
      {.name = "MappedFile::sync",
       .run = [](FileCalls& calls) { return with_mapped(calls, [](MappedFile& file) { return file.sync(); }); }},
      {.name = "MappedFile::copy_permissions",
       .run =
           [](FileCalls& calls) {
             return with_mapped(calls, [](MappedFile& file) { return file.copy_permissions(kPath); });
           }},
      {.name = "MappedFile::create and remove_file",
       .run =
           [](FileCalls& calls) {
             const auto made = outcome_of(MappedFile::create(kOther, 10'000, calls));
             return made ? remove_file(kOther, calls) : made;
           }},
  };
}

std::vector<Operation> writing_operations() {
  return {
      {.name = "write_file",
       .run = [](FileCalls& calls) { return write_file(kPath, bytes_of(kNew), Existing::replace, nullptr, calls); },
       .result = kNew},
      {.name = "write_file_parts with a lock",
       .run =
           [](FileCalls& calls) {
             auto lock = FileLock::acquire(kPath, calls);
             const std::vector<std::span<const std::byte>> parts = {bytes_of(kNew), bytes_of(kNew)};
             return lock ? write_file_parts(kPath, parts, Existing::replace, &*lock, calls) : outcome_of(lock);
           },
       .result = kNew + kNew},
      {.name = "write_file and remove_file",
       .run =
           [](FileCalls& calls) {
             return all_of({[&] { return write_file(kOther, bytes_of(kNew), Existing::refuse, nullptr, calls); },
                            [&] { return remove_file(kOther, calls); }});
           }},
      {.name = "OpenFile::write",
       .run =
           [](FileCalls& calls) {
             const auto file = OpenFile::open(kPath, OpenFile::Mode::write, calls);
             return file ? all_of({[&] { return file->write(0, bytes_of(kNew)); }, [&] { return file->sync(); }})
                         : outcome_of(file);
           },
       .result = kNew,
       .changes_in_place = true},
      {.name = "MappedFile::grow",
       .run = [](FileCalls& calls) { return with_mapped(calls, [](MappedFile& file) { return file.grow(10'000); }); },
       .result = kOld + std::string(10'000 - kOld.size(), '\0'),
       .changes_in_place = true},
      {.name = "MappedFile::truncate",
       .run = [](FileCalls& calls) { return with_mapped(calls, [](MappedFile& file) { return file.truncate(10); }); },
       .result = std::string(10, 'o')},
  };
}

std::vector<Operation> operations() {
  std::vector<Operation> all = reading_operations();
  std::ranges::move(writing_operations(), std::back_inserter(all));
  return all;
}

class Failing {
 public:
  Failing() { EXPECT_TRUE(write_file(kPath, bytes_of(kOld), Existing::refuse, nullptr, disk).has_value()); }

  SimulatedDisk disk;
  FailingCalls calls{disk};
};

// Runs with each call failing in its turn; returns how many that were.
std::size_t try_all(const Operation& operation, Failure failure,
                    const std::function<void(Failing&, Result<void>)>& check) {
  for (std::size_t number = 0;; ++number) {
    Failing tried;
    tried.calls.fail(failure, number);
    const Result<void> done = operation.run(tried.calls);
    if (!tried.calls.has_failed()) {
      EXPECT_TRUE(done.has_value()) << operation.name << ": " << done.error().message();
      return number;
    }
    SCOPED_TRACE(operation.name + ", call " + std::to_string(number) + ": " + std::string(tried.calls.failed()));
    EXPECT_EQ(tried.disk.in_use(), 0U);
    check(tried, done);
  }
}

TEST(StorageFailure, signals_and_short_transfers_are_survived) {
  std::size_t failures = 0;
  for (const Operation& operation : operations()) {
    for (const Failure failure : {Failure::interrupted, Failure::short_transfer}) {
      failures += try_all(operation, failure, [&](Failing& tried, const Result<void>& done) {
        EXPECT_TRUE(done.has_value()) << done.error().message();
        EXPECT_EQ(contents(tried.disk), operation.result);
        EXPECT_EQ(tried.disk.names(), std::vector{kPath});
      });
    }
  }
  EXPECT_GT(failures, 50U);
}

// What is left in the folder: the file, and the one that could not be removed when that is what failed.
void check_names(Failing& tried) {
  std::vector<std::string> names = tried.disk.names();
  EXPECT_TRUE(std::erase(names, kPath) == 1);
  std::erase(names, kOther);
  EXPECT_TRUE(names.empty()) << names.front() << " was left behind";
}

void check_refusal(const Operation& operation, Failure failure, Failing& tried, const Result<void>& done) {
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, failure == Failure::io ? ErrorCode::io : ErrorCode::out_of_space)
      << done.error().message();
  EXPECT_NE(done.error().os_error, 0);
  EXPECT_NE(done.error().detail.find("/disk/"), std::string::npos) << done.error().detail;
  const std::string found = contents(tried.disk);
  EXPECT_TRUE(found == kOld || found == operation.result || operation.changes_in_place);
  check_names(tried);
  // Nothing of it is in the way of trying again, but a second file that stayed.
  if (tried.disk.names().size() == 1) {
    EXPECT_TRUE(operation.run(tried.disk).has_value());
  }
}

TEST(StorageFailure, what_the_system_refuses_is_said_and_leaves_the_file_whole) {
  std::size_t failures = 0;
  for (const Operation& operation : operations()) {
    for (const Failure failure : {Failure::io, Failure::no_space}) {
      failures += try_all(operation, failure, [&](Failing& tried, const Result<void>& done) {
        check_refusal(operation, failure, tried, done);
      });
    }
  }
  EXPECT_GT(failures, 100U);
}

// From the call of this number on, all fail. Returns whether there was such a call.
bool try_broken(const Operation& operation, Failure failure, std::size_t number) {
  Failing tried;
  tried.calls.fail(failure, number, true);
  const Result<void> done = operation.run(tried.calls);
  EXPECT_EQ(tried.disk.in_use(), 0U);
  EXPECT_NE(done.has_value(), tried.calls.has_failed()) << operation.name << ", from call " << number;
  return tried.calls.has_failed();
}

// A disk that fails once mostly fails from then on, and what is to clean up fails, too.
TEST(StorageFailure, a_disk_that_is_broken_for_good_is_said) {
  for (const Operation& operation : operations()) {
    for (const Failure failure : {Failure::io, Failure::no_space}) {
      std::size_t number = 0;
      while (try_broken(operation, failure, number)) {
        ++number;
      }
    }
  }
}

}  // namespace
}  // namespace mankai::test
