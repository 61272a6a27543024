//! The texts of `faceoff examples` and of `faceoff` without a subcommand.

/// Examples, from common to rare.
pub const EXAMPLES: &str = "\
Compare running services; the first is the baseline:
  faceoff vs http://127.0.0.1:8080/ http://127.0.0.1:8081/
  faceoff vs go=http://127.0.0.1:8080/orders node=http://127.0.0.1:8081/orders -R 1k

Start commands, compare them, and stop them:
  faceoff vs 'go=./server --port {port}' 'node=node app.js'

Send a POST request, and ignore differences below 2 %:
  faceoff vs a=http://127.0.0.1:8080/orders b=http://127.0.0.1:8081/orders --body '{\"n\": 7}' --margin 2%

Create an experiment for two services of yours, which starts both anew in every block:
  faceoff --dir bench init
  faceoff --dir bench run node-or-python --quick

Compare your working copy with another revision, and exit with 3 if it is worse:
  faceoff run api --against main

Find the highest rate at which a service level holds:
  faceoff load --capacity 'p95<100ms and errors<0.1%' http://127.0.0.1:8080/

Check a benchmark's published table for impossible figures:
  faceoff audit results.toml";

/// What to do first: printed by `faceoff` without a subcommand.
pub const START: &str = "\
faceoff settles which of several HTTP services is faster, and by how much, on this machine.

Compare two running services:
  faceoff vs http://127.0.0.1:8080/ http://127.0.0.1:8081/

Start two commands and compare them:
  faceoff vs 'go=./server --port {port}' 'node=node app.js'

Create an experiment for two services of yours:
  faceoff --dir bench init

In a clone of faceoff, test the claim of an article again:
  faceoff list
  faceoff run reverse-proxy --quick

faceoff doctor     shows which tools are missing, and how to install them
faceoff examples   shows more examples
faceoff --help     lists all commands
";
