//! The opening of an address in the user's browser.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bitacora_data_folder::write_link_page;

/// The time in which a program that opens nothing says so. One that goes on longer is the browser itself.
const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// Opens an address that signs in, by way of a page that nobody else can read: whatever stands on a command line, every user of the
/// machine can.
pub fn open_secret(address: &str) -> io::Result<()> {
    let opener = opener().ok_or_else(|| io::Error::other("there is no display"))?;
    let page = write_link_page(address)?;
    let mut command = Command::new(opener);
    // An interruption of this program ends no browser.
    command.arg(page).process_group(0);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(format!("{opener}: {status}"))),
            None => thread::sleep(PAUSE),
        }
    }
    Ok(())
}

/// Returns the program that opens files, where there is a display to open them on.
fn opener() -> Option<&'static str> {
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| value != OsStr::new(""));
    if cfg!(target_os = "macos") {
        return Some("open");
    }
    if is_set(&"WSL_DISTRO_NAME") {
        return Some("wslview");
    }
    ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(is_set).then_some("xdg-open")
}
