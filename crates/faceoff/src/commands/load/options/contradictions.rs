//! Refuses options of `faceoff load` that contradict each other.

use super::Options;
use spec::problem::Problems;

/// Whether a contradiction exists, its description, and a hint.
type Rule = (bool, &'static str, &'static str);

impl Options {
    /// Refuses options that contradict each other.
    pub(super) fn refuse_contradictions(&self) -> Result<(), Problems> {
        let has_rate = self.rate.is_some() || self.arrivals.is_some();
        let (arrivals, users) = (
            has_rate
                || !self.stages.is_empty()
                || (self.capacity.is_some() && self.users.is_none()),
            self.users.is_some(),
        );
        let load = self.load_rules(arrivals, users);
        let connection = self.connection_rules(!arrivals && !users);
        let mut rules = load.into_iter().chain(connection);
        match rules.find(|(holds, ..)| *holds) {
            Some((_, what, hint)) => Err(Problems::plain(format!("{what} makes no sense"), hint)),
            None if self.timeout.is_zero() => {
                Err(Problems::plain("the timeout is zero", "give one such as --timeout 2s"))
            }
            None => Ok(()),
        }
    }

    /// Rules for the options of the load.
    fn load_rules(&self, arrivals: bool, users: bool) -> [Rule; 9] {
        [
            (
                self.arrivals.is_some() && (self.rate.is_some() || !self.stages.is_empty()),
                "--arrivals with --rate or --stages",
                "give the number of requests, or a rate",
            ),
            (
                users && arrivals,
                "--users with --rate or --stages",
                "users send requests when their pauses end: leave out the rate or the users",
            ),
            (
                users && self.connections.is_some(),
                "--users with --connections",
                "each user has a connection: leave out -c, or share connections with --pooled",
            ),
            (
                !users && self.ramp.is_some(),
                "--ramp without --users",
                "give --users, or a rising rate with --stages",
            ),
            (!users && self.pause.is_some(), "--pause without --users", "give --users"),
            (
                !users && self.rounds.is_some(),
                "--rounds without --users",
                "give --users, or limit the requests with -n",
            ),
            (
                !users && self.pooled.is_some(),
                "--pooled without --users",
                "give --users, or connections with -c",
            ),
            (!arrivals && self.poisson, "--poisson without --rate", "give a rate"),
            (!arrivals && self.shed, "--shed without --rate", "give a rate"),
        ]
    }

    /// Rules for the options of connections. `is_closed` is set for a closed load.
    fn connection_rules(&self, is_closed: bool) -> [Rule; 6] {
        [
            (
                self.http2 && self.pipeline.is_some(),
                "--pipeline with --http2",
                "use --streams for HTTP/2",
            ),
            (
                !self.http2 && self.streams.is_some(),
                "--streams without --http2",
                "add --http2, or use --pipeline",
            ),
            (
                self.http2 && self.close,
                "--close with --http2",
                "HTTP/2 keeps its connections: leave out one of the options",
            ),
            (
                self.close && self.pipeline.is_some(),
                "--close with --pipeline",
                "a connection for a single request cannot be pipelined: leave out one of the options",
            ),
            (
                !is_closed && self.pipeline.is_some(),
                "--pipeline with --rate or --users",
                "only a closed load can be pipelined: leave out --pipeline",
            ),
            (
                !is_closed && self.streams.is_some(),
                "--streams with --rate or --users",
                "streams are opened as needed: leave out --streams",
            ),
        ]
    }
}
