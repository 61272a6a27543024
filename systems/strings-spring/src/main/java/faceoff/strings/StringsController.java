package faceoff.strings;

import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** The paths of the service. */
@RestController
class StringsController {

    private static final int MAX_SIZE = 64 << 10;
    private static final int MAX_WORK = 1000;

    record Request(String s) {
    }

    record Uppercase(String v) {
    }

    record Count(int v) {
    }

    record Generated(String s, String crc) {
    }

    record Health(String status) {
    }

    @PostMapping("/uppercase")
    Uppercase uppercase(@RequestBody Request request) {
        demand(isText(request.s()) && !request.s().isEmpty());
        return new Uppercase(Text.uppercase(request.s()));
    }

    @PostMapping("/count")
    Count count(@RequestBody Request request) {
        demand(isText(request.s()));
        return new Count(Text.count(request.s()));
    }

    @GetMapping("/api/generated/{size}")
    Generated generated(@PathVariable int size, @RequestParam(defaultValue = "1") int work) {
        demand(size >= 0 && size <= MAX_SIZE && work >= 1 && work <= MAX_WORK);
        String text = Text.generate(size);
        return new Generated(text, Text.checksum(text, work));
    }

    @GetMapping("/health")
    Health health() {
        return new Health("UP");
    }

    private static boolean isText(String text) {
        return text != null && Text.isWellFormed(text);
    }

    private static void demand(boolean right) {
        if (!right) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
        }
    }
}
