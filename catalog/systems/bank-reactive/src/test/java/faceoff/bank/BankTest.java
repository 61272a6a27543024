package faceoff.bank;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;

/**
 * The shared tests (catalog/contracts/bank), with the address of a database that does not exist.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "spring.r2dbc.url=r2dbc:postgresql://127.0.0.1:1/none",
    "spring.r2dbc.username=bank",
})
class BankTest extends BankContract {
}
