package faceoff.strings;

import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.Produces;

/** The metrics, in Prometheus format. */
@Path("metrics")
public final class MetricsResource {

    private final PrometheusMeterRegistry registry;

    MetricsResource(PrometheusMeterRegistry registry) {
        this.registry = registry;
    }

    /** Returns all metrics. */
    @GET
    @Produces("text/plain; version=0.0.4; charset=utf-8")
    public String metrics() {
        return registry.scrape();
    }
}
