package faceoff.proxy;

import java.io.InputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.util.Headers;

/** An upstream that records its requests. */
final class Backend implements AutoCloseable {

    /** Its response. */
    static final String BODY = "[]";

    /** One request as it arrived. */
    record Asked(String protocol, String path, String correlationId) {
    }

    private static final char[] PASSWORD = "password".toCharArray();

    private final BlockingQueue<Asked> asked = new LinkedBlockingQueue<>();
    private final String scheme;
    private final Undertow server;

    private Backend(String scheme, Undertow.Builder builder) {
        this.scheme = scheme;
        server = builder.setHandler(this::answer).build();
        server.start();
    }

    static Backend plain() {
        return new Backend("http", Undertow.builder().addHttpListener(0, "127.0.0.1"));
    }

    /** Speaks HTTP/1.1 and HTTP/2 over TLS, with the key of pets-light4j. */
    static Backend tls() throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in =
                Files.newInputStream(Path.of("../pets-light4j/config/server.keystore"))) {
            store.load(in, PASSWORD);
        }
        KeyManagerFactory keys =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, PASSWORD);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return new Backend("https", Undertow.builder().addHttpsListener(0, "127.0.0.1", context)
                .setServerOption(UndertowOptions.ENABLE_HTTP2, true));
    }

    String uri() {
        int port = ((InetSocketAddress) server.getListenerInfo().getFirst().getAddress()).getPort();
        return scheme + "://127.0.0.1:" + port;
    }

    /** Returns the next recorded request, or null if there is none. */
    Asked asked() {
        return asked.poll();
    }

    private void answer(HttpServerExchange exchange) {
        asked.add(new Asked(exchange.getProtocol().toString(),
                exchange.getRequestURI() + "?" + exchange.getQueryString(),
                exchange.getRequestHeaders().getFirst("X-Correlation-Id")));
        exchange.getResponseHeaders().put(Headers.CONTENT_TYPE, "application/json");
        exchange.getResponseSender().send(BODY);
    }

    @Override
    public void close() {
        server.stop();
    }
}
