//! Where a server is, as a URL says it.

use model::name::{percent_decoded, percent_encoded};
use serde::{Deserialize, Serialize};

/// Where a server is, and who asks.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Who signs on.
    pub user: String,
    /// With what; written down nowhere.
    #[serde(skip)]
    pub password: Option<String>,
    /// The database.
    pub name: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A password stands in no message.
        write!(f, "postgres://{}@{}:{}/{}", self.user, self.host, self.port, self.name)
    }
}

impl Server {
    /// Reads `postgres://user:password@host:port/name`; without a port 5432, without a name that of the user.
    ///
    /// # Errors
    /// What is not so, without the password.
    pub fn parse(url: &str) -> Result<Server, String> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or("it does not begin with postgres://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains('@') {
            return Err("what follows its `?` holds an `@`: within a password, `?` is written %3F and `@` %40".into());
        }
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option {
                "sslmode=disable" | "sslmode=prefer" | "sslmode=allow" => {}
                _ if option.starts_with("sslmode=") => return Err("it asks for TLS, which faceoff does not speak to databases".into()),
                _ => return Err(format!("its option `{}` is not known here", option.split('=').next().unwrap_or(option))),
            }
        }
        let (place, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) = place.rsplit_once('@').ok_or("it names no user: postgres://user:password@host/name")?;
        let (user, password) = who.split_once(':').map_or((who, None), |(user, password)| (user, Some(password)));
        let (host, port) = match place.strip_prefix('[').and_then(|p| p.split_once(']')) {
            Some((host, "")) => (host, "5432"),
            Some((host, port)) => (host, port.strip_prefix(':').ok_or("what follows its host is no port")?),
            None => place.split_once(':').unwrap_or((place, "5432")),
        };
        let user = percent_decoded(user)?;
        if user.is_empty() || host.is_empty() {
            return Err("it names no user, or no host".into());
        }
        Ok(Server {
            host: host.to_owned(),
            port: port.parse().ok().filter(|port| *port > 0).ok_or("its port is no number from 1 to 65535")?,
            password: password.map(percent_decoded).transpose()?,
            name: if name.is_empty() { user.clone() } else { percent_decoded(name)? },
            user,
        })
    }

    /// The URL by which contenders find it, with the schema that is theirs.
    pub fn url(&self, schema: &str) -> String {
        let password = self.password.as_ref().map_or(String::new(), |password| format!(":{}", percent_encoded(password)));
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let (user, name) = (percent_encoded(&self.user), percent_encoded(&self.name));
        format!("postgres://{user}{password}@{host}:{}/{name}?sslmode=disable&search_path={}", self.port, percent_encoded(schema))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_and_written() {
        let server = Server::parse("postgres://an%40a:s%2Fe:c@db.local:6000/my%20bank?sslmode=disable").unwrap();
        let wanted =
            Server { host: "db.local".into(), port: 6000, user: "an@a".into(), password: Some("s/e:c".into()), name: "my bank".into() };
        assert_eq!(server, wanted);
        assert_eq!(Server::parse(&server.url("x").replace("&search_path=x", "")), Ok(wanted));
        assert!(!format!("{server:?}").contains("s/e"), "the password is not shown");
        let plain = Server::parse("postgresql://ana@[::1]").unwrap();
        assert_eq!((plain.host.as_str(), plain.port, plain.name.as_str(), plain.password), ("::1", 5432, "ana", None));
    }

    #[test]
    fn what_is_no_url_is_said() {
        for wrong in [
            "",
            "mysql://a@b/c",
            "postgres://b/c",
            "postgres://@b",
            "postgres://a@",
            "postgres://a@b:0",
            "postgres://a@b:x",
            "postgres://a%zz@b",
            "postgres://a%@b",
            "postgres://a%00@b",
            "postgres://a@[::1]x",
            "postgres://a@b?sslmode=require",
            "postgres://a@b?options=-c%20x",
        ] {
            assert!(Server::parse(wrong).is_err(), "{wrong}");
        }
        let part = Server::parse("postgres://ana:se?cret@b/c").unwrap_err();
        assert!(part.contains("%3F") && !part.contains("cret"), "no part of a password is told: {part}");
    }
}
