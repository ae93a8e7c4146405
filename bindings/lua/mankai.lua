--- Mankai for LuaJIT and OpenResty, over libmankai.so.0. docs/nginx.md describes it.
--
--     local mankai = require "mankai"
--     local guard = assert(mankai.Guard.open("/var/lib/mankai/blocked.mkg"))
--     if guard:blocked("http://cdn.evil.example/a") then … end
--
-- Functions that open something return nil and a message after an error, as io.open does. All others raise the error: a
-- nil in place of an answer would let a blocked URL through.
local ffi = require "ffi"

-- A part of mankai/c/mankai.h; a test compiles it after that header.
ffi.cdef [[
typedef struct mankai_filter mankai_filter;
typedef struct mankai_guard mankai_guard;
typedef struct mankai_file_options mankai_file_options;
typedef struct mankai_url_parts mankai_url_parts;
typedef uint8_t mankai_guard_answer;

uint32_t mankai_abi_version(void);
const char* mankai_last_error(void);

int mankai_create(const char* spec, mankai_filter** filter);
int mankai_open_file_read(const char* path, const mankai_file_options* options, mankai_filter** filter);
int mankai_close(mankai_filter* filter);
int mankai_refresh(mankai_filter* filter, bool* is_changed);
int mankai_may_contain_one(const mankai_filter* filter, const void* key, size_t bytes, bool* outcome);
int mankai_observe_one(mankai_filter* filter, const void* key, size_t bytes, bool* seen);

int mankai_guard_open_read(const char* path, mankai_guard** guard);
int mankai_guard_close(mankai_guard* guard);
int mankai_guard_refresh(mankai_guard* guard, bool* is_changed);
int mankai_guard_check(const mankai_guard* guard, const void* url, size_t bytes, mankai_guard_answer* answer,
                       char* rule, size_t room, size_t* rule_bytes);

int mankai_url_canonicalize(const void* raw, size_t bytes, uint32_t rules, char* text, size_t room,
                            size_t* needed, mankai_url_parts* parts);
]]

local library = ffi.load("libmankai.so.0")
if library.mankai_abi_version() < 2 then
  error("libmankai.so.0 is older than this module: install both from one version of Mankai")
end

local OK, INVALID_ARGUMENT = 0, 1

-- Where the library writes its results: one call at a time, which is all that a state of Lua makes.
local flag = ffi.new("bool[1]")
local size = ffi.new("size_t[1]")
local answer = ffi.new("mankai_guard_answer[1]")
local room = 1024
local buffer = ffi.new("char[?]", room)

local function last_error()
  return ffi.string(library.mankai_last_error())
end

local function must(code)
  if code ~= OK then
    error(last_error(), 3)
  end
end

local function check_text(text, what)
  if type(text) ~= "string" then
    error(what .. " is a string, not a " .. type(text), 3)
  end
end

-- As check_text, for texts that end at a zero byte in C.
local function check_name(text, what)
  if type(text) ~= "string" or text:find("\0", 1, true) then
    error(what .. " is a string without zero bytes", 3)
  end
end

-- Makes room for size[0] bytes, and returns whether there was too little.
local function grow()
  if size[0] <= room then
    return false
  end
  room = tonumber(size[0])
  buffer = ffi.new("char[?]", room)
  return true
end

-- Returns an object whose handle is closed with it; nil and a message after an error.
local function opened(class, code, handles, close)
  if code ~= OK then
    return nil, last_error()
  end
  return setmetatable({handle = ffi.gc(handles[0], close), close_handle = close}, class)
end

local function close(object)
  local handle = object.handle
  object.handle = nil -- the library refuses NULL
  if handle ~= nil then
    must(object.close_handle(ffi.gc(handle, nil)))
  end
end

--- Is it blocked? A compiled block list, in a file that `mankai guard build` makes.
local Guard = {}
Guard.__index = Guard
Guard.close = close

--- Opens a guard's file for checks. Workers of nginx share its bytes if the master opens it (init_by_lua).
function Guard.open(path)
  check_name(path, "a path")
  local handles = ffi.new("mankai_guard*[1]")
  local code = library.mankai_guard_open_read(path, handles)
  return opened(Guard, code, handles, library.mankai_guard_close)
end

local ANSWERS = {[0] = "ok", "blocked", "allowed", "invalid"}

--- Returns "ok", "blocked", "allowed" (blocked, but an exception covers it) or "invalid" (not a URL with a host), and the
-- rule, exception or reason behind it.
function Guard:check(url)
  check_text(url, "a URL")
  repeat
    must(library.mankai_guard_check(self.handle, url, #url, answer, buffer, room, size))
  until not grow()
  return ANSWERS[answer[0]], ffi.string(buffer, size[0])
end

--- Returns whether a URL is blocked. A text that is not a URL with a host is.
function Guard:blocked(url)
  check_text(url, "a URL")
  must(library.mankai_guard_check(self.handle, url, #url, answer, nil, 0, nil))
  return answer[0] == 1 or answer[0] == 3
end

--- Reads the file again if it was replaced, and returns whether it was. After an error the guard keeps its content.
function Guard:refresh()
  must(library.mankai_guard_refresh(self.handle, flag))
  return flag[0]
end

--- A filter: has this key been added? Never a false negative, false positives with the rate that it was made for.
local Filter = {}
Filter.__index = Filter
Filter.close = close

--- Opens a filter's file for queries, while other processes may change it.
function Filter.open(path)
  check_name(path, "a path")
  local handles = ffi.new("mankai_filter*[1]")
  local code = library.mankai_open_file_read(path, nil, handles)
  return opened(Filter, code, handles, library.mankai_close)
end

--- Makes an empty filter in memory, of this worker only: "blocked-bloom:keys=1e6,fpr=0.01".
function Filter.create(spec)
  check_name(spec, "a spec")
  local handles = ffi.new("mankai_filter*[1]")
  local code = library.mankai_create(spec, handles)
  return opened(Filter, code, handles, library.mankai_close)
end

--- Returns whether a key may have been added.
function Filter:contains(key)
  check_text(key, "a key")
  must(library.mankai_may_contain_one(self.handle, key, #key, flag))
  return flag[0]
end

--- Adds a key to a filter in memory, and returns whether it was there before.
function Filter:observe(key)
  check_text(key, "a key")
  must(library.mankai_observe_one(self.handle, key, #key, flag))
  return flag[0]
end

--- Reads the file again, and returns whether it has changed. After an error the filter keeps its content.
function Filter:refresh()
  must(library.mankai_refresh(self.handle, flag))
  return flag[0]
end

local url = {}

--- Returns the one form that all spellings of a URL share; nil and a message for a text that is not a URL with a host.
function url.canonical(raw)
  check_text(raw, "a URL")
  repeat
    local code = library.mankai_url_canonicalize(raw, #raw, 0, buffer, room, size, nil)
    if code == INVALID_ARGUMENT then
      return nil, last_error()
    end
    must(code)
  until not grow()
  return ffi.string(buffer, size[0])
end

return {Guard = Guard, Filter = Filter, url = url}
