//! A database for each trial: a server on a fresh data folder, or a schema of ours in the user's
//! own server.
//!
//! Start with [`Databases`]. `fresh` starts servers, `own_server` uses the user's, `live` is a
//! database that runs.

mod folders;
mod fresh;
mod live;
mod own_server;

pub use folders::{Forgotten, forget, home};
pub use live::Database;
pub(crate) use own_server::remove_schema;
pub use own_server::{OWN_SERVER, own_server};

use crate::means::Means;
use crate::postgres::{self, Client, Server};
use fresh::Fresh;
use live::{WITHIN, fail};
use record::{Artifact, Failure};
use spec::system::Contender;
use std::path::Path;

/// Provides trials with databases.
pub struct Databases {
    source: Source,
}

enum Source {
    Fresh(Box<Fresh>),
    Own(Server),
}

impl Databases {
    /// Uses the user's own server. Connects to it and makes a schema, to show that both work.
    ///
    /// # Errors
    /// An error of the server.
    pub fn own(server: Server) -> Result<Databases, Failure> {
        let databases = Databases { source: Source::Own(server) };
        databases.own_schema().map(drop)?;
        Ok(databases)
    }

    /// Uses a built system of kind `database`. Makes its first data folder, unless it exists.
    /// `cache` has the folders unless root runs faceoff.
    ///
    /// # Errors
    /// The failure, with the last lines of the log.
    pub fn fresh(
        contender: &Contender,
        built: &[Artifact],
        cache: &Path,
        means: Means<'_>,
    ) -> Result<Databases, Failure> {
        Fresh::prepare(contender, built, cache, means)
            .map(|fresh| Databases { source: Source::Fresh(Box::new(fresh)) })
    }

    /// Starts an empty database for one trial, with a schema for the contender. `work` is for its
    /// log.
    ///
    /// # Errors
    /// The failure, with the last lines of the log.
    pub fn start(
        &self,
        cpus: &[usize],
        work: &Path,
        means: Means<'_>,
    ) -> Result<Database, Failure> {
        match &self.source {
            Source::Own(_) => self.own_schema(),
            Source::Fresh(fresh) => fresh.start(cpus, work, means),
        }
    }

    /// Whether this is the user's own server.
    pub fn is_own(&self) -> bool {
        matches!(self.source, Source::Own(_))
    }

    fn own_schema(&self) -> Result<Database, Failure> {
        let Source::Own(server) = &self.source else {
            return Err(fail("start", "there is no server of the user's own".into()));
        };
        let failed = |error: postgres::Error| fail("start", format!("{server:?}: {error}"));
        let client = Client::connect(server, WITHIN).map_err(failed)?;
        let mut database = Database::of_server(server.clone(), client);
        database.open(None).map_err(failed)?;
        Ok(database)
    }
}
