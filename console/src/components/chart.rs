//! Charts: lines over days and stacked bars, drawn on the server. Colours come from the style sheet, the numbers stand in a table below.

mod plot;

use maud::{Markup, PreEscaped, html};

use self::plot::{NARROW, PlotSize, WIDE};
use super::text;

/// The form of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChartKind {
    Lines,
    StackedBars,
}

/// The colour of a series. The style sheet has one of each name for both themes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeriesColour {
    Blue,
    Orange,
    Green,
    Purple,
    Yellow,
    Grey,
}

impl SeriesColour {
    /// All of them, in the order in which series that mean nothing good or bad take them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Blue, Self::Orange, Self::Green, Self::Purple, Self::Yellow, Self::Grey];
}

/// The numbers of one name, one for each label.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) colour: SeriesColour,
    pub(crate) values: Vec<f64>,
}

/// A chart. Numbers below 0, and those that are none, count as 0.
#[derive(Debug, Clone)]
pub(crate) struct Chart {
    /// The id of the chart in its page.
    pub(crate) id: &'static str,
    pub(crate) title: String,
    /// The chart in words: what rises, what is largest.
    pub(crate) description: String,
    pub(crate) kind: ChartKind,
    /// The name of the labels: `Day`.
    pub(crate) label_name: &'static str,
    pub(crate) labels: Vec<String>,
    pub(crate) series: Vec<Series>,
    /// The number as it is shown at the axis and in the table.
    pub(crate) show: fn(f64) -> String,
}

impl Chart {
    /// Returns the chart with its legend and its table; nothing where there are no numbers.
    pub(crate) fn markup(&self) -> Markup {
        if self.labels.is_empty() || self.series.is_empty() {
            return Markup::default();
        }
        html! {
            figure.chart #(self.id) {
                figcaption { (text(&self.title)) }
                @if self.series.len() > 1 { ul.legend { @for series in &self.series {
                    li { span class=(plot::key_class(series.colour)) aria-hidden="true" {} (text(&series.name)) }
                } } }
                (self.drawing(&WIDE))
                (self.drawing(&NARROW))
                details { summary { "The numbers" } (self.table()) }
            }
        }
    }

    /// Returns the drawing for one width of the page, with a text in its place for those who do not see it.
    fn drawing(&self, size: &PlotSize) -> Markup {
        let Some(shapes) = plot::draw(self, size) else { return Markup::default() };
        let (title, description) =
            (format!("{}-{}-title", self.id, size.class), format!("{}-{}-desc", self.id, size.class));
        html! {
            svg class=(size.class) viewBox=(format!("0 0 {} {}", size.width, size.height)) role="img"
                aria-labelledby=(title) aria-describedby=(description) xmlns="http://www.w3.org/2000/svg" {
                title #(title) { (text(&self.title)) }
                desc #(description) { (text(&self.description)) }
                (PreEscaped(shapes))
            }
        }
    }

    fn table(&self) -> Markup {
        html! {
            div.wide tabindex="0" role="region" aria-label=(format!("{}: numbers", self.title)) { table {
                thead { tr { th scope="col" { (self.label_name) }
                    @for series in &self.series { th.number scope="col" { (text(&series.name)) } } } }
                tbody { @for (at, label) in self.labels.iter().enumerate().rev() {
                    tr { th scope="row" { (text(label)) }
                        @for series in &self.series { td.number { ((self.show)(series.at(at))) } } }
                } }
            } }
        }
    }
}

impl Series {
    /// Returns the number at a label.
    fn at(&self, label: usize) -> f64 {
        self.values.get(label).copied().filter(|value| value.is_finite() && *value > 0.0).unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::dollars;

    fn chart(kind: ChartKind, labels: usize) -> Chart {
        let series = |name: &str, step: f64| Series {
            name: name.to_owned(),
            colour: SeriesColour::Blue,
            values: (0..labels).map(|at| at as f64 * step).collect(),
        };
        Chart {
            id: "costs",
            title: "Costs <b>by day</b>".to_owned(),
            description: "They rise.".to_owned(),
            kind,
            label_name: "Day",
            labels: (1..=labels).map(|day| format!("2026-11-{day:02}")).collect(),
            series: vec![series("coder", 1.5), series("<script>", 0.5)],
            show: dollars,
        }
    }

    #[test]
    fn a_chart_has_no_style_of_its_own_and_no_markup_of_others() {
        for kind in [ChartKind::Lines, ChartKind::StackedBars] {
            let drawn = chart(kind, 30).markup().into_string();
            assert!(drawn.contains("2026-11-30") && drawn.contains("<svg class=\"plot\""), "{drawn}");
            assert!(!drawn.contains("style="), "{drawn}");
            assert!(!drawn.contains("<b>") && !drawn.contains("<script>"), "{drawn}");
            assert_eq!(drawn.matches("<desc").count(), 2);
            assert!(drawn.contains("$43.50"), "{drawn}");
        }
    }

    #[test]
    fn any_numbers_make_a_chart() {
        for (labels, values) in
            [(1, vec![0.0]), (2, vec![f64::NAN, -1.0]), (3, vec![1e300, f64::INFINITY]), (400, vec![])]
        {
            let mut any = chart(ChartKind::StackedBars, labels);
            any.series[0].values = values;
            assert!(any.markup().into_string().contains("</svg>"), "{labels}");
        }
        assert_eq!(chart(ChartKind::Lines, 0).markup().into_string(), "");
    }
}
