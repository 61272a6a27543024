import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Map;
import org.apache.catalina.Context;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.connector.ResponseFacade;
import org.apache.catalina.startup.Tomcat;
import org.apache.coyote.http2.Http2Protocol;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SSLHostConfigCertificate;

/** The routes of README.md on embedded Tomcat. */
public final class TomcatServer {
    public static void main(String[] arguments) throws Exception {
        Options options = Options.parse(arguments);
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir("tomcat");
        tomcat.setConnector(connector(options.port()));
        Connector h2c = connector(options.h2cPort());
        h2c.addUpgradeProtocol(new Http2Protocol());
        tomcat.getService().addConnector(h2c);
        tomcat.getService().addConnector(tls(options));
        Context context = tomcat.addContext("", null);
        Tomcat.addServlet(context, "answers", new Answers());
        context.addServletMappingDecoded("/", "answers");
        tomcat.start();
        tomcat.getServer().await();
    }

    private static Connector connector(int port) {
        Connector connector = new Connector();
        connector.setPort(port);
        connector.setProperty("address", "127.0.0.1");
        // By default, Tomcat closes a connection after 100 requests. A case may send more on one of
        // its four connections.
        connector.setProperty("maxKeepAliveRequests", "-1");
        return connector;
    }

    private static Connector tls(Options options) {
        SSLHostConfig host = new SSLHostConfig();
        SSLHostConfigCertificate certificate =
                new SSLHostConfigCertificate(host, SSLHostConfigCertificate.Type.EC);
        certificate.setCertificateFile(options.cert());
        certificate.setCertificateKeyFile(options.key());
        host.addCertificate(certificate);
        Connector connector = connector(options.tlsPort());
        connector.setSecure(true);
        connector.setScheme("https");
        connector.setProperty("SSLEnabled", "true");
        connector.addSslHostConfig(host);
        connector.addUpgradeProtocol(new Http2Protocol());
        return connector;
    }

    private static final class Answers extends HttpServlet {
        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response)
                throws IOException {
            Route route = Route.of(request.getRequestURI());
            switch (route.name()) {
                case "length" -> whole(response, Route.pattern(route.number()));
                case "chunked" -> pieces(response, Route.pattern(route.number()));
                case "close" -> {
                    // Over HTTP/1.1, this makes Tomcat send no chunks.
                    close(request, response);
                    pieces(response, Route.pattern(route.number()));
                }
                case "status" -> response.setStatus(route.number());
                case "echo" -> whole(response, request.getInputStream().readAllBytes());
                case "trailers" -> {
                    response.setHeader("Trailer", "Checksum");
                    response.setTrailerFields(() -> Map.of("Checksum", "abc"));
                    pieces(response, Route.pattern(1000));
                }
                case "early" -> {
                    response.setHeader("Link", "</style.css>; rel=preload; as=style");
                    ((ResponseFacade) response).sendEarlyHints();
                    whole(response, Route.pattern(1000));
                }
                case "keep-alive-off" -> {
                    close(request, response);
                    whole(response, Route.pattern(1000));
                }
                default -> response.setStatus(404);
            }
        }

        private static void close(HttpServletRequest request, HttpServletResponse response) {
            if (request.getProtocol().equals("HTTP/1.1")) {
                response.setHeader("Connection", "close");
            }
        }

        private static void whole(HttpServletResponse response, byte[] body) throws IOException {
            response.setContentLength(body.length);
            response.getOutputStream().write(body);
        }

        private static void pieces(HttpServletResponse response, byte[] body) throws IOException {
            response.flushBuffer();
            for (byte[] piece : Route.pieces(body)) {
                response.getOutputStream().write(piece);
                response.flushBuffer();
            }
        }
    }
}
