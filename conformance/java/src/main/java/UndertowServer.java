import io.undertow.Undertow;
import io.undertow.UndertowOptions;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.BlockingHandler;
import io.undertow.server.protocol.http.HttpAttachments;
import io.undertow.util.HeaderMap;
import io.undertow.util.Headers;
import io.undertow.util.HttpString;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;

/** The routes of README.md on Undertow. */
public final class UndertowServer {
    public static void main(String[] arguments) throws Exception {
        Options options = Options.parse(arguments);
        Undertow.builder()
                .setServerOption(UndertowOptions.ENABLE_HTTP2, true)
                .addHttpListener(options.port(), "127.0.0.1")
                .addHttpListener(options.h2cPort(), "127.0.0.1")
                .addHttpsListener(options.tlsPort(), "127.0.0.1", tls(options))
                .setHandler(new BlockingHandler(UndertowServer::answer))
                .build()
                .start();
    }

    private static void answer(HttpServerExchange exchange) throws IOException {
        Route route = Route.of(exchange.getRequestPath());
        switch (route.name()) {
            case "length" -> whole(exchange, Route.pattern(route.number()));
            case "chunked" -> pieces(exchange, Route.pattern(route.number()));
            case "close" -> {
                exchange.setPersistent(false);
                pieces(exchange, Route.pattern(route.number()));
            }
            case "status" -> exchange.setStatusCode(route.number());
            case "echo" -> whole(exchange, exchange.getInputStream().readAllBytes());
            case "trailers" -> {
                HeaderMap trailers = new HeaderMap().put(new HttpString("Checksum"), "abc");
                exchange.getResponseHeaders().put(Headers.TRAILER, "Checksum");
                exchange.putAttachment(HttpAttachments.RESPONSE_TRAILERS, trailers);
                pieces(exchange, Route.pattern(1000));
            }
            case "keep-alive-off" -> {
                exchange.setPersistent(false);
                whole(exchange, Route.pattern(1000));
            }
            default -> exchange.setStatusCode(404);
        }
    }

    private static void whole(HttpServerExchange exchange, byte[] body) throws IOException {
        exchange.setResponseContentLength(body.length);
        exchange.getOutputStream().write(body);
    }

    private static void pieces(HttpServerExchange exchange, byte[] body) throws IOException {
        OutputStream out = exchange.getOutputStream();
        out.flush();
        for (byte[] piece : Route.pieces(body)) {
            out.write(piece);
            out.flush();
        }
    }

    private static SSLContext tls(Options options) throws Exception {
        String pem = Files.readString(Path.of(options.key()))
                .replaceAll("-----[A-Z ]+-----|\\s", "");
        PrivateKey key = KeyFactory.getInstance("EC")
                .generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
        Certificate[] chain;
        try (FileInputStream file = new FileInputStream(options.cert())) {
            chain = CertificateFactory.getInstance("X.509").generateCertificates(file)
                    .toArray(new Certificate[0]);
        }
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        store.setKeyEntry("server", key, new char[0], chain);
        KeyManagerFactory keys =
                KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(store, new char[0]);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        return context;
    }
}
