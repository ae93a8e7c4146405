#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/takeover/fields.hpp"

namespace mankai::takeover::test {

using Bytes = std::vector<std::byte>;
using Field = std::variant<std::uint64_t, std::int64_t, double, Bytes>;
using FieldList = std::vector<Field>;

class ListWriter : public FieldWriter {
 public:
  void unsigned_number(std::uint64_t number) override { fields.emplace_back(number); }
  void signed_number(std::int64_t number) override { fields.emplace_back(number); }
  void real(double number) override { fields.emplace_back(number); }
  void string(std::span<const std::byte> bytes) override { fields.emplace_back(Bytes(bytes.begin(), bytes.end())); }

  FieldList fields;
};

/// Pre: the fields outlive the reader.
class ListReader : public FieldReader {
 public:
  explicit ListReader(const FieldList& fields) : rest_(fields) {}

  Result<std::uint64_t> unsigned_number() override { return next<std::uint64_t>(); }
  Result<std::int64_t> signed_number() override { return next<std::int64_t>(); }
  Result<double> real() override { return next<double>(); }
  Result<std::span<const std::byte>> string() override { return next<Bytes>(); }

 private:
  template <class T>
  Result<std::conditional_t<std::is_same_v<T, Bytes>, std::span<const std::byte>, T>> next() {
    if (rest_.empty() || !std::holds_alternative<T>(rest_.front())) {
      return fail(ErrorCode::corrupt, "no such field");
    }
    const T& field = std::get<T>(rest_.front());
    rest_ = rest_.subspan(1);
    return field;
  }

  std::span<const Field> rest_;
};

/// What `value.save` writes.
template <class Value>
FieldList fields_of(const Value& value) {
  ListWriter writer;
  value.save(writer);
  return std::move(writer.fields);
}

template <class Value>
Result<Value> value_of(const FieldList& fields, unsigned encver, const Memory& memory = system_memory()) {
  ListReader reader(fields);
  return Value::load(reader, encver, memory);
}

}  // namespace mankai::takeover::test
