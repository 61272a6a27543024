package faceoff.relay;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.reactive.function.client.WebClientException;
import org.springframework.web.reactive.result.method.annotation.ResponseEntityExceptionHandler;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Gives every error the same form: its status, and that status in words. */
@RestControllerAdvice
class ErrorAnswers extends ResponseEntityExceptionHandler {

    record ErrorAnswer(String error) {
    }

    /** The upstream is unreachable, aborted, too late, sent an error, or the pool is full. */
    @ExceptionHandler(WebClientException.class)
    ResponseEntity<Object> upstreamFailed() {
        return answer(HttpStatus.BAD_GATEWAY, HttpHeaders.EMPTY);
    }

    @Override
    protected Mono<ResponseEntity<Object>> createResponseEntity(
            Object problem, HttpHeaders headers, HttpStatusCode status,
            ServerWebExchange exchange) {
        return Mono.just(answer(status, headers));
    }

    private static ResponseEntity<Object> answer(HttpStatusCode status, HttpHeaders headers) {
        String words = HttpStatus.valueOf(status.value()).getReasonPhrase();
        return ResponseEntity.status(status)
                .headers(headers)
                .contentType(MediaType.APPLICATION_JSON)
                .body(new ErrorAnswer(words));
    }
}
