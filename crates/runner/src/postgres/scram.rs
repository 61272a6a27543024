//! SCRAM-SHA-256 (RFC 5802, RFC 7677), as PostgreSQL uses it, without channel binding.
//!
//! Both sides prove that they know the password, which is never sent. Start with [`Scram`].

use aws_lc_rs::{digest, hmac, pbkdf2};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::num::NonZeroU32;

/// The name of the mechanism.
pub(super) const NAME: &str = "SCRAM-SHA-256";
/// Maximum number of rounds. More would take seconds.
const ROUNDS_MAX: u32 = 1_000_000;

type Hash = [u8; 32];

/// A login in progress.
pub(super) struct Scram {
    password: String,
    nonce: String,
    /// The proof that the server must give at the end.
    wanted: Option<Hash>,
}

impl Scram {
    pub fn new(password: &str, nonce: &str) -> Scram {
        Scram { password: password.into(), nonce: nonce.into(), wanted: None }
    }

    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// The first message.
    pub fn first(&self) -> String {
        format!("n,,{}", self.bare())
    }

    /// The proof of knowing the password, from the server's message.
    pub fn proof(&mut self, server: &str) -> Result<String, String> {
        let field = |name: &str| {
            server
                .split(',')
                .find_map(|part| part.strip_prefix(name))
                .ok_or(format!("SCRAM without {name}"))
        };
        let nonce = field("r=")?;
        if !nonce.starts_with(&self.nonce) || nonce.len() == self.nonce.len() {
            return Err("a nonce that is not ours".into());
        }
        let salt =
            STANDARD.decode(field("s=")?).map_err(|e| format!("a salt that is no base64: {e}"))?;
        let rounds: NonZeroU32 =
            field("i=")?.parse().map_err(|_| "an impossible number of rounds")?;
        if rounds.get() > ROUNDS_MAX {
            return Err("an impossible number of rounds".into());
        }
        let salted = stretch(self.password.as_bytes(), &salt, rounds);
        let last = format!("c=biws,r={nonce}");
        let all = format!("{},{server},{last}", self.bare());
        let key = hmac(&salted, b"Client Key");
        let signature = hmac(&sha256(&key), all.as_bytes());
        let proof: Vec<u8> = key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        self.wanted = Some(hmac(&hmac(&salted, b"Server Key"), all.as_bytes()));
        Ok(format!("{last},p={}", STANDARD.encode(proof)))
    }

    /// Whether the server has proved that it knows the password as well.
    pub fn is_genuine(&self, server: &str) -> bool {
        let proved = server.strip_prefix("v=").and_then(|proof| STANDARD.decode(proof).ok());
        proved.zip(self.wanted).is_some_and(|(proved, wanted)| proved == wanted)
    }
}

/// HMAC-SHA-256 (RFC 2104).
fn hmac(key: &[u8], text: &[u8]) -> Hash {
    sized(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text).as_ref())
}

fn sha256(bytes: &[u8]) -> Hash {
    sized(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// The 32 bytes that SHA-256 always gives.
fn sized(bytes: &[u8]) -> Hash {
    bytes.try_into().expect("SHA-256 gives 32 bytes")
}

/// PBKDF2 with HMAC-SHA-256 (RFC 8018) for one block.
fn stretch(password: &[u8], salt: &[u8], rounds: NonZeroU32) -> Hash {
    let mut key = Hash::default();
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password, &mut key);
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    // RFC 7677, section 3. PostgreSQL leaves the user's name out, so only the parts without it are
    // as printed there.
    #[test]
    fn keys_of_the_standard_example_are_right() {
        let salted = stretch(
            b"pencil",
            &STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").unwrap(),
            NonZeroU32::new(4096).unwrap(),
        );
        let nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
        let first = format!("r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096");
        let all = format!("n=user,r=rOprNGfwEbeRWgbNEkqO,{first},c=biws,r={nonce}");
        let key = hmac(&salted, b"Client Key");
        let signature = hmac(&sha256(&key), all.as_bytes());
        let proof: Vec<u8> = key.iter().zip(signature).map(|(a, b)| a ^ b).collect();
        assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
        let server = hmac(&hmac(&salted, b"Server Key"), all.as_bytes());
        assert_eq!(STANDARD.encode(server), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    }

    #[test]
    fn server_without_the_password_is_rejected() {
        let mut scram = Scram::new("secret", "abc");
        assert!(!scram.is_genuine("v="), "before it began");
        assert!(scram.proof("r=abcdef,s=c2FsdA==,i=2").is_ok());
        assert!(!scram.is_genuine("v=AAAA") && !scram.is_genuine("e=other-error"));
        for wrong in [
            "",
            "r=abc,s=c2FsdA==,i=2",
            "r=xyz,s=c2FsdA==,i=2",
            "r=abcd,s=!,i=2",
            "r=abcd,s=c2FsdA==,i=0",
            "r=abcd,s=c2FsdA==,i=99999999",
        ] {
            assert!(scram.proof(wrong).is_err(), "{wrong}");
        }
    }
}
