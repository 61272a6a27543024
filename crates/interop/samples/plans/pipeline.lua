-- so many requests at once, as many as its second argument says
init = function(args)
  local uri = args[1] or "/pets"
  local depth = tonumber(args[2]) or 16
  local all = {}
  for i = 1, depth do
    all[i] = wrk.format(nil, uri)
  end
  req = table.concat(all)
end

wrk.headers["J-Tenant-Id"] = "1007"

request = function()
  return req
end
