package faceoff.bank;

import org.springframework.stereotype.Component;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.publisher.Mono;

/** Transactions that come to their end although the client hangs up meanwhile. */
@Component
class WholeTransactions {

    private final TransactionalOperator operator;

    WholeTransactions(TransactionalOperator operator) {
        this.operator = operator;
    }

    /**
     * Runs statements in one transaction. Nobody can cancel it: the rollback would run beside the statements, and one that is sent after
     * it is stored alone (Spring Framework's issue 36344).
     */
    <T> Mono<T> run(Mono<T> statements) {
        return Mono.fromFuture(() -> operator.transactional(statements).toFuture(), true);
    }
}
