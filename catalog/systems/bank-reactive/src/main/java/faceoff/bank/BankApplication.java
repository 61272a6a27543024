package faceoff.bank;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A bank on Spring WebFlux and R2DBC: a few threads serve all requests, without waiting. */
@SpringBootApplication
class BankApplication {

    public static void main(String[] args) {
        SpringApplication.run(BankApplication.class, args);
    }
}
