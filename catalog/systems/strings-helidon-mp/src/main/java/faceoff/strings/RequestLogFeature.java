package faceoff.strings;

import jakarta.ws.rs.core.Feature;
import jakarta.ws.rs.core.FeatureContext;
import jakarta.ws.rs.ext.Provider;

/** Enables a log line for each request if the property {@code request-log} is true. */
@Provider
public class RequestLogFeature implements Feature {

    @Override
    public boolean configure(FeatureContext context) {
        if (Boolean.getBoolean("request-log")) {
            context.register(new RequestLog());
        }
        return true;
    }
}
