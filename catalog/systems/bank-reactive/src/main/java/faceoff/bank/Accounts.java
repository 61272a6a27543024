package faceoff.bank;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.r2dbc.core.DatabaseClient;
import org.springframework.stereotype.Repository;
import reactor.core.publisher.Mono;

/** The accounts, in PostgreSQL. A balance is the income minus the payments. */
@Repository
class Accounts {

    private static final String INSERT_CLIENT =
            "INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id";
    private static final String INSERT_TRANSACTION =
            "INSERT INTO transaction (from_client_id, to_client_id, amount)"
                    + " VALUES ($1, $2, $3) RETURNING id";
    private static final String SELECT_BALANCE = """
            SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = $1)
                 - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = $1)""";
    private static final String LOCK_CLIENT =
            "SELECT count(*) FROM (SELECT id FROM client WHERE id = $1 FOR UPDATE) AS payer";

    private final DatabaseClient database;
    private final WholeTransactions transactions;
    private final boolean overdraft;

    Accounts(DatabaseClient database, WholeTransactions transactions,
            @Value("${bank.overdraft}") boolean overdraft) {
        this.database = database;
        this.transactions = transactions;
        this.overdraft = overdraft;
    }

    /** Stores a client together with its opening balance, a transaction. */
    Mono<Client> open(int balance) {
        Mono<Client> stored = number(INSERT_CLIENT)
                .map(Number::intValue)
                .flatMap(id -> number(INSERT_TRANSACTION, 0, id, balance)
                .thenReturn(new Client(id, "", "", "")));
        return transactions.run(stored);
    }

    /**
     * Stores a transfer; empty if overdrafts are refused and the payer has less or does not exist.
     */
    Mono<Transaction> move(Transfer transfer) {
        if (overdraft) {
            return store(transfer);
        }
        // The lock comes before the query of the balance: a statement that waits for a lock would
        // still see the earlier balance.
        Mono<Transaction> paid = number(LOCK_CLIENT, transfer.from())
                // Without a row there is no lock, and two transfers could spend the same money.
                .filter(locked -> locked.longValue() > 0)
                .flatMap(payer -> balance(transfer.from()))
                .filter(balance -> balance >= transfer.amount())
                .flatMap(enough -> store(transfer));
        return transactions.run(paid);
    }

    private Mono<Transaction> store(Transfer transfer) {
        return number(INSERT_TRANSACTION, transfer.from(), transfer.to(), transfer.amount())
                .map(id ->
                        new Transaction(id.intValue(), transfer.from(), transfer.to(),
                        transfer.amount()));
    }

    Mono<Long> balance(int id) {
        return number(SELECT_BALANCE, id).map(Number::longValue);
    }

    /** Returns the one number that a statement selects. */
    private Mono<Number> number(String sql, int... values) {
        DatabaseClient.GenericExecuteSpec statement = database.sql(sql);
        for (int at = 0; at < values.length; at++) {
            statement = statement.bind(at, values[at]);
        }
        return statement.map((row, about) -> (Number) row.get(0)).one();
    }
}
