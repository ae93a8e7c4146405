#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/store/shared_filter.hpp"
#include "mankai/store/store.hpp"

namespace mankai {

/// Whether a setting was requested that is not the file's.
template <class T>
[[nodiscard]] bool differs(const std::optional<T>& requested, const T& found) {
  return requested.has_value() && *requested != found;
}
/// The error for a file whose settings are not the requested ones. `how` begins with "with" or "as".
[[nodiscard]] std::unexpected<Error> created_otherwise(const std::string& path, const std::string& how);

/// A filter in memory or in a file, for classes such as Seen that offer both. Threads: one at a time.
class KeptFilter {
 public:
  using Make = std::function<Result<AnyFilter>()>;

  explicit KeptFilter(AnyFilter filter) noexcept : memory_(std::move(filter)) {}
  /// Opens the file; if it is missing, creates it with the filter that `make` returns. Errors: those of Store::open,
  /// `make` and Store::create.
  [[nodiscard]] static Result<KeptFilter> open(const std::string& path, const Make& make, const StoreOptions& options);
  /// As open, shared with other processes. Errors: those of SharedFilter::open.
  [[nodiscard]] static Result<KeptFilter> share(const std::string& path, const Make& make, const StoreOptions& options);

  [[nodiscard]] const AnyFilter& filter() const noexcept {
    return store_ ? store_->filter() : shared_ ? shared_->filter() : *memory_;
  }
  /// Exactly one of these is not nullptr.
  [[nodiscard]] AnyFilter* memory() noexcept { return memory_ ? &*memory_ : nullptr; }
  [[nodiscard]] SharedFilter* shared() noexcept { return shared_ ? &*shared_ : nullptr; }
  [[nodiscard]] const SharedFilter* shared() const noexcept { return shared_ ? &*shared_ : nullptr; }
  [[nodiscard]] Store* store() noexcept { return store_ ? &*store_ : nullptr; }
  [[nodiscard]] const Store* store() const noexcept { return store_ ? &*store_ : nullptr; }

  /// As Store's; no effect in memory. Shared, each call that changes the filter is committed when it returns. Errors of
  /// commit: also invalid_argument for a position of a shared filter.
  void begin(BatchMode mode);
  [[nodiscard]] Result<void> commit(std::string_view position);
  [[nodiscard]] Result<void> sync() { return store_ ? store_->sync() : shared_ ? shared_->sync() : Result<void>(); }
  /// Closes the store. If that discards a batch, also does the recovery that Store::close leaves to the next open.
  [[nodiscard]] Result<void> close();

 private:
  KeptFilter(Store store, std::string path, const StoreOptions& options)
      : store_(std::move(store)), path_(std::move(path)), options_(options) {}
  explicit KeptFilter(SharedFilter shared) : shared_(std::move(shared)) {}

  std::optional<AnyFilter> memory_;
  std::optional<Store> store_;
  std::optional<SharedFilter> shared_;
  std::string path_;
  StoreOptions options_;
  bool is_in_batch_ = false;
};

}  // namespace mankai
