package faceoff.strings;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import org.glassfish.jersey.server.monitoring.ApplicationEvent;
import org.glassfish.jersey.server.monitoring.ApplicationEventListener;
import org.glassfish.jersey.server.monitoring.RequestEvent;
import org.glassfish.jersey.server.monitoring.RequestEventListener;

/** Times requests by method, resource and status, like Jersey's extension for Micrometer. */
final class RequestTimer implements ApplicationEventListener {

    private final MeterRegistry registry;

    RequestTimer(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void onEvent(ApplicationEvent event) {
    }

    @Override
    public RequestEventListener onRequest(RequestEvent start) {
        Timer.Sample sample = Timer.start(registry);
        return event -> {
            if (event.getType() == RequestEvent.Type.FINISHED) {
                sample.stop(registry.timer("http.server.requests", "method",
                        event.getContainerRequest().getMethod(),
                        "status", status(event), "uri", resource(event)));
            }
        };
    }

    private static String status(RequestEvent event) {
        return event.getContainerResponse() == null ? "500"
                : Integer.toString(event.getContainerResponse().getStatus());
    }

    /**
     * Returns the path of the resource: any path of a client would be an unlimited number of
     * counters.
     */
    private static String resource(RequestEvent event) {
        return event.getUriInfo().getMatchedModelResource() == null ? "none" : event.getUriInfo()
                .getMatchedModelResource().getPath();
    }
}
