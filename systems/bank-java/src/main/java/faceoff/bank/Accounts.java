package faceoff.bank;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;

import javax.sql.DataSource;

import org.springframework.stereotype.Repository;

/** The accounts, in PostgreSQL. A balance is what came in less what went out. */
@Repository
class Accounts {

    private static final String INSERT_CLIENT = "INSERT INTO client (name, email, phone) VALUES ('', '', '') RETURNING id";
    private static final String INSERT_TRANSACTION =
            "INSERT INTO transaction (from_client_id, to_client_id, amount) VALUES (?, ?, ?) RETURNING id";
    private static final String SELECT_BALANCE = """
            SELECT (SELECT coalesce(sum(amount), 0) FROM transaction WHERE to_client_id = ?)
                 - (SELECT coalesce(sum(amount), 0) FROM transaction WHERE from_client_id = ?)""";

    private final DataSource connections;

    Accounts(DataSource connections) {
        this.connections = connections;
    }

    /** Stores a client together with the transaction that is his opening balance. */
    Client open(int balance) throws SQLException {
        try (Connection connection = connections.getConnection()) {
            connection.setAutoCommit(false);
            try {
                int id = (int) number(connection, INSERT_CLIENT);
                number(connection, INSERT_TRANSACTION, 0, id, balance);
                connection.commit();
                return new Client(id, "", "", "");
            } catch (SQLException failed) {
                connection.rollback();
                throw failed;
            }
        }
    }

    Transaction move(Transfer transfer) throws SQLException {
        try (Connection connection = connections.getConnection()) {
            int id = (int) number(connection, INSERT_TRANSACTION, transfer.from(), transfer.to(), transfer.amount());
            return new Transaction(id, transfer.from(), transfer.to(), transfer.amount());
        }
    }

    long balance(int id) throws SQLException {
        try (Connection connection = connections.getConnection()) {
            return number(connection, SELECT_BALANCE, id, id);
        }
    }

    /** The one number that a statement gives. */
    private static long number(Connection connection, String sql, int... values) throws SQLException {
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
