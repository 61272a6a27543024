//! The user's own database server, in which each trial gets a schema of ours.

use crate::postgres::{Client, Server, quoted};
use spec::secret;
use std::time::Duration;

/// The environment variable of the user's own server, as `postgres://user:password@host:port/name`.
pub const OWN_SERVER: &str = "FACEOFF_DATABASE";

/// How names of our schemas begin.
pub(super) const PREFIX: &str = "faceoff_";
/// How long a server may take to remove what a killed run left.
const REMOVED_WITHIN: Duration = Duration::from_secs(10);

/// Reads the user's own server from the environment; `None` if it names none.
///
/// # Errors
/// A value that is no URL of a database.
pub fn own_server() -> Result<Option<Server>, String> {
    match std::env::var(OWN_SERVER) {
        Ok(url) if !url.is_empty() => {
            let server = Server::parse(&url)
                .map_err(|why| format!("{OWN_SERVER} is no URL of a database: {why}"))?;
            server
                .password
                .iter()
                .for_each(|password| secret::learn(password, &format!("{{env.{OWN_SERVER}}}")));
            Ok(Some(server))
        }
        _ => Ok(None),
    }
}

/// The statement that removes a schema.
pub(super) fn removal(schema: &str) -> String {
    format!("DROP SCHEMA IF EXISTS {} CASCADE", quoted(schema))
}

/// Removes a schema of ours from the user's own server. Returns what was removed, or why it
/// remains. The password is only available if the environment still names that server.
pub(crate) fn remove_schema(
    schema: &str,
    server: &Server,
    password: bool,
) -> Result<String, String> {
    let left = |why: String| format!("the schema {schema} is left in {server:?}: {why}");
    if !schema.starts_with(PREFIX) {
        return Err(left("its name is not one of ours".into()));
    }
    let is_it = |own: &Server| Server { password: None, ..own.clone() } == *server;
    let server = match own_server().ok().flatten().filter(is_it) {
        Some(own) => own,
        None if password => {
            return Err(left(format!(
                "its password is unknown; set {OWN_SERVER} to that server's URL and run `faceoff clean` again"
            )));
        }
        None => server.clone(),
    };
    let dropped = Client::connect(&server, REMOVED_WITHIN)
        .and_then(|mut client| client.run(&removal(schema)));
    dropped.map(|_| format!("the schema {schema}")).map_err(|error| left(error.to_string()))
}
