package faceoff.strings;

import java.util.Locale;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

/** Gives all error responses of Spring MVC the form of the service's errors. */
@RestControllerAdvice
class Errors extends ResponseEntityExceptionHandler {

    record Refusal(String error) {
    }

    @Override
    protected ResponseEntity<Object> createResponseEntity(
            Object body, HttpHeaders headers, HttpStatusCode status, WebRequest request) {
        return ResponseEntity.status(status).headers(headers)
                .contentType(MediaType.APPLICATION_JSON)
                .body(new Refusal(name(status)));
    }

    private static String name(HttpStatusCode status) {
        if (status.isSameCodeAs(HttpStatus.CONTENT_TOO_LARGE)) {
            return "too large";
        }
        HttpStatus known = HttpStatus.resolve(status.value());
        return known == null ? "error" : known.getReasonPhrase().toLowerCase(Locale.ROOT);
    }
}
