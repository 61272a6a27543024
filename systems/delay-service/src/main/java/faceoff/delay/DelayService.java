package faceoff.delay;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Answers {@code OK} after as many milliseconds as the path says; nothing waits meanwhile but a timer. */
@SpringBootApplication
@RestController
class DelayService {

    @GetMapping(path = "/{delay}", produces = MediaType.TEXT_PLAIN_VALUE)
    Mono<String> answer(@PathVariable Delay delay) {
        return Mono.just("OK").delayElement(delay.duration());
    }

    public static void main(String[] args) {
        SpringApplication.run(DelayService.class, args);
    }
}
