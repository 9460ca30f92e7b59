//! The words of names, paths and sentences, in two halves: for training and for measuring.

use super::random::SplitMix;

/// The half of the words, names and paths from which a history is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// The half on which the dictionary is trained.
    Training,
    /// The half that the dictionary has never seen; only keys, tools and common words are shared.
    HeldOut,
}

/// Common words, shared: a dictionary may know them.
const COMMON: &[&str] = &[
    "the", "to", "and", "in", "of", "for", "is", "not", "with", "from", "this", "that", "it", "when",
    "before", "after", "add", "fix", "update", "remove", "check", "test", "tests", "file", "error", "new",
    "all", "make", "use", "should", "must", "because", "so", "only", "first", "run", "read", "write",
    "value", "result",
];

/// Content words; every second one is held out.
const WORDS: &[&str] = &[
    "account",
    "adapter",
    "address",
    "agenda",
    "alert",
    "amount",
    "anchor",
    "archive",
    "asset",
    "author",
    "backup",
    "badge",
    "balance",
    "banner",
    "basket",
    "batch",
    "beacon",
    "billing",
    "binder",
    "bridge",
    "broker",
    "bucket",
    "budget",
    "buffer",
    "bundle",
    "cache",
    "calendar",
    "campaign",
    "canvas",
    "cargo",
    "carrier",
    "catalog",
    "channel",
    "charge",
    "checkout",
    "claim",
    "client",
    "cluster",
    "codec",
    "column",
    "comment",
    "config",
    "contact",
    "context",
    "contract",
    "counter",
    "coupon",
    "courier",
    "cursor",
    "customer",
    "dashboard",
    "deadline",
    "delivery",
    "deposit",
    "digest",
    "dispatch",
    "document",
    "domain",
    "draft",
    "driver",
    "editor",
    "email",
    "engine",
    "entry",
    "exchange",
    "export",
    "feature",
    "feed",
    "filter",
    "finder",
    "flight",
    "folder",
    "forecast",
    "format",
    "frame",
    "gateway",
    "grant",
    "graph",
    "group",
    "guard",
    "handler",
    "harbor",
    "header",
    "history",
    "holder",
    "image",
    "import",
    "index",
    "invoice",
    "item",
    "journal",
    "kernel",
    "label",
    "ledger",
    "lesson",
    "library",
    "limit",
    "list",
    "loader",
    "locale",
    "locker",
    "log",
    "login",
    "loyalty",
    "mailer",
    "manifest",
    "mapper",
    "market",
    "matcher",
    "member",
    "memory",
    "menu",
    "merge",
    "message",
    "meter",
    "metric",
    "migration",
    "mirror",
    "module",
    "monitor",
    "movement",
    "network",
    "node",
    "note",
    "notice",
    "number",
    "object",
    "offer",
    "order",
    "outbox",
    "owner",
    "packet",
    "page",
    "parcel",
    "parser",
    "partner",
    "patch",
    "payment",
    "permit",
    "planner",
    "player",
    "plugin",
    "pointer",
    "policy",
    "portal",
    "price",
    "printer",
    "profile",
    "project",
    "prompt",
    "quota",
    "quote",
    "reader",
    "receipt",
    "record",
    "refund",
    "region",
    "release",
    "reminder",
    "report",
    "request",
    "review",
    "route",
    "rule",
    "sample",
    "scanner",
    "schedule",
    "schema",
    "search",
    "seat",
    "segment",
    "sensor",
    "session",
    "setting",
    "shipment",
    "signal",
    "socket",
    "source",
    "stage",
    "stock",
    "store",
    "stream",
    "summary",
    "supplier",
    "survey",
    "switch",
    "table",
    "ticket",
    "timer",
    "token",
    "tracker",
    "trade",
    "transfer",
    "tunnel",
    "update",
    "upload",
    "vendor",
    "version",
    "video",
    "viewer",
    "voucher",
    "wallet",
    "watcher",
    "widget",
    "window",
    "worker",
    "writer",
];

const PEOPLE: &[&str] = &[
    "ada", "bruno", "chen", "dana", "emil", "fatima", "goran", "hana", "ivan", "jules", "kofi", "lena",
    "mara", "nils", "olga", "pavel", "quinn", "rosa", "sven", "tariq", "uma", "vera", "wim", "xenia",
    "yusuf", "zoe",
];

impl Vocabulary {
    pub(crate) fn word(self, random: &mut SplitMix) -> &'static str {
        self.half_of(WORDS, random)
    }

    pub(crate) fn person(self, random: &mut SplitMix) -> &'static str {
        self.half_of(PEOPLE, random)
    }

    pub(crate) fn name(self, random: &mut SplitMix, joint: &str) -> String {
        format!("{}{joint}{}", self.word(random), self.word(random))
    }

    pub(crate) fn sentence(self, random: &mut SplitMix, words: u64) -> String {
        let chosen: Vec<_> = (0..words)
            .map(|_| if random.chance(45) { random.pick(COMMON) } else { self.word(random) })
            .collect();
        let mut sentence = chosen.join(" ");
        sentence[..1].make_ascii_uppercase();
        sentence
    }

    /// A source file below a project's folder.
    pub(crate) fn file(self, random: &mut SplitMix) -> String {
        let folder =
            random.pick(&["src", "lib", "tests", "internal", "cmd", "app", "docs", "scripts", "packages"]);
        let ending = random.pick(&["rs", "py", "ts", "tsx", "go", "md", "json", "yaml", "toml", "sql", "sh"]);
        match random.between(0, 2) {
            0 => format!("{folder}/{}.{ending}", self.word(random)),
            1 => format!("{folder}/{}/{}.{ending}", self.word(random), self.name(random, "_")),
            _ => format!("{folder}/{}/{}-test.{ending}", self.word(random), self.word(random)),
        }
    }

    fn half_of(self, words: &[&'static str], random: &mut SplitMix) -> &'static str {
        let place = usize::try_from(random.number()).unwrap() % (words.len() / 2) * 2;
        words[place + usize::from(self == Self::HeldOut)]
    }
}
