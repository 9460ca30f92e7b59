//! Paths, read without looking at any disk.
//!
//! `..` is undone by name alone, and only below the working folder. A link can still lead elsewhere, which the text does not show.
//! A text with two readings is refused.

/// Folders of a path that make its context.
const CONTEXT_FOLDERS: usize = 2;

/// The reason for which a path cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathError {
    /// It leaves the working folder by `..`.
    Leaves,
    /// It is empty, or can be read in two ways.
    Unreadable,
}

/// A path without `.` and `..`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CleanPath {
    /// The beginning of its steps: the working folder, the root, or a folder elsewhere.
    base: Base,
    steps: Vec<String>,
    /// `true` if it says itself that it is a folder.
    is_folder: bool,
    /// The working folder, where it is known.
    cwd: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Base {
    WorkingFolder,
    Root,
    /// A name that a shell or a program puts a folder in the place of: `~`, `$HOME`.
    Elsewhere,
}

/// Reads a path.
pub(super) fn read_path(text: &str, cwd: Option<&str>) -> Result<CleanPath, PathError> {
    let cwd = match cwd {
        Some(cwd) => Some(absolute_steps(cwd)?),
        None => None,
    };
    let (text, is_absolute) = plain(text, cwd.as_deref().is_some_and(|cwd| is_drive(cwd.first())))?;
    let is_folder = matches!(text.rsplit('/').next(), Some("" | "." | ".."));
    let steps = text.split('/').filter(|step| !step.is_empty() && *step != ".");
    let first = text.split('/').next().unwrap_or_default();
    let mut clean = if is_absolute {
        absolute(steps, cwd.as_deref().unwrap_or_default())?
    } else {
        let mut own: Vec<String> = Vec::new();
        for step in steps {
            if step != ".." {
                own.push(step.to_owned());
            } else if own.pop().is_none() {
                return Err(PathError::Leaves);
            }
        }
        let is_elsewhere = first.starts_with(['~', '$', '%']);
        if is_elsewhere && text.split('/').any(|step| step == "..") {
            return Err(PathError::Leaves);
        }
        let base = if is_elsewhere { Base::Elsewhere } else { Base::WorkingFolder };
        CleanPath { base, steps: own, is_folder: false, cwd: None }
    };
    clean.is_folder = is_folder;
    clean.cwd = cwd;
    Ok(clean)
}

/// Cleans a working folder for comparisons: from the root on, without `.` and a `/` at its end. `None` where it is no absolute
/// path.
pub(crate) fn clean_folder(cwd: &str) -> Option<String> {
    absolute_steps(cwd).ok().map(|steps| rooted(&steps.join("/")))
}

/// Returns `true` if a path lies in the working folder, as far as that can be told from the text.
pub(super) fn lies_inside(text: &str, cwd: Option<&str>) -> bool {
    read_path(text, cwd).is_ok_and(|path| path.base == Base::WorkingFolder)
}

impl CleanPath {
    /// Its first two folders: from the working folder on, where it lies in it.
    pub(super) fn context(&self) -> String {
        let folders = if self.is_folder { self.steps.len() } else { self.steps.len().saturating_sub(1) };
        // A name that stands for a folder elsewhere is one, also alone.
        let least = usize::from(self.base == Base::Elsewhere);
        let folders = folders.max(least).min(CONTEXT_FOLDERS);
        let joined = self.steps.get(..folders).unwrap_or_default().join("/");
        match self.base {
            Base::Root => rooted(&joined),
            Base::WorkingFolder if joined.is_empty() => ".".to_owned(),
            Base::WorkingFolder | Base::Elsewhere => joined,
        }
    }

    /// Returns the whole path, from the root on where that is known.
    pub(super) fn whole(&self) -> String {
        let joined = self.steps.join("/");
        match (self.base, &self.cwd) {
            (Base::Root, _) => rooted(&joined),
            (Base::WorkingFolder, Some(cwd)) if joined.is_empty() => rooted(&cwd.join("/")),
            (Base::WorkingFolder, Some(cwd)) if cwd.is_empty() => rooted(&joined),
            (Base::WorkingFolder, Some(cwd)) => rooted(&format!("{}/{joined}", cwd.join("/"))),
            (Base::WorkingFolder, None) if joined.is_empty() => ".".to_owned(),
            (Base::WorkingFolder, None) | (Base::Elsewhere, _) => joined,
        }
    }
}

fn rooted(steps: &str) -> String {
    if is_drive(steps.split('/').next().map(str::to_owned).as_ref()) {
        steps.to_owned()
    } else {
        format!("/{steps}")
    }
}

/// Reads an absolute path, told from the working folder on where it lies in it.
fn absolute<'t>(steps: impl Iterator<Item = &'t str>, cwd: &[String]) -> Result<CleanPath, PathError> {
    let mut own: Vec<String> = Vec::new();
    for step in steps {
        if step != ".." {
            own.push(step.to_owned());
        } else if !cwd.is_empty() && starts_with(&own, cwd) && own.len() > cwd.len() {
            own.pop();
        } else {
            return Err(PathError::Leaves);
        }
    }
    let is_inside = !cwd.is_empty() && starts_with(&own, cwd);
    let (base, steps) =
        if is_inside { (Base::WorkingFolder, own.split_off(cwd.len())) } else { (Base::Root, own) };
    Ok(CleanPath { base, steps, is_folder: false, cwd: None })
}

fn starts_with(steps: &[String], cwd: &[String]) -> bool {
    let is_windows = is_drive(cwd.first());
    steps.len() >= cwd.len()
        && steps
            .iter()
            .zip(cwd)
            .all(|(one, other)| one == other || is_windows && one.to_lowercase() == other.to_lowercase())
}

/// Returns the steps of the working folder; none for the root, in which nothing is taken to lie, because everything would.
fn absolute_steps(cwd: &str) -> Result<Vec<String>, PathError> {
    let (text, is_absolute) = plain(cwd, true)?;
    let steps: Vec<String> =
        text.split('/').filter(|step| !step.is_empty() && *step != ".").map(str::to_owned).collect();
    if !is_absolute || steps.iter().any(|step| step == "..") {
        return Err(PathError::Unreadable);
    }
    Ok(steps)
}

/// Returns the path with `/` between its steps, and whether it is absolute.
fn plain(text: &str, is_windows: bool) -> Result<(String, bool), PathError> {
    if text.is_empty() || text.chars().any(char::is_control) {
        return Err(PathError::Unreadable);
    }
    let text = match text.strip_prefix("file://") {
        // Escapes could hide a step.
        Some(rest) if rest.starts_with('/') && !rest.contains('%') => rest,
        Some(_) => return Err(PathError::Unreadable),
        None => text,
    };
    let begins_with_drive =
        text.get(1..2) == Some(":") && text.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let is_windows = begins_with_drive || is_windows && !text.starts_with('/');
    if text.contains('\\') && !is_windows {
        // One name on one system, two folders on another.
        return Err(PathError::Unreadable);
    }
    let text = if is_windows { text.replace('\\', "/") } else { text.to_owned() };
    if begins_with_drive {
        // `C:x` is relative to a folder that nobody told.
        let is_absolute = text.get(2..3) == Some("/");
        return if is_absolute { Ok((text, true)) } else { Err(PathError::Unreadable) };
    }
    let first = text.split('/').next().unwrap_or_default();
    if first.ends_with(':') {
        return Err(PathError::Unreadable);
    }
    let is_absolute = text.starts_with('/');
    Ok((text, is_absolute))
}

fn is_drive(step: Option<&String>) -> bool {
    step.is_some_and(|step| {
        step.len() == 2 && step.ends_with(':') && step.as_bytes().first().is_some_and(u8::is_ascii_alphabetic)
    })
}

#[cfg(test)]
mod tests;
