wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
counter = 0

request = function()
  counter = counter + 1
  local path = "/orders/" .. counter
  return wrk.format("PUT", path, nil, '{"n": ' .. math.random(1, 6) .. ', "text": "${x}"}')
end

function delay()
  return math.random(10, 50)
end

function response(status, headers, body)
  if status ~= 200 then print(status) end
end
