package faceoff.bank;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;

import javax.sql.DataSource;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.stereotype.Repository;

/** The accounts, in PostgreSQL. A balance is the income minus the payments. */
@Repository
class Accounts {

    private static final String INSERT_CLIENT =
            "INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id";
    private static final String INSERT_TRANSACTION =
            "INSERT INTO transaction (from_client_id, to_client_id, amount)"
                    + " VALUES (?, ?, ?) RETURNING id";
    private static final String SELECT_BALANCE = """
            SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = ?)
                 - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = ?)""";
    private static final String LOCK_CLIENT =
            "SELECT count(*) FROM (SELECT id FROM client WHERE id = ? FOR UPDATE) AS payer";

    private final DataSource connections;
    private final boolean overdraft;

    Accounts(DataSource connections, @Value("${bank.overdraft}") boolean overdraft) {
        this.connections = connections;
        this.overdraft = overdraft;
    }

    /** Stores a client together with its opening balance, a transaction. */
    Client open(int balance) throws SQLException {
        return together(connection -> {
            int id = (int) number(connection, INSERT_CLIENT);
            number(connection, INSERT_TRANSACTION, 0, id, balance);
            return new Client(id, "", "", "");
        });
    }

    /**
     * Stores a transfer; empty if overdrafts are refused and the payer has less or does not exist.
     */
    Optional<Transaction> move(Transfer transfer) throws SQLException {
        if (overdraft) {
            try (Connection connection = connections.getConnection()) {
                return Optional.of(store(connection, transfer));
            }
        }
        return together(connection -> {
            // The lock comes before the query of the balance: a statement that waits for a lock
            // would still see the earlier balance. Without a row there is nothing to lock, and two
            // transfers could spend the same money.
            boolean locked = number(connection, LOCK_CLIENT, transfer.from()) > 0;
            boolean affordable = locked
                    && number(connection, SELECT_BALANCE, transfer.from(),
                    transfer.from()) >= transfer.amount();
            return affordable ? Optional.of(store(connection, transfer)) : Optional.empty();
        });
    }

    long balance(int id) throws SQLException {
        try (Connection connection = connections.getConnection()) {
            return number(connection, SELECT_BALANCE, id, id);
        }
    }

    private static Transaction store(Connection connection, Transfer transfer) throws SQLException {
        int id =
                (int) number(connection, INSERT_TRANSACTION, transfer.from(), transfer.to(),
                transfer.amount());
        return new Transaction(id, transfer.from(), transfer.to(), transfer.amount());
    }

    @FunctionalInterface
    private interface Statements<T> {
        T on(Connection connection) throws SQLException;
    }

    /** Runs statements in one transaction, which is stored if none of them fails. */
    private <T> T together(Statements<T> statements) throws SQLException {
        try (Connection connection = connections.getConnection()) {
            connection.setAutoCommit(false);
            try {
                T made = statements.on(connection);
                connection.commit();
                return made;
            } catch (SQLException failed) {
                connection.rollback();
                throw failed;
            }
        }
    }

    /** Returns the one number that a statement selects. */
    private static long number(Connection connection, String sql, int... values)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int at = 0; at < values.length; at++) {
                statement.setInt(at + 1, values[at]);
            }
            try (ResultSet result = statement.executeQuery()) {
                if (!result.next()) {
                    throw new SQLException("no row: " + sql);
                }
                return result.getLong(1);
            }
        }
    }
}
