//! Writes a record: a line at a time, without secrets, each on disk before the next begins.

use record::{FILE_NAME, Header, Line};
use spec::secret;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

pub(crate) struct Writer {
    file: File,
}

impl Writer {
    /// Makes the folder and a new record in it.
    pub fn create(folder: &Path, header: &Header) -> std::io::Result<Writer> {
        std::fs::create_dir_all(folder)?;
        let file = File::options().append(true).create_new(true).open(folder.join(FILE_NAME))?;
        let mut writer = Writer { file };
        writer.write_line(&Line::Header(Box::new(header.clone())))?;
        Ok(writer)
    }

    /// Continues a record. An incomplete last line is terminated, and stays.
    pub fn append(folder: &Path) -> std::io::Result<Writer> {
        let mut file = File::options().read(true).append(true).open(folder.join(FILE_NAME))?;
        let mut last = [0];
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                file.write_all(b"\n")?;
            }
        }
        Ok(Writer { file })
    }

    pub fn write_line(&mut self, line: &Line) -> std::io::Result<()> {
        let mut bytes = if secret::is_any() {
            let mut value = serde_json::to_value(line)?;
            secret::hide(&mut value);
            serde_json::to_vec(&value)?
        } else {
            serde_json::to_vec(line)?
        };
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.file.sync_data()
    }
}
