//! The address of a server and the login, as a URL.
//!
//! Messages and debug output never contain the password. Start with [`Server::parse`].

use serde::{Deserialize, Serialize};
use spec::name::{percent_decoded, percent_encoded};

/// The address of a server, and the login.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Server {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The password, which is never written anywhere.
    #[serde(skip)]
    pub password: Option<String>,
    /// The database.
    pub name: String,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A message must not contain a password.
        write!(f, "postgres://{}@{}:{}/{}", self.user, self.host, self.port, self.name)
    }
}

impl Server {
    /// Parses `postgres://user:password@host:port/name`. The default port is 5432, and the default
    /// name that of the user.
    ///
    /// # Errors
    /// The error, without the password.
    pub fn parse(url: &str) -> Result<Server, String> {
        let rest = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let rest = rest.ok_or("it does not begin with postgres://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        if query.contains('@') {
            return Err("the text after its `?` has an `@`; in a password, write `?` as %3F and \
                `@` as %40"
                .into());
        }
        for option in query.split('&').filter(|option| !option.is_empty()) {
            match option {
                "sslmode=disable" | "sslmode=prefer" | "sslmode=allow" => {}
                _ if option.starts_with("sslmode=") => {
                    return Err("it asks for TLS, which faceoff does not support for \
                        databases"
                        .into());
                }
                _ => {
                    return Err(format!(
                        "its option `{}` is not supported",
                        option.split('=').next().unwrap_or(option)
                    ));
                }
            }
        }
        let (place, name) = rest.split_once('/').unwrap_or((rest, ""));
        let (who, place) =
            place.rsplit_once('@').ok_or("it names no user: postgres://user:password@host/name")?;
        let (user, password) =
            who.split_once(':').map_or((who, None), |(user, password)| (user, Some(password)));
        let (host, port) = match place.strip_prefix('[').and_then(|p| p.split_once(']')) {
            Some((host, "")) => (host, "5432"),
            Some((host, port)) => {
                (host, port.strip_prefix(':').ok_or("the text after its host is no port")?)
            }
            None => place.split_once(':').unwrap_or((place, "5432")),
        };
        let user = percent_decoded(user)?;
        if user.is_empty() || host.is_empty() {
            return Err("it names no user, or no host".into());
        }
        Ok(Server {
            host: host.to_owned(),
            port: port
                .parse()
                .ok()
                .filter(|port| *port > 0)
                .ok_or("its port is no number from 1 to 65535")?,
            password: password.map(percent_decoded).transpose()?,
            name: if name.is_empty() { user.clone() } else { percent_decoded(name)? },
            user,
        })
    }

    /// The URL for contenders, with their schema.
    pub fn url(&self, schema: &str) -> String {
        let password = self
            .password
            .as_ref()
            .map_or(String::new(), |password| format!(":{}", percent_encoded(password)));
        let host =
            if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let (user, name) = (percent_encoded(&self.user), percent_encoded(&self.name));
        format!(
            "postgres://{user}{password}@{host}:{}/{name}?sslmode=disable&search_path={}",
            self.port,
            percent_encoded(schema)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_of_a_server_is_parsed_and_printed() {
        let server =
            Server::parse("postgres://an%40a:s%2Fe:c@db.local:6000/my%20bank?sslmode=disable")
                .unwrap();
        let wanted = Server {
            host: "db.local".into(),
            port: 6000,
            user: "an@a".into(),
            password: Some("s/e:c".into()),
            name: "my bank".into(),
        };
        assert_eq!(server, wanted);
        assert_eq!(Server::parse(&server.url("x").replace("&search_path=x", "")), Ok(wanted));
        assert!(!format!("{server:?}").contains("s/e"), "the password is not shown");
        let plain = Server::parse("postgresql://ana@[::1]").unwrap();
        assert_eq!(
            (plain.host.as_str(), plain.port, plain.name.as_str(), plain.password),
            ("::1", 5432, "ana", None)
        );
    }

    #[test]
    fn invalid_url_is_an_error_without_the_password() {
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
        assert!(
            part.contains("%3F") && !part.contains("cret"),
            "part of the password in the error: {part}"
        );
    }
}
