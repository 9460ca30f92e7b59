//! A plot of results: throughput by request size, and the distribution of latency.

use std::fmt::Write;

use super::text::grouped;
use crate::results::{Figure, Measurement, Results};

/// The size of the drawing and of the panel of each half, in units of the drawing.
const WIDTH: f64 = 990.0;
const PANEL_HEIGHT: f64 = 330.0;
const LEFT: f64 = 280.0;
const RIGHT: f64 = 40.0;
const TOP: f64 = 40.0;
const BAR: f64 = 22.0;

/// Colours that readers with impaired colour vision can tell apart.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#d55e00", "#56b4e9", "#cc79a7", "#000000", "#8a8a00"];

/// The decades of the time axis, from 10 µs.
const LEAST_US: f64 = 10.0;
const DECADES: f64 = 5.0;
/// The decades of the axis of quantiles: 0 %, 90 %, 99 % …
const NINES: f64 = 4.0;

/// Draws the results as SVG.
#[must_use]
pub fn svg(results: &Results) -> String {
    let of = |group: &str| {
        let found = results.measurements.iter().filter(|one| one.name.starts_with(group));
        found.collect::<Vec<&Measurement>>()
    };
    let (append, http, disk) = (of("append/"), of("http/"), of("disk/sync-64k"));
    let bars: Vec<&Measurement> = append.iter().chain(&http).copied().collect();
    let curves: Vec<&Measurement> = disk.iter().chain(&append).chain(&http).copied().collect();
    let first = TOP + count(bars.len()) * BAR * 1.4 + 40.0;
    let height = first + TOP + PANEL_HEIGHT + 60.0;
    let mut drawing = SvgDrawing::new(WIDTH, height);
    drawing.throughput(&bars);
    drawing.distribution(&curves, first + TOP);
    drawing.end()
}

struct SvgDrawing {
    svg: String,
}

impl SvgDrawing {
    fn new(width: f64, height: f64) -> Self {
        let mut drawing = Self { svg: String::new() };
        drawing.add(&format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" font-family="sans-serif" font-size="13">"##
        ));
        drawing.add(&format!(r##"<rect width="{width:.0}" height="{height:.0}" fill="#ffffff"/>"##));
        drawing
    }

    fn end(mut self) -> String {
        self.add("</svg>");
        self.svg
    }

    fn add(&mut self, element: &str) {
        let written = writeln!(self.svg, "{element}");
        debug_assert!(written.is_ok(), "a string takes everything");
    }

    fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        let text = escaped(text);
        self.add(&format!(r##"<text x="{x:.1}" y="{y:.1}" text-anchor="{anchor}">{text}</text>"##));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.add(&format!(
            r##"<line x1="{:.1}" y1="{:.1}" x2="{:.1}" y2="{:.1}" stroke="#cccccc"/>"##,
            from.0, from.1, to.0, to.1
        ));
    }

    fn throughput(&mut self, bars: &[&Measurement]) {
        let rate = |one: &Measurement| one.figures.get(&Figure::EventsPerS).copied().unwrap_or_default();
        let most = bars.iter().map(|one| rate(one)).fold(1.0, f64::max);
        let room = WIDTH - LEFT - RIGHT - 90.0;
        self.text(10.0, 22.0, "start", "Events a second, acknowledged after fdatasync");
        for (index, one) in bars.iter().enumerate() {
            let y = TOP + count(index) * BAR * 1.4;
            let length = rate(one) / most * room;
            let colour = if one.name.starts_with("http/") { "#e69f00" } else { "#0072b2" };
            self.text(LEFT - 8.0, y + BAR * 0.7, "end", &one.what);
            self.add(&format!(
                r##"<rect x="{LEFT:.1}" y="{y:.1}" width="{length:.1}" height="{BAR:.1}" fill="{colour}"/>"##
            ));
            self.text(LEFT + length + 6.0, y + BAR * 0.7, "start", &grouped(rate(one)));
        }
    }

    /// Draws latency distributions. Each further nine of the quantile is as wide to the right; each tenfold time is as high upwards.
    fn distribution(&mut self, curves: &[&Measurement], top: f64) {
        let (left, right, bottom) = (70.0, WIDTH - 300.0, top + PANEL_HEIGHT);
        let x = |share: f64| {
            let nines = if share >= 1.0 { NINES } else { (1.0 / (1.0 - share)).log10().min(NINES) };
            left + nines / NINES * (right - left)
        };
        let y = |us: f64| {
            let decades = (us.max(LEAST_US) / LEAST_US).log10().min(DECADES);
            bottom - decades / DECADES * PANEL_HEIGHT
        };
        self.text(10.0, top - 14.0, "start", "Time within which this share of the answers came");
        for share in [0.0, 0.9, 0.99, 0.999, 1.0] {
            let said = if share >= 1.0 { "max".to_owned() } else { format!("{} %", share * 100.0) };
            self.line((x(share), top), (x(share), bottom));
            self.text(x(share), bottom + 18.0, "middle", &said);
        }
        for (us, said) in
            [(1e1, "10 µs"), (1e2, "100 µs"), (1e3, "1 ms"), (1e4, "10 ms"), (1e5, "100 ms"), (1e6, "1 s")]
        {
            self.line((left, y(us)), (right, y(us)));
            self.text(left - 6.0, y(us) + 4.0, "end", said);
        }
        for (index, (one, colour)) in curves.iter().zip(COLOURS.iter().cycle()).enumerate() {
            let points: Vec<String> =
                one.curve.iter().map(|(share, us)| format!("{:.1},{:.1}", x(*share), y(*us))).collect();
            let dashed = if index >= COLOURS.len() { r##" stroke-dasharray="5 3""## } else { "" };
            self.add(&format!(
                r##"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="2"{dashed}/>"##,
                points.join(" ")
            ));
            let at = top + 10.0 + count(index) * 20.0;
            self.add(&format!(
                r##"<line x1="{:.1}" y1="{at:.1}" x2="{:.1}" y2="{at:.1}" stroke="{colour}" stroke-width="3"{dashed}/>"##,
                right + 20.0,
                right + 44.0
            ));
            self.text(right + 50.0, at + 4.0, "start", &one.what);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of bars")]
fn count(index: usize) -> f64 {
    index as f64
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_append_has_a_bar_and_a_curve_within_the_drawing() {
        let saved = r#"{"form":"bitacora-bench 1","version":"0.1.0","measured_s":4.0,"events":1000,
            "machine":{"cores":2,"cpu":"c","memory_mib":1,"file_system":"ext4","kernel":"6"},
            "measurements":[
              {"name":"append/256x1","what":"a <b>","figures":{"events_per_s":1000.0},"curve":[[0.0,0.0],[1.0,1e12]]},
              {"name":"http/1x1","what":"c","figures":{"events_per_s":0.0},"curve":[]},
              {"name":"read/scan","what":"d","figures":{"events_per_s":5.0}}]}"#;
        let svg = svg(&serde_json::from_str(saved).unwrap());
        assert_eq!(svg.matches("<polyline").count(), 2);
        assert_eq!(svg.matches("<rect").count(), 3);
        assert!(svg.contains("a &lt;b&gt;") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.trim_end().ends_with("</svg>"));
    }
}
