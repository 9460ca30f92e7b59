//! The drawing of a chart: axes, bars and lines as SVG.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Chart, ChartKind, SeriesColour};

/// Returns the colour that stands in the drawing. The style sheet puts that of the theme in its place, by this very number.
const fn colour(of: SeriesColour) -> RGBColor {
    match of {
        SeriesColour::Blue => RGBColor(0x00, 0x72, 0xB2),
        SeriesColour::Orange => RGBColor(0xB3, 0x5C, 0x00),
        SeriesColour::Green => RGBColor(0x00, 0x7D, 0x5B),
        SeriesColour::Purple => RGBColor(0xA2, 0x47, 0x8A),
        SeriesColour::Yellow => RGBColor(0x6B, 0x5B, 0x00),
        SeriesColour::Grey => RGBColor(0x59, 0x62, 0x6F),
    }
}

/// The colour of lines behind the numbers, likewise.
const GRID: RGBColor = RGBColor(0xD5, 0xDA, 0xE1);
/// The colour of texts, likewise.
const INK: RGBColor = RGBColor(0x1B, 0x1F, 0x26);
/// The part of its place that a bar takes to each side, at most.
const HALF_BAR: f64 = 0.4;
/// The part of the whole width that it takes, at most.
const HALF_BAR_OF_ALL: f64 = 0.03;
/// Places of the axis that are nearer to each other than this are one.
const SAME_PLACE: f64 = 0.01;
/// The highest number that an axis shows.
const MAX_SHOWN: f64 = 1e15;
/// The number from which on marks are in millions.
const MILLION: f64 = 1e6;
/// Marks of the vertical axis.
const HEIGHT_MARKS: usize = 5;

/// A width of the page that a chart is drawn for. The style sheet shows one of them.
pub(super) struct PlotSize {
    pub(super) class: &'static str,
    pub(super) width: u32,
    pub(super) height: u32,
    /// The size of texts, in units of the style sheet; the library divides it by 1.24.
    text: u32,
    /// The room for the numbers of the vertical axis.
    margin: u32,
    /// The most labels of the horizontal axis.
    labels: usize,
}

/// A screen.
pub(super) const WIDE: PlotSize =
    PlotSize { class: "plot", width: 1120, height: 250, text: 16, margin: 76, labels: 9 };
/// A phone.
pub(super) const NARROW: PlotSize =
    PlotSize { class: "plot-narrow", width: 340, height: 230, text: 16, margin: 66, labels: 3 };

/// Returns the class of the mark by which the legend names a series.
pub(super) const fn key_class(of: SeriesColour) -> &'static str {
    match of {
        SeriesColour::Blue => "key key-1",
        SeriesColour::Orange => "key key-2",
        SeriesColour::Green => "key key-3",
        SeriesColour::Purple => "key key-4",
        SeriesColour::Yellow => "key key-5",
        SeriesColour::Grey => "key key-6",
    }
}

/// Returns the shapes of a chart, without the element around them.
pub(super) fn draw(chart: &Chart, size: &PlotSize) -> Option<String> {
    let mut drawn = String::new();
    {
        let area = SVGBackend::with_string(&mut drawn, (size.width, size.height)).into_drawing_area();
        shapes(chart, size, &area).ok()?;
        area.present().ok()?;
    }
    let (_, inside) = drawn.split_once('>')?;
    Some(inside.trim_end().strip_suffix("</svg>")?.to_owned())
}

type Drawn<T> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

fn shapes(
    chart: &Chart,
    size: &PlotSize,
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Drawn<()> {
    let last = chart.labels.len() as f64 - 1.0;
    let font = ("sans-serif", size.text).into_font().color(&INK);
    let mut plot = ChartBuilder::on(area)
        .margin_top(10)
        .margin_right(14)
        .x_label_area_size(28)
        .y_label_area_size(size.margin)
        .build_cartesian_2d(-0.5..last + 0.5, 0.0..highest(chart))?;
    let label = |at: &f64| label_at(chart, *at);
    let number = |value: &f64| mark(chart, *value);
    plot.configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(size.labels)
        .y_labels(HEIGHT_MARKS)
        .x_label_style(font.clone().pos(Pos::new(HPos::Center, VPos::Top)))
        .y_label_style(font)
        .x_label_formatter(&label)
        .y_label_formatter(&number)
        .draw()?;
    match chart.kind {
        ChartKind::StackedBars => plot.draw_series(bars(chart))?,
        ChartKind::Lines => {
            for series in &chart.series {
                let points = (0..chart.labels.len()).map(|at| (at as f64, series.at(at).min(MAX_SHOWN)));
                let style = colour(series.colour).stroke_width(2);
                plot.draw_series(LineSeries::new(points.clone(), style))?;
                plot.draw_series(points.map(|point| Circle::new(point, 3, colour(series.colour).filled())))?;
            }
            return Ok(());
        }
    };
    Ok(())
}

/// Returns the label at a place of the horizontal axis; nothing between two of them.
fn label_at(chart: &Chart, at: f64) -> String {
    let mut labels = chart.labels.iter().enumerate();
    let found = labels.find(|(place, _)| (*place as f64 - at).abs() < SAME_PLACE);
    found.map(|(_, label)| label.clone()).unwrap_or_default()
}

/// Returns the number at a mark of the vertical axis; nothing at a part of a whole that the chart shows no parts of.
fn mark(chart: &Chart, value: f64) -> String {
    let shown = (chart.show)(value);
    if value >= MILLION && shown.starts_with(|first: char| first.is_ascii_digit()) {
        return format!("{} M", value / MILLION);
    }
    if value.fract() == 0.0 || shown.contains('.') { shown } else { String::new() }
}

fn highest(chart: &Chart) -> f64 {
    let at = |label| {
        let values = chart.series.iter().map(|series| series.at(label).min(MAX_SHOWN));
        match chart.kind {
            ChartKind::StackedBars => values.sum(),
            ChartKind::Lines => values.fold(0.0, f64::max),
        }
    };
    let most = (0..chart.labels.len()).map(at).fold(0.0, f64::max);
    if most > 0.0 { most * 1.05 } else { 1.0 }
}

/// Returns one bar for each number, upon those of the series before.
fn bars(chart: &Chart) -> Vec<Rectangle<(f64, f64)>> {
    let half = HALF_BAR.min(HALF_BAR_OF_ALL * chart.labels.len() as f64);
    let mut bars = Vec::new();
    for label in 0..chart.labels.len() {
        let (centre, mut bottom) = (label as f64, 0.0);
        for series in &chart.series {
            let top = bottom + series.at(label).min(MAX_SHOWN);
            if top > bottom {
                let corners = [(centre - half, bottom), (centre + half, top)];
                bars.push(Rectangle::new(corners, colour(series.colour).filled()));
            }
            bottom = top;
        }
    }
    bars
}
