package faceoff.bank;

import java.util.regex.Pattern;

import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;
import reactor.core.publisher.Mono;

/** The API of the bank. */
@RestController
class Bank {

    private static final Pattern DIGITS = Pattern.compile("0*[0-9]{1,10}");

    private final Accounts accounts;

    Bank(Accounts accounts) {
        this.accounts = accounts;
    }

    @PostMapping(path = "/client/new/{balance}", produces = MediaType.APPLICATION_JSON_VALUE)
    Mono<Client> open(@PathVariable String balance) {
        return accounts.open(whole(balance, 0));
    }

    @PostMapping(path = "/transaction", produces = MediaType.APPLICATION_JSON_VALUE)
    Mono<Transaction> move(@RequestBody Mono<Transfer> asked) {
        return asked
                .filter(Transfer::isPossible)
                .switchIfEmpty(
                        Mono.error(() -> new ResponseStatusException(HttpStatus.BAD_REQUEST)))
                .flatMap(transfer -> accounts.move(transfer)
                        .switchIfEmpty(
                                Mono.error(() ->
                                        new ResponseStatusException(HttpStatus.CONFLICT))));
    }

    @GetMapping(path = "/client/{id}/balance", produces = MediaType.APPLICATION_JSON_VALUE)
    Mono<Balance> balance(@PathVariable String id) {
        return accounts.balance(whole(id, 1)).map(Balance::new);
    }

    /** Reads a whole number of digits only, between a minimum and the maximum of a column. */
    private static int whole(String text, int least) {
        if (DIGITS.matcher(text).matches()) {
            long number = Long.parseLong(text);
            if (number >= least && number <= Integer.MAX_VALUE) {
                return (int) number;
            }
        }
        throw new ResponseStatusException(HttpStatus.BAD_REQUEST);
    }
}
