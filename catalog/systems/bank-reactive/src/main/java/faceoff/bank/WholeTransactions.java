package faceoff.bank;

import org.springframework.stereotype.Component;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.publisher.Mono;

/** Transactions that finish even if the client disconnects. */
@Component
class WholeTransactions {

    private final TransactionalOperator operator;

    WholeTransactions(TransactionalOperator operator) {
        this.operator = operator;
    }

    /**
     * Runs statements in one transaction, which cannot be cancelled.
     *
     * <p>The rollback of a cancelled transaction runs concurrently with its statements, and a
     * statement that is sent after it is stored alone (Spring Framework's issue 36344).
     */
    <T> Mono<T> run(Mono<T> statements) {
        return Mono.fromFuture(() -> operator.transactional(statements).toFuture(), true);
    }
}
