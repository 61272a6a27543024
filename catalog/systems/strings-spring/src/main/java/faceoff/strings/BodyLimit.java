package faceoff.strings;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Type;

import org.springframework.core.MethodParameter;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpInputMessage;
import org.springframework.http.HttpStatus;
import org.springframework.http.converter.HttpMessageConverter;
import org.springframework.web.bind.annotation.ControllerAdvice;
import org.springframework.web.server.ResponseStatusException;
import org.springframework.web.servlet.mvc.method.annotation.RequestBodyAdviceAdapter;

/** Refuses bodies that are too large: neither Spring MVC nor Tomcat limits a JSON body. */
@ControllerAdvice
class BodyLimit extends RequestBodyAdviceAdapter {

    private static final int MAX_BODY = 64 << 10;

    @Override
    public boolean supports(MethodParameter parameter, Type type,
            Class<? extends HttpMessageConverter<?>> converter) {
        return true;
    }

    @Override
    public HttpInputMessage beforeBodyRead(HttpInputMessage message, MethodParameter parameter,
            Type type,
            Class<? extends HttpMessageConverter<?>> converter) throws IOException {
        long length = message.getHeaders().getContentLength();
        if (length < 0) {
            return new Whole(message.getHeaders(), message.getBody().readNBytes(MAX_BODY + 1));
        }
        refuseAbove(length);
        return message;
    }

    private static void refuseAbove(long length) {
        if (length > MAX_BODY) {
            throw new ResponseStatusException(HttpStatus.CONTENT_TOO_LARGE);
        }
    }

    /** A chunked body, without its length. */
    private record Whole(HttpHeaders headers, byte[] body) implements HttpInputMessage {

        Whole {
            refuseAbove(body.length);
        }

        @Override
        public HttpHeaders getHeaders() {
            return headers;
        }

        @Override
        public InputStream getBody() {
            return new ByteArrayInputStream(body);
        }
    }
}
