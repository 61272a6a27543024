package faceoff.bank;

import java.sql.SQLException;

import org.springframework.http.HttpHeaders;
import org.springframework.http.HttpStatus;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.context.request.WebRequest;
import org.springframework.web.servlet.mvc.method.annotation.ResponseEntityExceptionHandler;

/** Gives every error the same form: its status, and that status in words. */
@RestControllerAdvice
class ErrorAnswers extends ResponseEntityExceptionHandler {

    record ErrorAnswer(String error) {
    }

    /** There was no connection, or the database refused. */
    @ExceptionHandler(SQLException.class)
    ResponseEntity<Object> databaseFailed() {
        return answer(HttpStatus.INTERNAL_SERVER_ERROR, HttpHeaders.EMPTY);
    }

    @Override
    protected ResponseEntity<Object> createResponseEntity(
            Object problem, HttpHeaders headers, HttpStatusCode status, WebRequest request) {
        return answer(status, headers);
    }

    private static ResponseEntity<Object> answer(HttpStatusCode status, HttpHeaders headers) {
        String words = HttpStatus.valueOf(status.value()).getReasonPhrase();
        return ResponseEntity.status(status)
                .headers(headers)
                .contentType(MediaType.APPLICATION_JSON)
                .body(new ErrorAnswer(words));
    }
}
