//! A folder from which no path leads out.
//!
//! Paths are walked a segment at a time, each opened from the folder before it and never through a
//! symbolic link: so what was checked is what is opened, whatever others do to the tree meanwhile.
//! Links are not followed at all, not even those that stay inside.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use rustix::{
    fd::OwnedFd,
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat},
    io::Errno,
};

use crate::error::{Error, Result};

/// Folders within folders.
const DEPTH_MAX: usize = 64;
/// Entries that are looked at for one listing.
const ENTRIES_MAX: usize = 100_000;

/// The root of a tree of files.
#[derive(Debug)]
pub(super) struct Folder {
    root: OwnedFd,
    /// Whether names that begin with a dot are there.
    pub(super) hidden: bool,
}

/// Why a file is not to be had.
#[derive(Debug)]
pub(super) enum Unread {
    /// There is no regular file under this path that may be read.
    NotFound,
    /// It has more bytes than are served.
    TooLong,
    /// The system failed.
    Failed(io::Error),
}

/// A file in a listing.
#[derive(Debug)]
pub(super) struct Listed {
    /// From the root, with slashes.
    pub(super) path: String,
    pub(super) bytes: u64,
}

impl Folder {
    /// Opens the root, which may be a symbolic link itself.
    ///
    /// # Errors
    ///
    /// [`Error::Io`] if it is not a folder that can be read.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let root = openat(CWD, path, FOLDER, Mode::empty())
            .map_err(|errno| Error::io("opening the folder of files")(errno.into()))?;
        Ok(Self {
            root,
            hidden: false,
        })
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// [`Unread`].
    pub(super) fn read(&self, path: &str, bytes_max: u64) -> std::result::Result<Vec<u8>, Unread> {
        let file = self.open_file(path).map_err(Unread::from)?;
        let file = file.ok_or(Unread::NotFound)?;
        let mut bytes = Vec::new();
        // It may grow while it is read, so that its size says nothing.
        let read = File::from(file)
            .take(bytes_max.saturating_add(1))
            .read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 > bytes_max => Err(Unread::TooLong),
            Ok(_) => Ok(bytes),
            Err(error) => Err(Unread::Failed(error)),
        }
    }

    /// The regular files, sorted, at most so many.
    pub(super) fn list(&self, files_max: usize) -> Vec<Listed> {
        let mut found = Vec::new();
        let mut folders = vec![String::new()];
        let mut entries = 0;
        while let Some(folder) = folders.pop() {
            // What cannot be listed is left out: it could not be read either.
            let Ok(Some(open)) = self.open_folder(&folder) else {
                continue;
            };
            let mut inner = Vec::new();
            for name in self.names(&open, &mut entries) {
                if found.len() >= files_max {
                    return found;
                }
                let path = format!("{folder}{name}");
                match statat(&open, name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                    Ok(stat) if is_regular(&stat) => found.push(Listed {
                        path,
                        bytes: u64::try_from(stat.st_size).unwrap_or_default(),
                    }),
                    Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
                        inner.push(path + "/");
                    }
                    _ => {}
                }
            }
            folders.extend(inner.into_iter().rev());
        }
        found
    }

    /// The names in a folder that are served, sorted.
    fn names(&self, folder: &OwnedFd, entries: &mut usize) -> Vec<String> {
        let Ok(dir) = Dir::read_from(folder) else {
            return Vec::new();
        };
        let left = ENTRIES_MAX.saturating_sub(*entries);
        let mut names: Vec<String> = dir
            .take(left)
            .inspect(|_| *entries += 1)
            .filter_map(|entry| entry.ok()?.file_name().to_str().ok().map(str::to_owned))
            .filter(|name| self.is_served(name))
            .collect();
        names.sort_unstable();
        names
    }

    fn open_file(&self, path: &str) -> std::result::Result<Option<OwnedFd>, Errno> {
        let (folder, name) = match path.rsplit_once('/') {
            Some((folder, name)) => (&path[..=folder.len()], name),
            None => ("", path),
        };
        if !self.is_served(name) {
            return Ok(None);
        }
        let Some(folder) = self.open_folder(folder)? else {
            return Ok(None);
        };
        // Looked at before it is opened, since to open a device may do something; and after, since
        // it may have become another.
        if !is_regular(&statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?) {
            return Ok(None);
        }
        let file = openat(&folder, name, FILE, Mode::empty())?;
        Ok(is_regular(&fstat(&file)?).then_some(file))
    }

    /// Opens a folder by its path, which is empty or ends with a slash.
    fn open_folder(&self, path: &str) -> std::result::Result<Option<OwnedFd>, Errno> {
        let mut open = openat(&self.root, ".", FOLDER, Mode::empty())?;
        let names = path.strip_suffix('/').map(|path| path.split('/'));
        for (depth, name) in names.into_iter().flatten().enumerate() {
            if depth >= DEPTH_MAX || !self.is_served(name) {
                return Ok(None);
            }
            open = openat(&open, name, FOLDER | OFlags::NOFOLLOW, Mode::empty())?;
        }
        Ok(Some(open))
    }

    /// Whether a segment of a path may be one: empty ones stand in absolute paths.
    fn is_served(&self, name: &str) -> bool {
        let is_hidden = name.starts_with('.');
        !matches!(name, "" | "." | "..")
            && !name.contains(['/', '\\'])
            && !name.contains(char::is_control)
            && (self.hidden || !is_hidden)
    }
}

impl From<Errno> for Unread {
    fn from(errno: Errno) -> Self {
        match errno {
            // What may not be read is not told from what is not there.
            Errno::NOENT
            | Errno::NOTDIR
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::ACCESS
            | Errno::PERM
            | Errno::INVAL
            | Errno::NXIO => Self::NotFound,
            errno => Self::Failed(errno.into()),
        }
    }
}

fn is_regular(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

const FOLDER: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::CLOEXEC);
// To open a FIFO would wait for its writer, but for `NONBLOCK`.
const FILE: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);
