//! Metrics of the process, by the names that Prometheus' own clients use, and of the program.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};

use super::gauge_value;

/// The folder in which Linux tells of the process.
const PROC: &str = "/proc/self";
/// Ticks of a second in `stat`, which Linux fixes for programs.
const TICKS_PER_S: f64 = 100.0;
/// Fields of `stat` behind the program's name, which may hold blanks: the third field is the first one there.
const STAT_UTIME: usize = 11;
const STAT_STIME: usize = 12;
const STAT_START: usize = 19;

/// The label of the program.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BuildLabel {
    version: &'static str,
    rules: u32,
}

/// Adds the version of the program and of its rules.
pub(super) fn register_build(registry: &mut Registry, rules: u32) {
    let info = Family::<BuildLabel, Gauge>::default();
    info.get_or_create(&BuildLabel { version: env!("CARGO_PKG_VERSION"), rules }).set(1);
    registry.register("build_info", "1, with the version of the program and of its rules", info);
}

/// Returns the metrics of the process; none where the system does not tell them.
pub(super) fn process_registry() -> Registry {
    let mut registry = Registry::default();
    if let Some(usage) = ProcessUsage::read() {
        usage.register(&mut registry);
    }
    registry
}

/// The use of the machine by this process.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ProcessUsage {
    cpu_s: f64,
    start_s: f64,
    threads: u64,
    virtual_bytes: u64,
    resident_bytes: u64,
    open_files: u64,
    max_files: u64,
}

impl ProcessUsage {
    fn read() -> Option<Self> {
        let [stat, status, limits] =
            ["stat", "status", "limits"].map(|name| std::fs::read_to_string(format!("{PROC}/{name}")).ok());
        let (stat, status) = (StatFields::parse(&stat?)?, status?);
        let bytes = |name| number_of(&status, name).map(|kib| kib.saturating_mul(1_024));
        let system = std::fs::read_to_string("/proc/stat").ok()?;
        Some(Self {
            cpu_s: as_f64(stat.cpu_ticks) / TICKS_PER_S,
            start_s: as_f64(number_of(&system, "btime ")?) + as_f64(stat.start_ticks) / TICKS_PER_S,
            threads: number_of(&status, "Threads:")?,
            virtual_bytes: bytes("VmSize:")?,
            resident_bytes: bytes("VmRSS:")?,
            open_files: std::fs::read_dir(format!("{PROC}/fd")).ok()?.count() as u64,
            max_files: max_files(&limits?)?,
        })
    }

    fn register(&self, registry: &mut Registry) {
        let cpu = Counter::<f64, AtomicU64>::default();
        cpu.inc_by(self.cpu_s);
        registry.register_with_unit("process_cpu", "Processor time of the process", Unit::Seconds, cpu);
        let start = Gauge::<f64, AtomicU64>::default();
        start.set(self.start_s);
        let help = "The time at which the process began, since 1970";
        registry.register_with_unit("process_start_time", help, Unit::Seconds, start);
        for (name, help, value) in [
            ("process_threads", "Threads of the process", self.threads),
            ("process_virtual_memory_bytes", "Virtual memory of the process", self.virtual_bytes),
            ("process_resident_memory_bytes", "Resident memory of the process", self.resident_bytes),
            ("process_open_fds", "Open file descriptors", self.open_files),
            ("process_max_fds", "File descriptors that may be open", self.max_files),
        ] {
            let gauge: Gauge = Gauge::default();
            gauge.set(gauge_value(value));
            registry.register(name, help, gauge);
        }
    }
}

/// The fields of `/proc/self/stat` that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StatFields {
    cpu_ticks: u64,
    start_ticks: u64,
}

impl StatFields {
    fn parse(stat: &str) -> Option<Self> {
        let (_, behind_name) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = behind_name.split_ascii_whitespace().collect();
        let field = |index: usize| fields.get(index)?.parse::<u64>().ok();
        let cpu_ticks = field(STAT_UTIME)?.saturating_add(field(STAT_STIME)?);
        Some(Self { cpu_ticks, start_ticks: field(STAT_START)? })
    }
}

/// Returns the number of the first line that begins with this name.
fn number_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// Returns the soft limit; as many as a gauge can tell where there is none.
fn max_files(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    let soft = line.split_ascii_whitespace().next()?;
    if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() }
}

#[expect(clippy::cast_precision_loss, reason = "metrics are floating-point numbers")]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_moves_no_field() {
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 9 0 0 0 11 22 0 0 20 0 7 0 3333 4444 55 18446744073709551615\n";
        assert_eq!(StatFields::parse(stat), Some(StatFields { cpu_ticks: 33, start_ticks: 3333 }));
        assert_eq!(StatFields::parse("42 (a) S 1"), None);
    }

    #[test]
    fn the_soft_limit_of_files_is_read() {
        let limits = |soft: &str| {
            format!("Limit  Soft Limit  Hard Limit  Units\nMax open files  {soft}  4096  files\n")
        };
        assert_eq!(max_files(&limits("1024")), Some(1_024));
        assert_eq!(max_files(&limits("unlimited")), Some(u64::MAX));
        assert_eq!(max_files("Max processes 1 2\n"), None);
    }

    #[test]
    fn this_process_is_told_of() {
        let usage = ProcessUsage::read().unwrap();
        assert!(
            usage.threads >= 1 && usage.open_files >= 3 && usage.max_files >= usage.open_files,
            "{usage:?}"
        );
        assert!(usage.resident_bytes > 1 << 20 && usage.virtual_bytes >= usage.resident_bytes, "{usage:?}");
        assert!(usage.start_s > 1.6e9, "{usage:?}");
    }
}
