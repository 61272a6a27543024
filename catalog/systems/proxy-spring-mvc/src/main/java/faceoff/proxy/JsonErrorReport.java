package faceoff.proxy;

import java.io.IOException;

import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ErrorReportValve;
import org.springframework.http.HttpStatus;

/** Gives Tomcat's own error responses, such as for a malformed path, the form of the proxy's. */
public final class JsonErrorReport extends ErrorReportValve {

    @Override
    protected void report(Request request, Response response, Throwable failure) {
        int status = response.getStatus();
        if (status < 400 || response.getContentWritten() > 0 || !response.setErrorReported()) {
            return;
        }
        HttpStatus known = HttpStatus.resolve(status);
        try {
            ProxyHandler.refuse(response, status,
                    known == null ? "error" : known.getReasonPhrase());
            response.finishResponse();
        } catch (IOException gone) {
            // The client is gone.
        }
    }
}
