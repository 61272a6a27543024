package faceoff.strings;

import java.util.logging.Logger;

import jakarta.ws.rs.container.ContainerRequestContext;
import jakarta.ws.rs.container.ContainerRequestFilter;
import jakarta.ws.rs.container.ContainerResponseContext;
import jakarta.ws.rs.container.ContainerResponseFilter;
import jakarta.ws.rs.container.PreMatching;

/** Logs a line for each request. */
@PreMatching
final class RequestLog implements ContainerRequestFilter, ContainerResponseFilter {

    private static final Logger LOG = Logger.getLogger(RequestLog.class.getName());
    private static final String BEGAN = RequestLog.class.getName();

    @Override
    public void filter(ContainerRequestContext request) {
        request.setProperty(BEGAN, System.nanoTime());
    }

    @Override
    public void filter(ContainerRequestContext request, ContainerResponseContext response) {
        long took = System.nanoTime() - (long) request.getProperty(BEGAN);
        String path = request.getUriInfo().getRequestUri().getRawPath();
        LOG.info(() -> request.getMethod() + " " + path + " " + response.getStatus() + " "
                + took / 1000 + " µs");
    }
}
