package faceoff.proxy;

import java.net.URI;

import com.networknt.client.Http2Client;
import com.networknt.handler.ProxyHandler;
import com.networknt.proxy.ProxyConfig;

import io.undertow.UndertowOptions;
import io.undertow.server.HttpHandler;
import io.undertow.server.HttpServerExchange;
import io.undertow.server.handlers.ResponseCodeHandler;
import io.undertow.server.handlers.proxy.LoadBalancingProxyClient;

import org.xnio.OptionMap;
import org.xnio.ssl.XnioSsl;

/**
 * Forwards like light-4j's LightProxyHandler, but can offer HTTP/2 to an upstream over TLS: that
 * handler offers only HTTP/1.1, whatever {@code proxy.http2Enabled} says. Requests in the clear are
 * HTTP/1.1.
 */
public final class UpstreamHandler implements HttpHandler {

    private final ProxyHandler proxy;

    /**
     * Forwards as {@code proxy.yml} says, like the original. It offers HTTP/2 unless
     * {@code UPSTREAM_HTTP2} is false.
     */
    public UpstreamHandler() {
        ProxyConfig config = ProxyConfig.load();
        XnioSsl tls = Http2Client.getInstance().getDefaultXnioSsl();
        OptionMap offer =
                OptionMap.create(UndertowOptions.ENABLE_HTTP2,
                offersHttp2(System.getenv("UPSTREAM_HTTP2")));
        LoadBalancingProxyClient upstreams = new LoadBalancingProxyClient()
                .setConnectionsPerThread(config.getConnectionsPerThread());
        for (String host : config.getHosts().split(",")) {
            upstreams.addHost(null, URI.create(host), null, tls, offer);
        }
        proxy = ProxyHandler.builder()
                .setProxyClient(upstreams)
                .setMaxConnectionRetries(config.getMaxConnectionRetries())
                .setMaxQueueSize(config.getMaxQueueSize())
                .setMaxRequestTime(config.getMaxRequestTime())
                .setReuseXForwarded(config.isReuseXForwarded())
                .setRewriteHostHeader(config.isRewriteHostHeader())
                .setNext(ResponseCodeHandler.HANDLE_404)
                .build();
    }

    private static boolean offersHttp2(String setting) {
        return setting == null || Boolean.parseBoolean(setting);
    }

    @Override
    public void handleRequest(HttpServerExchange exchange) throws Exception {
        proxy.handleRequest(exchange);
    }
}
