package faceoff.proxy;

import java.io.IOException;

import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.apache.coyote.ActionCode;

/**
 * Hands the connection behind a request on to the handler. A servlet that blocks is not told that
 * its client has gone; the connector knows, when asked.
 */
final class ConnectionValve extends ValveBase {

    private static final String ATTRIBUTE = ConnectionValve.class.getName();

    ConnectionValve() {
        super(true);
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
        request.setAttribute(ATTRIBUTE, new Connection(request.getCoyoteRequest()));
        getNext().invoke(request, response);
    }

    static Connection connectionOf(ServletRequest request) {
        return (Connection) request.getAttribute(ATTRIBUTE);
    }

    /** The client's connection during one request. Not thread-safe. */
    static final class Connection {

        private final org.apache.coyote.Request request;
        private boolean suspected;

        private Connection(org.apache.coyote.Request request) {
            this.request = request;
        }

        /**
         * Whether the client has closed its end. To be asked again and again, once the request has
         * been read to its end; never blocks.
         *
         * <p>The connector reads what there is, without waiting, into the buffer of the next
         * request. It reports the end of the stream as one available byte, every time. A pipelined
         * request, too, is reported as available, but is longer; so only one byte, twice, is the
         * end.
         */
        boolean closedByClient() {
            request.action(ActionCode.AVAILABLE, Boolean.TRUE);
            boolean end = request.getAvailable() == 1;
            boolean closed = end && suspected;
            suspected = end;
            return closed;
        }
    }
}
