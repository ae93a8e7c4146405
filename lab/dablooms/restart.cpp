#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "lab/dablooms/filters.hpp"
#include "lab/exact_sets.hpp"
#include "lab/parts.hpp"
#include "lab/traffic/url_generator.hpp"
#include "mankai/file/file.hpp"

namespace mankai::lab::spam {
namespace {

class Folder {
 public:
  // Errors: io.
  static Result<Folder> create() {
    std::error_code failed;
    std::string name = (std::filesystem::temp_directory_path(failed) / "mankai-lab-XXXXXX").string();
    if (failed || mkdtemp(name.data()) == nullptr) {
      return fail(ErrorCode::io, "cannot make a temporary folder");
    }
    return Folder(std::move(name));
  }
  Folder(Folder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  Folder& operator=(Folder&&) = delete;
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) {
      std::filesystem::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] std::string file(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  explicit Folder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

class Database {
 public:
  // Errors: io.
  static Result<Database> create(const std::string& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    Database made(opened);
    if (code != SQLITE_OK) {
      return fail(ErrorCode::io, "SQLite cannot open a file in the temporary folder");
    }
    MANKAI_TRY(made.run("CREATE TABLE spam (url TEXT PRIMARY KEY, added INTEGER) WITHOUT ROWID"));
    return made;
  }

  [[nodiscard]] Result<void> run(const char* statement) {
    if (sqlite3_exec(handle_.get(), statement, nullptr, nullptr, nullptr) != SQLITE_OK) {
      return failed();
    }
    return {};
  }
  [[nodiscard]] Result<void> insert(const std::vector<std::string>& urls,
                                    const std::function<std::uint64_t(std::uint64_t)>& added) {
    MANKAI_ASSIGN(auto statement, prepare("INSERT INTO spam VALUES (?, ?)"));
    sqlite3_stmt* insert = statement.get();
    MANKAI_TRY(run("BEGIN"));
    for (std::size_t i = 0; i < urls.size(); ++i) {
      bind(insert, urls[i]);
      sqlite3_bind_int64(insert, 2, static_cast<sqlite3_int64>(added(i)));
      if (sqlite3_step(insert) != SQLITE_DONE) {
        return failed();
      }
      sqlite3_reset(insert);
    }
    return run("COMMIT");
  }
  [[nodiscard]] Result<void> for_each(const std::function<void(std::string_view, std::uint64_t)>& row) {
    MANKAI_ASSIGN(auto statement, prepare("SELECT url, added FROM spam ORDER BY added"));
    int code = sqlite3_step(statement.get());
    for (; code == SQLITE_ROW; code = sqlite3_step(statement.get())) {
      row(text(statement.get()), static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), 1)));
    }
    return code == SQLITE_DONE ? Result<void>{} : failed();
  }
  // Errors: not_found; io.
  [[nodiscard]] Result<std::uint64_t> time_of(const std::string& url) {
    MANKAI_ASSIGN(auto statement, prepare("SELECT added FROM spam WHERE url = ?"));
    bind(statement.get(), url);
    if (sqlite3_step(statement.get()) != SQLITE_ROW) {
      return fail(ErrorCode::not_found, "the database does not have a URL that was inserted");
    }
    return static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), 0));
  }

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close(handle); }
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  explicit Database(sqlite3* handle) noexcept : handle_(handle) {}

  [[nodiscard]] std::unexpected<Error> failed() const {
    return fail(ErrorCode::io, std::string("SQLite: ") + sqlite3_errmsg(handle_.get()));
  }
  [[nodiscard]] Result<Statement> prepare(const char* text_of_it) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(handle_.get(), text_of_it, -1, &statement, nullptr) != SQLITE_OK) {
      return failed();
    }
    return Statement(statement);
  }
  static void bind(sqlite3_stmt* statement, const std::string& url) {
    // The string outlives the step, so SQLite need not copy it.
    sqlite3_bind_text(statement, 1, url.data(), static_cast<int>(url.size()), nullptr);
  }
  static std::string_view text(sqlite3_stmt* row) {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, 0));
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, 0))};
  }

  std::unique_ptr<sqlite3, Close> handle_;
};

Result<std::vector<std::string>> make_urls(std::uint64_t count, const Context& context) {
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.count = count, .seed = context.seed}));
  std::vector<std::string> urls(count);
  for (std::uint64_t number = 0; number < count; ++number) {
    generator.append_url(number, urls[number]);
  }
  return urls;
}

constexpr std::uint64_t kASecond = 10;
std::uint64_t time_added(std::uint64_t number) { return 1'000'000'000 + number / kASecond; }

std::uint64_t missed_among(const Ours& filter, const std::vector<std::string>& urls, const Range& range) {
  const Hasher hasher = filter.filter().hasher();
  return range.count_if([&](std::uint64_t number) { return !filter.may_contain(hasher(urls[number])); });
}

double milliseconds(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct Times {
  double hash_set = 0;
  double rebuilt = 0;
  double opened = 0;
  double urls = 0;
};

void claim_times(const Times& times, Findings& findings) {
  const std::string sizes = fmt::format(
      "On the machine, its disk and the database: here SQLite, {:.0f} URLs of 67 bytes, its file in the page "
      "cache. ",
      times.urls);
  findings.undecided({"reconstruction-is-long", sizes, times.hash_set / times.urls * 2.5e9 / 125 / 1000}, equals(NAN),
                     exact(times.hash_set));
  findings.undecided({"just-load-it", sizes, times.rebuilt, times.opened}, at_least(10),
                     exact(times.rebuilt / times.opened));
}

Result<void> remove_by_time(Database& database, const std::vector<std::string>& urls, Ours& filter,
                            Findings& findings) {
  const Range removed{.end = urls.size(), .step = 5};
  const Hasher hasher = filter.filter().hasher();
  std::uint64_t refused = 0;
  for (std::size_t i = 0; i < urls.size(); i += removed.step) {
    MANKAI_ASSIGN(const auto added, database.time_of(urls[i]));
    refused += static_cast<std::uint64_t>(filter.filter().erase(hasher(urls[i]), added) != EraseResult::erased);
  }
  findings.judged({"time-from-the-database", urls.size(), filter.filter().slice_count(), refused}, equals(0),
                  exact(missed_among(filter, urls, removed.others())));
  return {};
}

// As a restart without a file would do.
Result<Ours> rebuild(Database& database, std::uint64_t urls, const Context& context) {
  MANKAI_ASSIGN(auto filter, make_ours({.keys = urls / 8, .fpr = kRate, .growth = {.factor = 2}}, context));
  const Hasher hasher = filter.filter().hasher();
  MANKAI_TRY(database.for_each([&](std::string_view url, std::uint64_t added) { filter.insert(hasher(url), added); }));
  return filter;
}

Result<void> measure_database(const Context& context, Findings& findings) {
  MANKAI_ASSIGN(const auto urls, make_urls(context.trials(20'000, 1'000'000), context));
  MANKAI_ASSIGN(auto folder, Folder::create());
  MANKAI_ASSIGN(auto database, Database::create(folder.file("spam.sqlite")));
  MANKAI_TRY(database.insert(urls, time_added));
  Times times{.urls = static_cast<double>(urls.size())};
  Result<void> read;
  baseline::HashSet table;
  times.hash_set = milliseconds([&] {
    read = database.for_each([&table](std::string_view url, std::uint64_t /*added*/) { table.insert(url); });
  });
  Result<Ours> rebuilt = fail(ErrorCode::io, "not built");
  times.rebuilt = milliseconds([&] { rebuilt = rebuild(database, urls.size(), context); });
  if (!read || !rebuilt) {
    return read ? std::unexpected(rebuilt.error()) : read;
  }
  const std::string path = folder.file("spam.mankai");
  MANKAI_TRY(write_file(path, rebuilt->filter().to_bytes(), Existing::refuse));
  Result<ScalableCountingBloom> opened = fail(ErrorCode::io, "not opened");
  times.opened = milliseconds([&] {
    auto bytes = read_file(path);
    opened =
        bytes ? ScalableCountingBloom::from_region(std::move(*bytes), Trust::checked) : std::unexpected(bytes.error());
  });
  if (!opened) {
    return std::unexpected(opened.error());
  }
  Ours loaded(std::move(*opened), context.fault);
  findings.judged("loaded-has-them-all", equals(0), exact(missed_among(loaded, urls, {.end = urls.size()})));
  claim_times(times, findings);
  return remove_by_time(database, urls, loaded, findings);
}

constexpr Shape kSmall{.keys = 1000, .fpr = 0.05};

Result<std::vector<std::byte>> image_of_ours(const Context& context) {
  MANKAI_ASSIGN(auto filter, make_ours(kSmall, context));
  insert_members(filter, Keys(context.seed), 0, kMembers);
  return filter.filter().to_bytes();
}

bool is_refused(const std::vector<std::byte>& bytes) { return !ScalableCountingBloom::from_bytes(bytes).has_value(); }

void judge_damage(const std::string& id, const Estimate& lost, double formula, Findings& findings) {
  findings.judged(id + "-is-seen-original", equals(0), lost);
  findings.judged(id + "-loses-original", equals(formula), lost);
}

void judge_refusal(const std::string& id, const std::string& what, bool refused, Findings& findings) {
  findings.judged({"{}-is-seen-ours", id, what}, equals(1), exact(refused ? 1.0 : 0.0));
}

Result<void> measure_damage(const Context& context, Findings& findings) {
  constexpr std::size_t kZeros = 256;
  const Keys numbers(context.seed);
  MANKAI_ASSIGN(auto image, image_of_ours(context));
  auto theirs = make_theirs(kSmall, context);
  insert_members(theirs, numbers, 0, kMembers);
  Original written = theirs.filter();
  written.flush();
  const Original::Options options{.keys = kSmall.keys, .fpr = kSmall.fpr};
  const auto lost_in = [&](std::vector<std::uint8_t> file) {
    auto opened = Original::open(file, options, 1);
    opened = opened ? std::move(opened) : Original::open(file, options, 1);
    MANKAI_ASSERT(opened && opened->is_called_clean());
    return share(count_missed(Theirs(std::move(*opened), context.fault), numbers, {.end = kMembers}), kMembers);
  };
  std::vector<std::uint8_t> half = written.to_file();
  half.resize(half.size() / 2);
  judge_damage("truncation", lost_in(half), 1, findings);
  std::vector<std::uint8_t> zeroed = written.to_file();
  const auto place = static_cast<std::ptrdiff_t>(Original::kHeaderBytes + Original::kSliceHeaderBytes + 64);
  std::fill_n(zeroed.begin() + place, kZeros, std::uint8_t{0});
  judge_damage("zeroed-bytes", lost_in(zeroed), 2.0 * kZeros / static_cast<double>(written.slice(0).size), findings);
  std::vector<std::byte> short_image(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(image.size() / 2));
  short_image.resize(image.size());
  judge_refusal("truncation", "cut in half, and filled up with zeros", is_refused(short_image), findings);
  std::vector<std::byte> zeroed_image = image;
  std::fill_n(zeroed_image.begin() + static_cast<std::ptrdiff_t>(image.size() / 2), kZeros, std::byte{0});
  judge_refusal("zeroed-bytes", "256 bytes of zeros", is_refused(zeroed_image), findings);
  return {};
}

}  // namespace

Result<void> measure_restart(const Context& context, Findings& findings) {
  MANKAI_TRY(measure_database(context, findings));
  return measure_damage(context, findings);
}

}  // namespace mankai::lab::spam
