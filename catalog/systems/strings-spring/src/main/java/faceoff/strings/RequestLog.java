package faceoff.strings;

import java.io.IOException;

import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.stereotype.Component;
import org.springframework.web.filter.OncePerRequestFilter;

/** Logs a line for each request, if enabled. */
@Component
@ConditionalOnBooleanProperty("strings.request-log")
class RequestLog extends OncePerRequestFilter {

    private static final Logger LOG = LoggerFactory.getLogger(RequestLog.class);

    @Override
    protected void doFilterInternal(HttpServletRequest request, HttpServletResponse response,
            FilterChain next)
            throws ServletException, IOException {
        long began = System.nanoTime();
        try {
            next.doFilter(request, response);
        } finally {
            long took = System.nanoTime() - began;
            LOG.info("{} {} {} {} µs", request.getMethod(), request.getRequestURI(),
                    response.getStatus(), took / 1000);
        }
    }
}
