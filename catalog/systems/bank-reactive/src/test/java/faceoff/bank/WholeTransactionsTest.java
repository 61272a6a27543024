package faceoff.bank;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Test;
import org.springframework.transaction.ReactiveTransaction;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.reactive.TransactionalOperator;
import reactor.core.Disposable;
import reactor.core.publisher.Mono;
import reactor.core.publisher.Sinks;

/** Tests how transactions end, with a manager that only records it. */
class WholeTransactionsTest {

    private final List<String> ends = new ArrayList<>();
    private final WholeTransactions transactions =
            new WholeTransactions(TransactionalOperator.create(new Ends()));

    @Test
    void comesToItsEndThoughItsClientHangsUp() {
        Sinks.One<String> statement = Sinks.one();
        Disposable client =
                transactions.run(statement.asMono().doOnCancel(() -> ends.add("cancel")))
                .subscribe();
        client.dispose();
        assertThat(ends).isEmpty();
        statement.tryEmitValue("stored").orThrow();
        assertThat(ends).containsExactly("commit");
    }

    @Test
    void answersAfterTheCommitAndWithWhatFailed() {
        assertThat(transactions.run(Mono.just("stored")).block()).isEqualTo("stored");
        assertThat(transactions.run(Mono.empty()).block()).isNull();
        Mono<String> fails =
                transactions.run(Mono.error(new IllegalArgumentException("no such row")));
        assertThatThrownBy(fails::block).isExactlyInstanceOf(IllegalArgumentException.class)
                .hasMessage("no such row");
        assertThat(ends).containsExactly("commit", "commit", "rollback");
    }

    @Test
    void beginsNothingBeforeSomebodyAsks() {
        List<String> begun = new ArrayList<>();
        Mono<String> asked = transactions.run(Mono.fromSupplier(() -> {
            begun.add("statement");
            return "stored";
        }));
        assertThat(begun).isEmpty();
        asked.block();
        asked.block();
        assertThat(begun).hasSize(2);
    }

    private final class Ends implements ReactiveTransactionManager {

        @Override
        public Mono<ReactiveTransaction> getReactiveTransaction(TransactionDefinition definition) {
            return Mono.just(new ReactiveTransaction() {
            });
        }

        @Override
        public Mono<Void> commit(ReactiveTransaction transaction) {
            return Mono.fromRunnable(() -> ends.add("commit"));
        }

        @Override
        public Mono<Void> rollback(ReactiveTransaction transaction) {
            return Mono.fromRunnable(() -> ends.add("rollback"));
        }
    }
}
