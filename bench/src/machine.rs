//! The machine of a benchmark, as far as the system describes it.

use std::fs;
use std::path::Path;
use std::thread;

use serde::{Deserialize, Serialize};

/// A machine; unknown members are empty or 0.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "struct Machine")]
pub(crate) struct BenchMachine {
    pub(crate) cores: usize,
    pub(crate) cpu: String,
    pub(crate) memory_mib: u64,
    pub(crate) file_system: String,
    pub(crate) kernel: String,
}

pub(super) fn look_at(folder: &Path) -> BenchMachine {
    BenchMachine {
        cores: thread::available_parallelism().map_or(0, usize::from),
        cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        memory_mib: kibibytes("/proc/meminfo", "MemTotal") / 1024,
        file_system: file_system_of(folder).unwrap_or_default(),
        kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
    }
}

/// Returns the memory that a process has now (`VmRSS`) or had at most (`VmHWM`), bytes.
pub(super) fn memory_bytes(process: u32, field: &str) -> u64 {
    kibibytes(&format!("/proc/{process}/status"), field) * 1024
}

/// Returns the processor time that a process has used, in seconds over all its threads.
pub(super) fn processor_s(process: u32) -> f64 {
    /// The unit in which Linux shows times, whatever the kernel's own clock.
    const TICKS_PER_S: f64 = 100.0;
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    // The second field, the program's name, may hold anything but ends with the last parenthesis.
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = |index| fields.split_whitespace().nth(index).and_then(|field| field.parse::<f64>().ok());
    (ticks(11).unwrap_or_default() + ticks(12).unwrap_or_default()) / TICKS_PER_S
}

fn kibibytes(path: &str, name: &str) -> u64 {
    let value = field(path, name).unwrap_or_default();
    value.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let named = text.lines().filter_map(|line| line.split_once(':'));
    named.filter(|(found, _)| found.trim() == name).map(|(_, value)| value.trim().to_owned()).next()
}

/// Returns the type of the mount that holds the folder: the one with the longest matching path.
fn file_system_of(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        Some((Path::new(fields.next()?), fields.next()?))
    });
    let holding = mounts.filter(|(at, _)| folder.starts_with(at));
    holding.max_by_key(|(at, _)| at.as_os_str().len()).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_and_this_process_are_seen() {
        let machine = look_at(Path::new("."));
        assert!(machine.cores > 0 && machine.memory_mib > 0, "{machine:?}");
        assert!(!machine.kernel.is_empty() && !machine.file_system.is_empty(), "{machine:?}");
        let ours = std::process::id();
        let (now, peak) = (memory_bytes(ours, "VmRSS"), memory_bytes(ours, "VmHWM"));
        assert!(0 < now && now <= peak, "{now} {peak}");
        assert!(processor_s(ours) < 3_600.0);
    }
}
