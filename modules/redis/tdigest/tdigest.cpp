/// t-digests of RedisBloom, for which there are no commands here. By default they are refused with a line in the log,
/// because a server that drops keys silently loses data; the config `t-digests` set to `carry` keeps them as they are,
/// so that a copy of the data can go back to RedisBloom.

#include <array>
#include <memory>
#include <vector>

#include "modules/redis/engine/family.hpp"
#include "modules/redis/engine/fields.hpp"
#include "modules/redis/engine/settings.hpp"

namespace mankai::redis {
namespace {

constexpr std::array kChoices = {"refuse", "carry"};
constexpr int kRefuse = 0;
constinit ChoiceSetting on_load{.names = kChoices, .initial = kRefuse};

constexpr std::uint64_t kMostCentroids = std::uint64_t{1} << 24;

/// What a key holds: the fields as they were read, which nothing here interprets. See KeyContent.
class TDigestKey {
 public:
  static constexpr std::array kFormats = {Format{.type_name = "TDIS-TYPE", .version = 0}};

  [[nodiscard]] static std::size_t format() noexcept { return 0; }

  [[nodiscard]] static Result<std::unique_ptr<TDigestKey>> load(Io* io, std::size_t /*format*/, int /*version*/) {
    if (on_load.value == kRefuse) {
      return fail(ErrorCode::unsupported_version,
                  "t-digests are not taken over: delete them on the source, or set bf.t-digests to carry");
    }
    IoReader reader(io);
    auto key = std::make_unique<TDigestKey>();
    MANKAI_TRY(key->read(reader));
    return key;
  }
  void save(Io* io) const {
    IoWriter writer(io);
    write(writer);
  }
  void rewrite(Io* io, String* name) const {
    emit_restore(emit_to(io, name), kFormats[0].type_name, kFormats[0].version,
                 [&](takeover::FieldWriter& writer) { write(writer); });
  }
  void add_to(DigestState* digest) const {
    DigestWriter writer(digest);
    write(writer);
  }
  [[nodiscard]] Result<std::unique_ptr<TDigestKey>> copy() const {
    auto key = std::make_unique<TDigestKey>();
    key->bounds_ = bounds_;
    key->counts_ = counts_;
    key->weights_ = weights_;
    key->centroids_ = centroids_;
    return key;
  }
  [[nodiscard]] static std::uint64_t alive() noexcept { return Counted<TDigestKey>::alive(); }
  [[nodiscard]] std::size_t memory_bytes() const noexcept {
    return sizeof(TDigestKey) + centroids_.capacity() * sizeof(double);
  }
  [[nodiscard]] TDigestKey* value() noexcept { return this; }
  static void relocate(const Mover& /*mover*/) noexcept {}

 private:
  Result<void> read(takeover::FieldReader& reader) {
    for (double& bound : bounds_) {
      MANKAI_ASSIGN(bound, reader.real());
    }
    for (std::uint64_t& count : counts_) {
      MANKAI_ASSIGN(count, reader.unsigned_number());
    }
    for (double& weight : weights_) {
      MANKAI_ASSIGN(weight, reader.real());
    }
    const std::uint64_t merged = counts_[1];
    if (merged > kMostCentroids) {
      return fail(ErrorCode::corrupt, "an impossible count of centroids");
    }
    // One by one, so that memory follows the payload.
    for (std::uint64_t i = 0; i < 2 * merged; ++i) {
      MANKAI_ASSIGN(const double centroid, reader.real());
      centroids_.push_back(centroid);
    }
    return {};
  }
  void write(takeover::FieldWriter& writer) const {
    for (const double bound : bounds_) {
      writer.real(bound);
    }
    for (const std::uint64_t count : counts_) {
      writer.unsigned_number(count);
    }
    for (const double weight : weights_) {
      writer.real(weight);
    }
    for (const double centroid : centroids_) {
      writer.real(centroid);
    }
  }

  std::array<double, 3> bounds_{};         // compression, minimum, maximum
  std::array<std::uint64_t, 4> counts_{};  // capacity, merged, unmerged, compressions
  std::array<double, 2> weights_{};        // merged, unmerged
  std::vector<double> centroids_;          // means, then weights
  [[no_unique_address]] Counted<TDigestKey> counted_;
};

int register_config(Context* context) noexcept { return register_setting(context, "t-digests", on_load); }

}  // namespace

MANKAI_DEFINE_FAMILY(tdigest) = {.name = "tdigest",
                                 .category = "tdigest",
                                 .type = kTypeOf<TDigestKey>,
                                 .commands = {},
                                 .keys_name = "digests",
                                 .register_settings = register_config};

}  // namespace mankai::redis
