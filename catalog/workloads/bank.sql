-- The tables of the article "Java vs. Go Microservices": a balance is the sum of what came in less what went out.
-- Client 0 is the bank itself, from which opening balances come; it has no row.
CREATE TABLE client (
    id    serial PRIMARY KEY,
    name  text NOT NULL,
    email text NOT NULL,
    phone text NOT NULL
);
CREATE TABLE transaction (
    id             serial PRIMARY KEY,
    from_client_id integer NOT NULL,
    to_client_id   integer NOT NULL,
    amount         integer NOT NULL
);
CREATE INDEX transaction_from ON transaction (from_client_id);
CREATE INDEX transaction_to ON transaction (to_client_id);
