package faceoff.delay;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;
import reactor.core.publisher.Mono;

/** Responds with {@code OK} after the milliseconds in the path. Only a timer waits meanwhile. */
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
