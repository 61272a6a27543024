package faceoff.bank;

import io.r2dbc.spi.R2dbcException;
import org.springframework.dao.DataAccessException;
import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.transaction.TransactionException;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.reactive.result.method.annotation.ResponseEntityExceptionHandler;
import org.springframework.web.server.ServerWebExchange;
import reactor.core.publisher.Mono;

/** Gives every error the same form: its status, and that status in words. */
@RestControllerAdvice
class ErrorAnswers extends ResponseEntityExceptionHandler {

    record ErrorAnswer(String error) {
    }

    /** There was no connection, or the database refused. */
    @ExceptionHandler({DataAccessException.class, R2dbcException.class, TransactionException.class})
    ResponseEntity<Object> databaseFailed() {
        return answer(HttpStatus.INTERNAL_SERVER_ERROR, HttpHeaders.EMPTY);
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
