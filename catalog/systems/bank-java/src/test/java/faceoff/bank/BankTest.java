package faceoff.bank;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;

/**
 * The shared tests (catalog/contracts/bank), with the address of a database that does not exist.
 */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "spring.datasource.url=jdbc:postgresql://127.0.0.1:1/none?connectTimeout=1",
    "spring.datasource.hikari.connection-timeout=250",
    "spring.datasource.hikari.initialization-fail-timeout=-1",
    "logging.level.com.zaxxer.hikari=OFF",
})
class BankTest extends BankContract {
}
