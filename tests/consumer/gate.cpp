// A user's program with gates: links what follows databases, and both of their libraries.
#include <mankai/gate/database/gate_build.hpp>
#include <mankai/gate/database/gate_sync.hpp>

int main() {
  const mankai::RowSourceSettings shop{.source = "postgres:dbname=shop user=gate",
                                       .table = "baskets",
                                       .key = "cookie",
                                       .where = "items > 0",
                                       .installed = "mankai_consumer"};
  const bool is_known = mankai::open_row_source(shop).has_value();

  mankai::RowSourceSettings none = shop;
  none.source = "sqlite:nowhere/shop.db";
  const auto built = mankai::build_gate("nowhere.mk", none, {});
  auto gate = mankai::Gate::create({.keys = 100, .source_id = shop.installed});
  mankai::GateSync sync(*gate, none, {.until_caught_up = true});
  const auto synced = sync.run();
  return is_known && !built && built.error().code == mankai::ErrorCode::not_found && !synced ? 0 : 1;
}
