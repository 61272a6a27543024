package faceoff.delay;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.reactive.result.method.annotation.ResponseEntityExceptionHandler;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Gives every error the same form: its status, and that status in words. */
@RestControllerAdvice
class ErrorAnswers extends ResponseEntityExceptionHandler {

    record ErrorAnswer(String error) {
    }

    @Override
    protected Mono<ResponseEntity<Object>> createResponseEntity(
            Object problem, HttpHeaders headers, HttpStatusCode status,
            ServerWebExchange exchange) {
        String words = HttpStatus.valueOf(status.value()).getReasonPhrase();
        return Mono.just(ResponseEntity.status(status)
                .headers(headers)
                .contentType(MediaType.APPLICATION_JSON)
                .body(new ErrorAnswer(words)));
    }
}
