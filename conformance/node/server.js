// A server on Node's http and http2 with every kind of response that the load generator must read.
'use strict';
const fs = require('node:fs');
const http = require('node:http');
const http2 = require('node:http2');
const { parseArgs } = require('node:util');

const { values } = parseArgs({
  options: Object.fromEntries(['port', 'tls-port', 'h2c-port', 'cert', 'key'].map((name) => [name, { type: 'string' }])),
});

const pattern = (n) => Buffer.alloc(n, 'abcdefghijklmnopqrstuvwxyz');

/** Sends a body in up to four parts, each after the one before is written. */
function pieces(response, body, finish = () => {}) {
  response.flushHeaders();
  const size = (body.length >> 2) + 1;
  (function next(at) {
    if (at >= body.length) {
      finish();
      response.end();
    } else {
      response.write(body.subarray(at, at + size), () => next(at + size));
    }
  })(0);
}

/** Sends GOAWAY after the response. During it, with other streams open, Node 20 crashes. */
function goAway(response) {
  const { session } = response.stream;
  response.on('close', () => session.close());
}

function whole(response, body) {
  response.setHeader('Content-Length', body.length);
  response.end(body);
}

const routes = {
  length: (request, response, n) => whole(response, pattern(n)),
  chunked: (request, response, n) => pieces(response, pattern(n)),
  close(request, response, n) {
    if (request.httpVersionMajor === 1) {
      // Without either header, the body lasts until the connection closes.
      response.removeHeader('Content-Length');
      response.removeHeader('Transfer-Encoding');
    }
    pieces(response, pattern(n));
  },
  status(request, response, n) {
    // 304 has the length that a GET would have. No body follows.
    response.writeHead(n, n === 304 ? { 'Content-Length': 1000 } : {});
    response.end();
  },
  echo(request, response) {
    const parts = [];
    request.on('data', (part) => parts.push(part));
    request.on('end', () => whole(response, Buffer.concat(parts)));
  },
  trailers(request, response) {
    response.setHeader('Trailer', 'Checksum');
    pieces(response, pattern(1000), () => response.addTrailers({ Checksum: 'abc' }));
  },
  early(request, response) {
    response.writeEarlyHints({ link: '</style.css>; rel=preload; as=style' });
    whole(response, pattern(1000));
  },
  'keep-alive-off'(request, response) {
    if (request.httpVersionMajor === 1) response.setHeader('Connection', 'close');
    else goAway(response);
    whole(response, pattern(1000));
  },
};

function answer(request, response) {
  const [, route, number = '0'] = request.url.split('/');
  const n = Number(number);
  if (!Object.hasOwn(routes, route) || !Number.isInteger(n) || n < 0 || n > 10_000_000) {
    response.writeHead(404).end();
    return;
  }
  routes[route](request, response, n);
}

const certificate = { cert: fs.readFileSync(values.cert), key: fs.readFileSync(values.key) };
http.createServer(answer).listen(Number(values.port), '127.0.0.1');
http2.createServer(answer).listen(Number(values['h2c-port']), '127.0.0.1');
http2.createSecureServer({ ...certificate, allowHTTP1: true }, answer).listen(Number(values['tls-port']), '127.0.0.1');
