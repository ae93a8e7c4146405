#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "mankai/store/store.hpp"

namespace mankai {

/// A filter that one of this layer's classes keeps, in memory or in a file. Threads: one at a time.
class KeptFilter {
 public:
  using Make = std::function<Result<AnyFilter>()>;

  explicit KeptFilter(AnyFilter filter) noexcept : memory_(std::move(filter)) {}
  /// Opens the file, which is made at once of what `make` returns if it is missing. Errors: as Store::open's, `make`'s
  /// and Store::create's.
  [[nodiscard]] static Result<KeptFilter> open(const std::string& path, const Make& make, const StoreOptions& options);

  [[nodiscard]] const AnyFilter& filter() const noexcept { return store_ ? store_->filter() : *memory_; }
  /// The one of these that is there; the other one is nullptr.
  [[nodiscard]] AnyFilter* memory() noexcept { return memory_ ? &*memory_ : nullptr; }
  [[nodiscard]] Store* store() noexcept { return store_ ? &*store_ : nullptr; }
  [[nodiscard]] const Store* store() const noexcept { return store_ ? &*store_ : nullptr; }

  /// As the store's; nothing in memory.
  void begin(BatchMode mode);
  [[nodiscard]] Result<void> commit(std::string_view position);
  /// Closes the store, also where a batch is given up: then what the store leaves to the next to open is done here.
  [[nodiscard]] Result<void> close();

 private:
  KeptFilter(Store store, std::string path, const StoreOptions& options)
      : store_(std::move(store)), path_(std::move(path)), options_(options) {}

  std::optional<AnyFilter> memory_;
  std::optional<Store> store_;
  std::string path_;
  StoreOptions options_;
  bool is_in_batch_ = false;
};

}  // namespace mankai
