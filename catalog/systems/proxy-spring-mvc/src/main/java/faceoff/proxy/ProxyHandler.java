package faceoff.proxy;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.Collections;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.apache.coyote.CloseNowException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpMethod;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.HttpRequestHandler;
import org.springframework.web.client.ResourceAccessException;
import org.springframework.web.client.RestClient;

/** Forwards a request to the upstream, and its response to the client. */
@Component
class ProxyHandler implements HttpRequestHandler {

    private static final int BUFFER_BYTES = 8192;

    private final URI upstream;
    private final RestClient client;
    private final Watch watch;

    ProxyHandler(ProxySettings settings, RestClient.Builder client, Watch watch) {
        this.upstream = settings.upstream();
        this.client = client.build();
        this.watch = watch;
    }

    @Override
    public void handleRequest(HttpServletRequest request, HttpServletResponse response)
            throws IOException {
        if (!Route.matches(request.getRequestURI())) {
            refuse(response, 404, "no such path");
            return;
        }
        URI uri;
        try {
            uri = Route.to(upstream, request.getRequestURI(), request.getQueryString());
        } catch (IllegalArgumentException malformed) {
            refuse(response, 400, "the path or the query is malformed");
            return;
        }
        passOn(request, uri, response);
    }

    private void passOn(HttpServletRequest request, URI uri, HttpServletResponse response)
            throws IOException {
        boolean hasBody = request.getContentLengthLong() > 0
                || request.getHeader(HttpHeaders.TRANSFER_ENCODING) != null;
        try (Exchange exchange = watch.begin(request);
                Upload upload = hasBody ? new Upload(request.getInputStream(), exchange) : null) {
            ClientHttpResponse answer;
            try {
                answer = ask(request, uri, exchange, upload);
            } catch (ResourceAccessException failure) {
                explain(failure, exchange.ended(), upload != null && upload.broken(), response);
                return;
            } catch (IllegalArgumentException malformed) {
                refuse(response, 400, "a header is malformed");
                return;
            }
            relay(answer, exchange, response);
        }
    }

    private ClientHttpResponse ask(HttpServletRequest request, URI uri, Exchange exchange,
            Upload upload) {
        HttpHeaders headers = EndToEnd.forwarded(headersOf(request), request.getRemoteAddr());
        RestClient.RequestBodySpec call = client.method(HttpMethod.valueOf(request.getMethod()))
                .uri(uri)
                .headers(sent -> sent.putAll(headers));
        if (upload == null) {
            exchange.requestSent();
        } else {
            call.body(upload);
        }
        return call.exchange((sent, answer) -> answer, false);
    }

    private static HttpHeaders headersOf(HttpServletRequest request) {
        HttpHeaders headers = new HttpHeaders();
        for (String name : Collections.list(request.getHeaderNames())) {
            headers.addAll(name, Collections.list(request.getHeaders(name)));
        }
        return headers;
    }

    private void explain(ResourceAccessException failure, Exchange.End end, boolean clientBroke,
            HttpServletResponse response) throws IOException {
        if (end == Exchange.End.CLIENT_GONE) {
            throw new CloseNowException("the client has gone");
        } else if (end == Exchange.End.TIMED_OUT
                || failure.getCause() instanceof HttpTimeoutException) {
            refuse(response, 504, "the upstream did not answer in time");
        } else if (clientBroke) {
            refuse(response, 400, "the body of the request could not be read");
        } else {
            refuse(response, 502, "the upstream could not be reached or did not answer");
        }
    }

    private void relay(ClientHttpResponse answer, Exchange exchange, HttpServletResponse response)
            throws IOException {
        // Closed here instead of by the response's close(), which first reads a body to its end,
        // and it may not end.
        try (InputStream body = answer.getBody()) {
            Exchange.End end = exchange.answered(body);
            if (end == Exchange.End.TIMED_OUT) {
                refuse(response, 504, "the upstream did not answer in time");
                return;
            } else if (end == Exchange.End.CLIENT_GONE) {
                throw new CloseNowException("the client has gone");
            }
            response.setStatus(answer.getStatusCode().value());
            HttpHeaders headers = EndToEnd.of(answer.getHeaders());
            headers.forEach((name, values) ->
                    values.forEach(value -> response.addHeader(name, value)));
            copy(body, response);
        }
    }

    /** Forwards each part of a body when no more has arrived after it. */
    private static void copy(InputStream body, HttpServletResponse response) throws IOException {
        OutputStream out = response.getOutputStream();
        byte[] buffer = new byte[BUFFER_BYTES];
        for (int length; (length = read(body, buffer, response)) >= 0;) {
            out.write(buffer, 0, length);
            if (body.available() == 0) {
                out.flush();
            }
        }
        response.flushBuffer();
    }

    private static int read(InputStream body, byte[] buffer, HttpServletResponse response)
            throws IOException {
        try {
            return body.read(buffer);
        } catch (IOException broken) {
            response.flushBuffer();
            // Aborts the client's connection, so an incomplete response does not seem complete. The
            // cause must not be passed: the framework treats "connection reset" as a client that
            // disconnected, and would end the response as if it were complete.
            throw new CloseNowException("the upstream broke off its answer");
        }
    }

    /** Responds with an error of the proxy itself. */
    static void refuse(HttpServletResponse response, int status, String error) throws IOException {
        byte[] body = ("{\"error\":\"" + error + "\"}").getBytes(StandardCharsets.UTF_8);
        response.setStatus(status);
        response.setContentType("application/json");
        response.setContentLength(body.length);
        response.getOutputStream().write(body);
        response.flushBuffer();
    }
}
