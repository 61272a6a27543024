package faceoff.bank;

import javax.sql.DataSource;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/** A bank on Spring MVC and plain JDBC. */
@SpringBootApplication
class BankApplication {

    /** Opens a connection for each call and closes it afterwards, instead of keeping a pool. */
    @Bean
    @ConditionalOnProperty(name = "bank.connections", havingValue = "per-call")
    DataSource openedForEachCall(DataSourceProperties settings) {
        return new DriverManagerDataSource(settings.determineUrl(), settings.determineUsername(),
                settings.determinePassword());
    }

    public static void main(String[] args) {
        SpringApplication.run(BankApplication.class, args);
    }
}
