-- A guard that all requests of a worker use.
local mankai = require "mankai"

local link_guard = {}
local guard

function link_guard.open(path)
  guard = assert(mankai.Guard.open(path))
end

function link_guard.refresh_every(seconds)
  assert(ngx.timer.every(seconds, function()
    local worked, outcome = pcall(guard.refresh, guard)
    if not worked then
      ngx.log(ngx.ERR, "the list is not read again, the old one stays in use: ", outcome)
    elseif outcome then
      ngx.log(ngx.NOTICE, "the list is replaced")
    end
  end))
end

-- Ends a request whose parameter is a blocked URL (403), is missing, or occurs twice: the application might use the
-- other one (400).
function link_guard.refuse_blocked(name)
  local parameters, problem = ngx.req.get_uri_args(100)
  local url = parameters[name]
  if problem or type(url) ~= "string" then
    return ngx.exit(ngx.HTTP_BAD_REQUEST)
  end
  local answer, rule = guard:check(url)
  if answer == "invalid" then
    return ngx.exit(ngx.HTTP_BAD_REQUEST)
  end
  if answer == "blocked" then
    ngx.log(ngx.NOTICE, "blocked by ", rule)
    return ngx.exit(ngx.HTTP_FORBIDDEN)
  end
end

return link_guard
