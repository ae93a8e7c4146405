-- Usage: luajit module_test.lua FOLDER, which has files that module_test.py made. The module is on LUA_PATH.
local mankai = require "mankai"
local folder = arg[1]

local function is(found, expected, what)
  if found ~= expected then
    error(("%s: %s instead of %s"):format(what, tostring(found), tostring(expected)), 2)
  end
end

local function refused(expected, call, ...)
  local worked, message = pcall(call, ...)
  is(worked, false, expected)
  if not tostring(message):find(expected, 1, true) then
    error(("the error is %q instead of %q"):format(tostring(message), expected), 2)
  end
end

-- A filter in memory.
local filter = assert(mankai.Filter.create("blocked-bloom:keys=1000,fpr=0.000001,seed=7"))
is(filter:observe("a\0b"), false, "first")
is(filter:observe("a\0b"), true, "again")
is(filter:contains("a\0b"), true, "contains")
is(filter:contains("a"), false, "another key")
refused("open for queries", filter.refresh, filter)
refused("a spec is a string without zero bytes", mankai.Filter.create, "bloom:keys=10\0x")
refused("a key is a string, not a number", filter.contains, filter, 1)
filter:close()
filter:close()
refused("NULL", filter.contains, filter, "a")
local none, message = mankai.Filter.create("no-such-kind")
is(none, nil, "an unknown kind")
is(type(message), "string", "its message")

-- A filter in a file, which is replaced.
filter = assert(mankai.Filter.open(folder .. "/old.mk"))
is(filter:contains("old"), true, "the old key")
is(filter:contains("new"), false, "the new key")
is(filter:refresh(), false, "an unchanged file")
refused("queries only", filter.observe, filter, "x")
assert(os.rename(folder .. "/new.mk", folder .. "/old.mk"))
is(filter:refresh(), true, "a replaced file")
is(filter:contains("old"), false, "the old key")
is(filter:contains("new"), true, "the new key")
none, message = mankai.Filter.open(folder .. "/missing.mk")
is(none, nil, "a missing file")
assert(message:find("missing.mk", 1, true), message)

-- A guard, which is replaced.
local guard = assert(mankai.Guard.open(folder .. "/old.mkg"))
local function check(url, answer, rule)
  local found, because = guard:check(url)
  is(found, answer, url)
  if rule then
    is(because, rule, url)
  end
  is(guard:blocked(url), answer == "blocked" or answer == "invalid", url)
end
check("http://cdn.EVIL.example/a", "blocked", "evil.example")
check("http://shop.example/%63art/1", "blocked", "shop.example/cart")
check("http://good.evil.example/", "allowed", "good.evil.example")
check("http://new.example/", "ok", "")
check("", "invalid")
local long = "deep.example/" .. ("a"):rep(3000)
check("http://" .. long .. "/b", "blocked", long)
refused("a URL is a string, not a nil", guard.blocked, guard, nil)
is(guard:refresh(), false, "an unchanged file")
assert(os.rename(folder .. "/new.mkg", folder .. "/old.mkg"))
is(guard:refresh(), true, "a replaced file")
check("http://cdn.evil.example/a", "ok")
check("http://new.example/", "blocked", "new.example")
assert(os.remove(folder .. "/old.mkg"))
refused("old.mkg", guard.refresh, guard)
check("http://new.example/", "blocked", "new.example")
none, message = mankai.Guard.open(folder .. "/missing.mkg")
is(none, nil, "a missing file")
assert(message:find("missing.mkg", 1, true), message)

-- Canonical URLs.
is(mankai.url.canonical("HTTP://Example.ORG:80/a/../b"), "http://example.org/b", "canonical")
is(mankai.url.canonical("http://" .. long), "http://" .. long, "a long URL")
none, message = mankai.url.canonical("http://")
is(none, nil, "a URL without a host")
is(type(message), "string", "its message")

-- Handles that are not closed are closed by the collector, and compiled loops call the same functions.
for _ = 1, 2000 do
  assert(mankai.Filter.create("blocked-bloom:keys=1000,fpr=0.01"))
end
collectgarbage()
local found = 0
for i = 1, 200000 do
  found = found + (filter:contains(i % 2 == 0 and "new" or "old") and 1 or 0)
end
is(found, 100000, "a compiled loop")
print("done")
