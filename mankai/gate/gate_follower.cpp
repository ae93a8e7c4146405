#include "mankai/gate/gate_follower.hpp"

#include <cstring>
#include <mutex>
#include <span>
#include <utility>

#include "mankai/file/new_file.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/gate/detail/gate_core.hpp"
#include "mankai/gate/gate_position.hpp"
#include "mankai/store/filter_file.hpp"

namespace mankai {
namespace {

struct Copy {
  AnyFilter filter;
  FileStamp file;
  RecoveryReport report;
  std::optional<std::uint64_t> position;
};

Result<Copy> read_copy(const std::string& path, const GateOptions& options) {
  // Before the file is read: if it is replaced in between, the next refresh finds another one.
  MANKAI_ASSIGN(const auto file, stamp_of(path));
  RecoveryReport report;
  MANKAI_ASSIGN(auto filter, open_filter(path, Access::query, options.store.trust, options.store.memory, &report));
  const auto fits = check_is_gate(filter);
  const auto position = gate_position_of(report.position);
  if (!fits || !position) {
    return std::unexpected((fits ? position.error() : fits.error()).within(path));
  }
  return Copy{.filter = std::move(filter),
              .file = file,
              .report = std::move(report),
              .position = *position ? std::optional((*position)->position) : std::nullopt};
}

bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) noexcept {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size()) == 0;
}

// A changed file with the same sequence, position and seed is a checkpoint of this gate, or another gate with a given
// seed.
bool is_same(const Copy& a, const Copy& b) {
  const auto& one = *a.filter.as<CountingBloom>();
  const auto& other = *b.filter.as<CountingBloom>();
  return a.report.sequence == b.report.sequence && a.report.position == b.report.position &&
         one.hash() == other.hash() && (a.file == b.file || are_equal(one.cells(), other.cells()));
}

}  // namespace

struct GateFollower::Impl {
  Impl(const std::string& file, const GateOptions& wanted, Copy first)
      : path(absolute_path(file)),
        options(wanted),
        copy(std::make_unique<Copy>(std::move(first))),
        core(*copy->filter.as<CountingBloom>(), options.memo_bytes) {
    core.set_position(copy->position);
  }

  std::string path;
  GateOptions options;
  std::mutex refreshing;
  std::unique_ptr<Copy> copy;
  detail::GateCore core;
};

GateFollower::GateFollower(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
GateFollower::GateFollower(GateFollower&&) noexcept = default;
GateFollower& GateFollower::operator=(GateFollower&&) noexcept = default;
GateFollower::~GateFollower() = default;

Result<GateFollower> GateFollower::open(const std::string& path, const GateOptions& options) {
  MANKAI_ASSIGN(auto copy, read_copy(path, options));
  return GateFollower(std::make_unique<Impl>(path, options, std::move(copy)));
}

Result<bool> GateFollower::refresh() {
  const std::lock_guard lock(impl_->refreshing);
  MANKAI_ASSIGN(auto read, read_copy(impl_->path, impl_->options));
  if (is_same(read, *impl_->copy)) {
    impl_->copy->file = read.file;
    return false;
  }
  auto fresh = std::make_unique<Copy>(std::move(read));
  impl_->core.exclusive([&](const CountingBloom*& filter) {
    filter = fresh->filter.as<CountingBloom>();
    impl_->core.memo().drop_all();
    impl_->core.set_position(fresh->position);
  });
  impl_->copy = std::move(fresh);
  return true;
}

GateAnswer GateFollower::maybe(std::string_view key) const noexcept { return impl_->core.maybe(key, 0); }
GateAnswer GateFollower::maybe(std::string_view key, std::uint64_t after) const noexcept {
  return impl_->core.maybe(key, after);
}
void GateFollower::report_false_positive(std::string_view key, const GateAnswer& answer) const noexcept {
  impl_->core.report(key, answer);
}
std::optional<std::uint64_t> GateFollower::position() const noexcept { return impl_->core.position(); }
GateCounts GateFollower::counts() const noexcept { return impl_->core.counts(); }
GateFacts GateFollower::facts() const { return gate_facts(*impl_->copy->filter.as<CountingBloom>()); }

}  // namespace mankai
