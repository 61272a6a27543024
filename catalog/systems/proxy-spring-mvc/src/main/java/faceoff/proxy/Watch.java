package faceoff.proxy;

import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import jakarta.servlet.ServletRequest;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Checks exchanges in flight: has the upstream responded in time, is the client connected? */
@Component
class Watch {

    private final Set<Exchange> inFlight = ConcurrentHashMap.newKeySet();
    private final ProxySettings settings;

    Watch(ProxySettings settings) {
        this.settings = settings;
    }

    /** Begins to watch a request of the current thread. */
    Exchange begin(ServletRequest request) {
        Exchange exchange =
                new Exchange(this, ConnectionValve.connectionOf(request),
                settings.upstreamTimeout());
        inFlight.add(exchange);
        return exchange;
    }

    void forget(Exchange exchange) {
        inFlight.remove(exchange);
    }

    @Scheduled(fixedDelay = 250)
    void look() {
        long now = System.nanoTime();
        inFlight.forEach(exchange -> exchange.look(now));
    }
}
